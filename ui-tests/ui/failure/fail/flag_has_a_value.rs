use fluens::prelude::*;

#[derive(Debug, Failure)]
#[failure(permanent = true)]
struct BadInput;

impl std::fmt::Display for BadInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for BadInput {}

fn main() {}
