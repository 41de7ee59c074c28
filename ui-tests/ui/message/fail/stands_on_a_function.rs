use fluens::prelude::*;

#[message]
fn order_placed() {}

fn main() {}
