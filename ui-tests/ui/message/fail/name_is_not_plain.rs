use fluens::prelude::*;

#[message(name = "orders placed")]
struct A;

#[message(name = "")]
struct B;

#[message(name = "1st", alias = "x/y")]
struct C;

fn main() {}
