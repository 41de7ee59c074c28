//! The smallest program: one message, one consumer, no set-up. `cargo run --bin hello`
use fluens::prelude::*;

#[message]
struct Greeting {
    name: String,
}

#[consumer]
async fn greet(greeting: Greeting) -> Result {
    println!("Hello, {}!", greeting.name);
    Ok(())
}

fluens::run!(async |app| {
    app.publish(&Greeting { name: "world".into() }).await?;
    Ok(())
});
