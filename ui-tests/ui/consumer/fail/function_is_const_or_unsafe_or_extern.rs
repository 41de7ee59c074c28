use fluens::prelude::*;

#[message]
struct Ping;

#[consumer]
const fn is_const(_ping: Ping) -> Result {
    Ok(())
}

#[consumer]
async unsafe fn is_unsafe(_ping: Ping) -> Result {
    Ok(())
}

#[consumer]
async extern "C" fn is_extern(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
