use fluens::prelude::*;

#[derive(Debug, Failure)]
#[failure(fault = "bad input")]
enum WarehouseError {
    #[failure(permanent = 1)]
    Unknown,
    #[failure(retry_after = 30, retry_now)]
    Closed,
}

impl std::fmt::Display for WarehouseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for WarehouseError {}

fn main() {}
