use fluens::prelude::*;

struct Plain;

#[consumer]
async fn on_fault(_fault: Fault<Plain>) -> Result {
    Ok(())
}

fn main() {}
