use fluens::prelude::*;

#[payload(name = "line")]
struct Line { sku: String }

#[message]
struct OrderPlaced { lines: Vec<Line> }

fn main() {}
