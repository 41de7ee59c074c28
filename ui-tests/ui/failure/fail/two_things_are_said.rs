use fluens::prelude::*;

#[derive(Debug, Failure)]
enum WarehouseError {
    #[failure(permanent, retry_now)]
    Unknown,
    #[failure(retry_after = "30s")]
    #[failure(fault = "stock.short")]
    Closed,
}

impl std::fmt::Display for WarehouseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for WarehouseError {}

fn main() {}
