#![forbid(unsafe_code)]
#![deny(warnings)]

use fluens::prelude::*;

#[message(partition = order)]
struct OrderPlaced {
    order: i64,
}

#[consumer]
async fn with_the_defaults(batch: Batch<OrderPlaced>) -> Result {
    for order in batch.iter() {
        println!("{}", order.order);
    }
    Ok(())
}

#[consumer(batch)]
async fn alone(_: Batch<OrderPlaced>) -> Result {
    Ok(())
}

#[consumer(batch(size = 1))]
async fn with_a_size(_: fluens::Batch<OrderPlaced>) -> Result {
    Ok(())
}

#[consumer(batch(linger = "1s"))]
async fn with_a_time(_: Batch<OrderPlaced>, _: State<u8>) -> Result {
    Ok(())
}

#[consumer(batch(size = 10000, linger = "50ms"), retry(never))]
async fn with_both(_: Batch<OrderPlaced>, _ctx: &mut Context) -> Result {
    Ok(())
}

#[consumer]
async fn what_became_of_it(_: Fault<OrderPlaced>) -> Result {
    Ok(())
}

fn main() {}
