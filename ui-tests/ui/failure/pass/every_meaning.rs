#![forbid(unsafe_code)]
#![deny(warnings)]

use std::fmt;

use fluens::prelude::*;

#[message]
struct Ping;

#[derive(Debug, Failure)]
pub enum WarehouseError {
    #[failure(permanent)]
    Unknown { article: String },
    #[failure(retry_now)]
    Collision,
    #[failure(retry_after = "1m30s")]
    Closed(u8),
    #[failure(fault = "stock.short")]
    Short,
    Ordinary,
}

#[derive(Debug, Failure)]
#[failure(permanent)]
pub struct BadInput;

#[derive(Debug, Failure)]
#[failure(retry_after = "30s")]
pub enum NetworkError {
    Down,
    #[failure(permanent)]
    Refused(String),
}

#[derive(Debug, Failure)]
pub enum AllSaid {
    #[failure(permanent)]
    One,
    #[failure(retry_now)]
    Two,
}

macro_rules! errors {
    ($($ty:ty),*) => {$(
        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self:?}")
            }
        }

        impl std::error::Error for $ty {}
    )*};
}

errors!(WarehouseError, BadInput, NetworkError, AllSaid);

fn reserve() -> std::result::Result<(), WarehouseError> {
    Err(WarehouseError::Closed(7))
}

#[consumer]
async fn on_ping(_: Ping) -> Result {
    reserve()?;
    Err(BadInput)?
}

fn main() {}
