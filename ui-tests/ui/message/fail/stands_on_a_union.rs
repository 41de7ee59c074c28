use fluens::prelude::*;

#[message]
union Either { number: u32, bits: [u8; 4] }

fn main() {}
