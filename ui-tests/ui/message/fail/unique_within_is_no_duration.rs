use fluens::prelude::*;

#[message(unique(by = order, within = "0s"))]
struct OrderPlaced { order: i64 }

#[message(unique(by = order, within = 60))]
struct OrderShipped { order: i64 }

#[message(unique(by = order, within = "an hour"))]
struct OrderPaid { order: i64 }

fn main() {}
