#![forbid(unsafe_code)]
#![deny(warnings)]

use fluens::prelude::*;

#[message(partition = order, ttl = "1d")]
struct OrderPlaced {
    order: i64,
}

#[consumer(retry(memory = ["100ms", "1s"], stored = ["1m", "1m30s"]), order = Strict, on_dead_letter = Continue)]
async fn lists(_: OrderPlaced) -> Result {
    Ok(())
}

#[consumer(retry(memory = ["100ms"]), order = Relaxed)]
async fn in_memory(_: OrderPlaced) -> Result {
    Ok(())
}

#[consumer(retry(stored = ["1m",],), on_dead_letter = ParkKey)]
async fn stored(_: OrderPlaced) -> Result {
    Ok(())
}

#[consumer(retry(exponential(base = "1s", max = "5m", times = 8)), on_dead_letter = HaltSlot)]
async fn doubled(_: OrderPlaced) -> Result {
    Ok(())
}

#[consumer(retry(never))]
async fn never(order: OrderPlaced) -> Result {
    if order.order < 0 {
        return Err(permanent("no such order"));
    }
    Ok(())
}

fn main() {}
