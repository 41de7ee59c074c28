use fluens::prelude::*;

#[message(priority = Hihg)]
struct OrderPlaced;

fn main() {}
