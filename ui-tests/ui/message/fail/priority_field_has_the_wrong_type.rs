use fluens::prelude::*;

#[message(priority = urgency)]
struct OrderPlaced { urgency: u8 }

fn main() {}
