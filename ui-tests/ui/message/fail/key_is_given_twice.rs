use fluens::prelude::*;

#[message(ttl = "5m", ttl = "10m")]
struct OrderPlaced;

fn main() {}
