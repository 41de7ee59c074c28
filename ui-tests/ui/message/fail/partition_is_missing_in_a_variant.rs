use fluens::prelude::*;

#[message(partition = order)]
enum OrderChanged {
    Paid { order: i64 },
    Sent { order: i64, by: String },
    Lost(i64),
    Gone,
}

fn main() {}
