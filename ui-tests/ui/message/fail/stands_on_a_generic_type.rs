use fluens::prelude::*;

#[message]
struct Changed<T> { before: T, after: T }

fn main() {}
