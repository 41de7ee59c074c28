#![deny(warnings)]

use fluens::prelude::*;

#[message]
struct Ping;

#[message]
struct Pong;

#[consumer]
async fn nothing(_: Ping) -> Result {
    Ok(())
}

#[consumer]
async fn unit(_: Ping) -> Result<()> {
    Ok(())
}

#[consumer]
async fn one(_: Ping) -> Result<Pong> {
    Ok(Pong)
}

#[consumer]
async fn maybe_one(_: Ping) -> Result<Option<Pong>> {
    Ok(None)
}

#[consumer]
async fn many(_: Ping) -> Result<Vec<Pong>> {
    Ok(vec![Pong])
}

#[consumer]
async fn a_tuple(_: Ping) -> Result<(Pong, Ping)> {
    Ok((Pong, Ping))
}

#[consumer]
async fn nested(_: Ping) -> Result<(Vec<Pong>, Option<(Ping, Pong)>)> {
    Ok((vec![], None))
}

#[consumer]
async fn with_options(_: Ping) -> Result<fluens::Outbound<Pong>> {
    Ok(message(&Pong).header("tenant", "7"))
}

#[consumer]
async fn an_error_of_its_own(_: Ping) -> Result<Pong, std::io::Error> {
    Err(std::io::Error::other("no"))
}

#[consumer]
async fn the_standard_result(_: Ping) -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
    Err("no".into())
}

fn main() {}
