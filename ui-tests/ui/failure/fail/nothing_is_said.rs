use fluens::prelude::*;

#[derive(Debug, Failure)]
enum WarehouseError { Unknown, Closed }

#[derive(Debug, Failure)]
struct BadInput;

impl std::fmt::Display for WarehouseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for WarehouseError {}

impl std::fmt::Display for BadInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for BadInput {}

fn main() {}
