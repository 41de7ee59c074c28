use fluens::prelude::*;

#[message(ttl = "five minutes")]
struct A;

#[message(ttl = "5")]
struct B;

#[message(ttl = "30m1h")]
struct C;

#[message(ttl = 1.5)]
struct D;

#[message(ttl = "40000d")]
struct E;

fn main() {}
