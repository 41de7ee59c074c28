use fluens::prelude::*;

#[message(version = 0)]
struct OrderPlaced;

fn main() {}
