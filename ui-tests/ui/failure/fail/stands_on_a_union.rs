use fluens::prelude::*;

#[derive(Failure)]
#[failure(permanent)]
union BadInput { a: u8, b: i8 }

fn main() {}
