use fluens::prelude::*;

#[message(partition = weight)]
struct Parcel { weight: f64 }

#[message(partition = tags)]
struct Letter { tags: Vec<String> }

#[message(partition = weight)]
enum Freight {
    Pallet { weight: u32 },
    Crate { weight: Option<u32> },
}

fn main() {}
