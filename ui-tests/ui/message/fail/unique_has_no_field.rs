use fluens::prelude::*;

#[message(unique)]
struct OrderPlaced { order: i64 }

#[message(unique())]
struct OrderShipped { order: i64 }

#[message(unique(within = "1h"))]
struct OrderPaid { order: i64 }

fn main() {}
