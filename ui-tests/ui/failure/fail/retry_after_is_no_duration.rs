use fluens::prelude::*;

#[derive(Debug, Failure)]
enum WarehouseError {
    #[failure(retry_after)]
    Unknown,
    #[failure(retry_after = "0s")]
    Closed,
    #[failure(retry_after = 30)]
    Short,
}

impl std::fmt::Display for WarehouseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for WarehouseError {}

fn main() {}
