use fluens::prelude::*;

#[message(name = orders.placed)]
struct OrderPlaced;

fn main() {}
