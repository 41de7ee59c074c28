use fluens::prelude::*;

#[message(priority = urgent)]
struct OrderPlaced { urgency: Priority }

fn main() {}
