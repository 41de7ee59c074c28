use fluens::prelude::*;

#[message]
struct Grüße;

fn main() {}
