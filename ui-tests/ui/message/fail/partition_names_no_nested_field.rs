use fluens::prelude::*;

#[message(partition = customer.number)]
struct OrderPlaced { customer: Customer }

#[payload]
struct Customer { id: i64 }

fn main() {}
