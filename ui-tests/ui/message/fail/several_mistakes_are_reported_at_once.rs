use fluens::prelude::*;

#[message(name = "order placed", prio = High, partition = customer, ttl = 0, version = 0)]
struct OrderPlaced { customer_id: i64 }

#[consumer]
async fn bill(order: OrderPlaced) -> Result {
    println!("{}", order.customer_id);
    Ok(())
}

fn main() {}
