#![deny(warnings)]

use fluens::{Message, prelude::*};

macro_rules! event {
    ($name:ident, $text:literal, $key:ident: $ty:ty) => {
        #[message(name = $text, partition = $key)]
        struct $name {
            $key: $ty,
        }

        const _: () = {
            #[consumer(name = $text)]
            async fn on(event: $name, _: MessageId) -> Result<(), Failure> {
                println!("{}", event.$key);
                Ok(())
            }
        };
    };
}

event!(OrderPlaced, "orders.placed", order: i64);
event!(OrderSent, "orders.sent", order: String);

fn main() {
    assert_eq!(OrderPlaced { order: 7 }.key().unwrap().text, "7");
    assert_eq!(OrderSent { order: "x".into() }.key().unwrap().text, "x");
}
