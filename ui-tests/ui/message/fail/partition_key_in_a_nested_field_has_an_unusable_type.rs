use fluens::prelude::*;

#[message(partition = size.weight)]
struct Parcel { size: Size }

#[payload]
struct Size { weight: f64 }

fn main() {}
