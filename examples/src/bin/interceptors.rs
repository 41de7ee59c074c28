//! What stands around consumers, and before publishing. `cargo run --bin interceptors`
#![allow(missing_docs)] // a program, not a library

use std::time::Instant;

use fluens::{BoxError, Filter, Interceptor, Next, Staged, diesel_prelude::*, message, prelude::*};
use fluens_examples::{DATABASE, db};

fluens::module! { Notes { db: db::Db, publishes: [Write, Written], consumes: [Write, Written] } }

diesel::table! { audit (id) { id -> Text, consumer -> Text, } }

#[message(name = "interceptors.write")]
struct Write {
    text: String,
}

#[message(name = "interceptors.written")]
struct Written {
    letters: usize,
}

#[consumer(module = Notes)]
async fn write(write: Write) -> Result<Written> {
    if write.text.is_empty() {
        return Err(permanent("an empty note"));
    }
    Ok(Written { letters: write.text.len() })
}

#[consumer(module = Notes)]
async fn written(written: Written, meta: Meta) -> Result {
    let header = |name: &str| meta.headers.get(name).cloned().unwrap_or_default();
    println!("    {} letters for tenant {}, by {}", written.letters, header("tenant"), header("program"));
    Ok(())
}

/// An async function is an interceptor; generic, it fits every module.
async fn timing<M: Module>(ctx: &mut Context<M>, next: Next<'_, M>) -> Result {
    let started = Instant::now();
    let result = next.run(ctx).await;
    let word = if result.is_ok() { "well" } else { "failed" };
    println!("  {}: {word}, in {:?}", ctx.consumer(), started.elapsed());
    result
}

/// In the consumer's transaction: if the consumer fails, this did not happen either.
async fn audited(ctx: &mut Context<Notes>, next: Next<'_, Notes>) -> Result {
    let row = (audit::id.eq(ctx.message_id().to_string()), audit::consumer.eq(ctx.consumer().to_owned()));
    diesel::insert_into(audit::table).values(row).execute(ctx.conn().await?).await?;
    next.run(ctx).await
}

/// One with fields. Whoever is not known is refused before the consumer runs; the tenant goes on to what it publishes.
struct Tenants(&'static [&'static str]);

impl<M: Module> Interceptor<M> for Tenants {
    fn around<'a>(&'a self, ctx: &'a mut Context<M>, next: Next<'a, M>) -> fluens::BoxFuture<'a, Result> {
        Box::pin(async move {
            let tenant = ctx.header("tenant").unwrap_or_default();
            if !self.0.contains(&tenant.as_str()) {
                return Err(permanent(format!("nobody knows tenant `{tenant}`")));
            }
            ctx.add_header("tenant", tenant);
            next.run(ctx).await
        })
    }
}

/// A plain function, because publishing may be synchronous.
fn stamp(message: &mut Staged) -> Result<(), BoxError> {
    message.set_header("program", env!("CARGO_BIN_NAME"));
    if message.payload().is_some_and(|payload| payload.len() > 60) {
        return Err("longer than a note".into());
    }
    Ok(())
}

const TABLES: &str = "CREATE TABLE IF NOT EXISTS audit (id text PRIMARY KEY, consumer text NOT NULL);
    DELETE FROM audit;";

async fn make_tables(conn: &mut db::Conn) -> Result {
    Ok(conn.batch_execute(TABLES).await?)
}

fluens::run!(
    Notes,
    intercept: [timing, Tenants(&["7", "8"])],
    |app| app
        .database(DATABASE)
        .intercept_message::<Notes, Write>(audited)
        .intercept_publish::<Notes>(stamp)
        .prepare::<Notes>(make_tables)
        .log("off"),
    async |app| {
        let notes = Notes::of(app);
        let note = |text: &str| Write { text: text.into() };
        for (tenant, text) in [("7", "milk and bread"), ("9", "let me in"), ("8", "")] {
            println!("tenant {tenant} writes \"{text}\"");
            notes.publish(message(&note(text)).header("tenant", tenant)).await?;
            app.settled().await;
        }
        println!("tenant 7 writes a novel");
        if let Err(refused) = notes.publish(message(&note(&"word ".repeat(100))).header("tenant", "7")).await {
            println!("  {refused}");
        }

        println!("\ndead letters:");
        for letter in notes.dead_letters().find(Filter::new()).await?.items {
            println!("  {}", letter.error);
        }
        let mut conn = notes.connection().await?;
        let audited: i64 = audit::table.count().get_result(&mut *conn).await?;
        println!("audited: {audited}, for what failed was undone with its consumer");
        Ok(())
    }
);
