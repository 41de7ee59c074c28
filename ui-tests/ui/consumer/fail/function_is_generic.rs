use fluens::prelude::*;

#[message]
struct Ping;

#[consumer]
async fn on_any<T: Send>(_ping: Ping) -> Result {
    Ok(())
}

#[consumer]
async fn on_borrowed<'a>(_ping: Ping) -> Result {
    Ok(())
}

#[consumer]
async fn on_some(_ping: Ping) -> Result
where
    Ping: Send,
{
    Ok(())
}

fn main() {}
