use fluens::prelude::*;

#[message(prio = High, partiton = customer)]
struct OrderPlaced { customer: i64 }

#[message(colour = "blue")]
struct OrderShipped { customer: i64 }

fn main() {}
