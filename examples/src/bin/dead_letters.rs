//! Messages that were given up: found, repaired, replayed, skipped, discarded. `cargo run --bin dead_letters`
#![allow(missing_docs)] // a program, not a library

use fluens::{DeadLetters, Filter, diesel_prelude::*, prelude::*};
use fluens_examples::{DATABASE, db};

fluens::module! { Ledger { db: db::Db, publishes: [Entry], consumes: [Entry] } }

diesel::table! { entries (n) { n -> BigInt, account -> BigInt, cents -> BigInt, } }
diesel::table! { locked (account) { account -> BigInt, } }

#[message(name = "dead_letters.entry", partition = account)]
struct Entry {
    n: i64,
    account: i64,
    amount: String,
}

/// An account must not lack an entry while later ones are there: they wait. `own_transaction`, because it prints: sharing
/// one, it would run and print again when a neighbour fails.
#[consumer(retry(memory = ["10ms"], stored = ["20ms"]), on_dead_letter = ParkKey, own_transaction)]
async fn book(entry: Entry, ctx: &mut Context<Ledger>) -> Result {
    let Entry { n, account, amount } = entry;
    let locks: i64 = locked::table.find(account).count().get_result(ctx.conn().await?).await?;
    if locks > 0 {
        return Err(format!("account {account} is locked").into());
    }
    let cents: i64 = amount.parse().or_permanent()?;
    let row = (entries::n.eq(n), entries::account.eq(account), entries::cents.eq(cents));
    diesel::insert_into(entries::table).values(row).execute(ctx.conn().await?).await?;
    println!("  entry {n} of account {account}: {cents} cents");
    Ok(())
}

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS entries (n bigint PRIMARY KEY, account bigint NOT NULL,
        cents bigint NOT NULL);
    CREATE TABLE IF NOT EXISTS locked (account bigint PRIMARY KEY);
    DELETE FROM entries; DELETE FROM locked; INSERT INTO locked VALUES (7);";

async fn make_tables(conn: &mut db::Conn) -> Result {
    Ok(conn.batch_execute(TABLES).await?)
}

async fn unlock(ledger: &Handle<Ledger>, account: i64) -> Result {
    let mut conn = ledger.connection().await?;
    diesel::delete(locked::table.find(account)).execute(&mut *conn).await?;
    Ok(())
}

/// What there is to decide about.
async fn show(dead: &DeadLetters<Ledger>) -> Result {
    for letter in dead.find(Filter::new()).await?.items {
        let (key, attempts) = (letter.key.unwrap_or_default(), letter.attempts.len());
        println!("  account {key}, {}, attempt {attempts}: {}", letter.code, letter.error);
    }
    Ok(())
}

/// The one of an account.
async fn letter_of(dead: &DeadLetters<Ledger>, account: i64) -> Result<Id> {
    let page = dead.find(Filter::new().of::<Entry>().key(account).limit(1)).await?;
    page.items
        .into_iter()
        .next()
        .map(|letter| letter.id)
        .ok_or_else(|| format!("none of account {account}").into())
}

fluens::run!(Ledger, |app| app.database(DATABASE).prepare::<Ledger>(make_tables).log("off"), async |app| {
    let ledger = Ledger::of(app);
    let entry = |n, account, amount: &str| Entry { n, account, amount: amount.into() };

    println!("six entries of three accounts; account 7 is locked, and what follows its first entry waits");
    let all = [(1, 7, "100"), (2, 8, "5"), (3, 7, "200"), (4, 8, "1O"), (5, 9, "x"), (6, 9, "30")];
    ledger.publish_all(&all.map(|(n, account, amount)| entry(n, account, amount))).await?;
    app.settled().await;

    let dead = ledger.dead_letters();
    println!("\ndead letters, the youngest first");
    show(&dead).await?;

    println!("\naccount 7 is unlocked, and its letter replayed: in its old place, so all is in order");
    unlock(&ledger, 7).await?;
    dead.replay(letter_of(&dead, 7).await?).await?;
    app.settled().await;

    println!(
        "\nthe entry of account 8 had the letter O in the place of a zero: replayed with another content"
    );
    dead.replay_as(letter_of(&dead, 8).await?, &entry(4, 8, "10")).await?;
    app.settled().await;

    println!("\nthe one of account 9 is skipped: what waited behind it goes on, and it stays a dead letter");
    let last = letter_of(&dead, 9).await?;
    dead.skip(last).await?;
    app.settled().await;

    println!("\nuntil it is given up for good");
    dead.discard(last, "nobody knows what x was to mean").await?;
    if let Some(letter) = dead.get(last).await? {
        println!("  {}: {}", letter.message_id, letter.reason.unwrap_or_default());
    }
    let (open, decided) = (dead.count(Filter::new()).await?, dead.count(Filter::new().with_settled()).await?);
    println!("\n{open} to decide about, {decided} in all");
    Ok(())
});
