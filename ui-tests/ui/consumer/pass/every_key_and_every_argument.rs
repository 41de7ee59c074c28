#![forbid(unsafe_code)]
#![deny(warnings)]

use fluens::prelude::*;

#[message(partition = order)]
struct OrderPlaced {
    order: i64,
}

#[message]
struct StockReserved;

fluens::module! {
    Stock {
        db: fluens::sqlite::Db,
        publishes: [external StockReserved],
        consumes: [OrderPlaced],
    }
}

struct Warehouse {
    pieces: i64,
}

#[consumer(name = "stock.reserve", alias = "reserve", alias = "stock.take", lanes = 8, timeout = "10s", own_transaction)]
async fn reserve(
    order: OrderPlaced,
    warehouse: State<Warehouse>,
    State(name): State<&'static str>,
    meta: Meta,
    MessageId(id): MessageId,
    ctx: &mut Context<Stock>,
) -> Result<StockReserved> {
    if warehouse.pieces < order.order {
        return Err(format!("{name}: {id} is short at attempt {}", meta.attempt).into());
    }
    let _conn = ctx.conn().await?;
    ctx.publish(&StockReserved);
    Ok(StockReserved)
}

#[consumer(module = Stock)]
async fn without_a_context(mut order: OrderPlaced) -> Result {
    order.order += 1;
    println!("{}", order.order);
    Ok(())
}

#[consumer(module = Stock)]
async fn with_both(_: OrderPlaced, _ctx: &mut Context<Stock>) -> Result {
    Ok(())
}

#[consumer]
async fn in_no_module(_: OrderPlaced) -> Result {
    Ok(())
}

#[consumer]
async fn in_no_module_with_a_context(_: OrderPlaced, _ctx: &mut Context) -> Result {
    Ok(())
}

#[consumer]
#[cfg(any())]
async fn in_another_build(_: NoSuchMessage) -> Result {
    Ok(())
}

#[consumer]
async fn r#match(_: OrderPlaced) -> Result {
    Ok(())
}

fn main() {}
