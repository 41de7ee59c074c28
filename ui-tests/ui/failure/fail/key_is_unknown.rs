use fluens::prelude::*;

#[derive(Debug, Failure)]
enum WarehouseError {
    #[failure(permament)]
    Unknown,
    #[failure(retry = "30s")]
    Closed,
}

impl std::fmt::Display for WarehouseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for WarehouseError {}

fn main() {}
