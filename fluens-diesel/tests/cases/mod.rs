//! What a store promises, case by case, for any backend.

pub(crate) mod collapse;
pub(crate) mod decide;
pub(crate) mod fetch;
pub(crate) mod nodes;
pub(crate) mod relay;
pub(crate) mod schedule;
pub(crate) mod support;
pub(crate) mod unique;
pub(crate) mod upkeep;

/// Runs every case on a database of its own.
#[macro_export]
macro_rules! suite {
    ($store:ty, $open:path: $($room:ident: $($case:ident),+;)+) => {$(
        mod $room {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $case() {
                    cases::$room::$case::<$store>($open().await).await;
                }
            )+
        }
    )+};
}
