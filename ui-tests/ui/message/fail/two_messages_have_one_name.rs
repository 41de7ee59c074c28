use fluens::prelude::*;

#[message(name = "orders.placed")]
struct OrderPlaced;

mod other {
    use fluens::prelude::*;

    #[message(name = "orders.placed")]
    struct Placed;
}

fn main() {}
