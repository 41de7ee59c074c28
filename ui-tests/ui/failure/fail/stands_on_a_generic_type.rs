use fluens::prelude::*;

#[derive(Debug, Failure)]
#[failure(permanent)]
struct Wrapped<T>(T);

fn main() {}
