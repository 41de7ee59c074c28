use fluens::prelude::*;

#[derive(Debug, Failure)]
#[failure(permanent)]
struct BadInput;

fn main() {}
