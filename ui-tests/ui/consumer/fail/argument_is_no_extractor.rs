use fluens::prelude::*;

#[message]
struct Ping;

#[consumer]
async fn on_ping(_ping: Ping, _stream: std::net::TcpStream) -> Result {
    Ok(())
}

fn main() {}
