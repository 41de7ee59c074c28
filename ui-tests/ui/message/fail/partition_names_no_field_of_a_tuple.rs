use fluens::prelude::*;

#[message(partition = customer)]
struct OrderPlaced(i64);

fn main() {}
