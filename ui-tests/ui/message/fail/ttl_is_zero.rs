use fluens::prelude::*;

#[message(ttl = 0)]
struct OrderPlaced;

#[message(ttl = "0s")]
struct OrderShipped;

fn main() {}
