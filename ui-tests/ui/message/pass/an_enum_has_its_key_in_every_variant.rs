#![deny(warnings)]

use fluens::{Message, prelude::*};

#[message(partition = order, priority = urgency)]
enum OrderChanged {
    Paid { order: i64, urgency: Priority },
    Sent { order: String, by: String, urgency: Priority },
    #[cfg(any())]
    Never { order: u8, urgency: Priority },
}

#[message]
enum Plain {
    Unit,
    Tuple(u8),
}

fn main() {
    let paid = OrderChanged::Paid { order: 7, urgency: Priority::Low };
    assert_eq!((paid.key().unwrap().text.as_str(), paid.priority()), ("7", Priority::Low));
    let sent = OrderChanged::Sent { order: "x".into(), by: "post".into(), urgency: Priority::Critical };
    assert_eq!((sent.key().unwrap().text.as_str(), sent.priority()), ("x", Priority::Critical));
    if let OrderChanged::Sent { by, .. } = sent {
        assert_eq!(by, "post");
    }
    assert!(matches!(Plain::decode(&Plain::Tuple(7).encode().unwrap()).unwrap(), Plain::Tuple(7)));
    assert!(Plain::Unit.key().is_none());
}
