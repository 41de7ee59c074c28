use fluens::prelude::*;

#[message]
struct Ping;

#[consumer]
struct OnPing;

fn main() {}
