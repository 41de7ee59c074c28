use fluens::prelude::*;

struct Semicolons;

#[message(codec = Semicolons)]
struct OrderPlaced { order: i64 }

fn main() {}
