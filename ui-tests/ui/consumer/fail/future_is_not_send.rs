use fluens::prelude::*;

#[message]
struct Ping;

async fn tick() {}

#[consumer]
async fn on_ping(_ping: Ping, ctx: &mut Context) -> Result {
    let number = std::rc::Rc::new(7);
    tick().await;
    println!("{number}");
    ctx.publish(&Ping);
    Ok(())
}

fn main() {}
