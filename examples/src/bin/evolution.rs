//! A message in its third version: what was published in the first is consumed as if it had been published today.
//! `cargo run --bin evolution`
//!
//! `cargo run --bin evolution -- schema accept` writes `fluens.lock`, `.. -- schema check` compares the types with it.
#![allow(missing_docs)] // a program, not a library

use fluens::prelude::*;
use fluens_examples::{DATABASE, db};

fluens::module! {
    /// Publishes older versions only to show what becomes of them. The oldest has another name, which `consumes` does
    /// not list: hence `external`.
    Orders { db: db::Db, publishes: [external PlacedV1, PlacedV2, Placed], consumes: [Placed] }
}

/// As it was first. It was called `placed` then.
#[message(name = "placed")]
struct PlacedV1 {
    customer: i64,
    euros: i64,
}

/// Amounts in cents, and a name that tells whose message it is.
#[message(name = "evolution.placed", alias = "placed", version = 2, from = PlacedV1)]
struct PlacedV2 {
    customer: i64,
    cents: i64,
}

/// Other currencies. A note that need not be there could come later, and was no reason for another version.
#[message(name = "evolution.placed", alias = "placed", version = 3, from = PlacedV2)]
struct Placed {
    customer: i64,
    amount: Money,
    note: Option<String>,
}

#[payload]
struct Money {
    cents: i64,
    #[serde(default = "euro")] // came later too
    currency: String,
}

fn euro() -> String {
    "EUR".into()
}

impl From<PlacedV1> for PlacedV2 {
    fn from(old: PlacedV1) -> Self {
        PlacedV2 { customer: old.customer, cents: old.euros * 100 }
    }
}

impl From<PlacedV2> for Placed {
    fn from(old: PlacedV2) -> Self {
        let amount = Money { cents: old.cents, currency: euro() };
        Placed { customer: old.customer, amount, note: None }
    }
}

/// Knows one version, the newest.
#[consumer(module = Orders)]
async fn book(placed: Placed, meta: Meta) -> Result {
    let Placed { customer, amount: Money { cents, currency }, note } = placed;
    let note = note.unwrap_or_else(|| "nothing".into());
    println!(
        "published in version {}: customer {customer} owes {cents} cents in {currency}, and notes {note}",
        meta.version
    );
    Ok(())
}

fluens::run!(Orders, |app| app.database(DATABASE).log("warn"), async |app| {
    app.publish(&PlacedV1 { customer: 7, euros: 12 }).await?;
    app.publish(&PlacedV2 { customer: 8, cents: 1_250 }).await?;
    let amount = Money { cents: 1_300, currency: "CHF".into() };
    app.publish(&Placed { customer: 9, amount, note: Some("ring twice".into()) }).await?;
    Ok(())
});
