//! What a consumer can say when it does not go well, and who is told. `cargo run --bin faults`
#![allow(missing_docs)] // a program, not a library

use std::fmt;

use fluens::{diesel_prelude::*, message, prelude::*};
use fluens_examples::{DATABASE, db};

// ---- Those who ask --------------------------------------------------------------------------------------------------

fluens::module! {
    /// Asks for articles, and is told what could not be had.
    Shop { db: db::Db, publishes: [Reserve] }
}

#[message(name = "faults.reserve")]
struct Reserve {
    order: i64,
    article: String,
    pieces: i64,
}

/// What goes with the codes `stock.short` and `stock.partly`.
#[payload]
struct Missing {
    pieces: i64,
}

/// In no list of the module: it follows from `publishes`.
#[consumer(module = Shop)]
async fn on_fault(fault: Fault<Reserve>) -> Result {
    let order = fault.original().map_or(0, |reserve| reserve.order);
    if fault.is_system() {
        let (error, attempts) = (fault.error().unwrap_or("?"), fault.attempts());
        println!("order {order}: the shop hears {} at attempt {attempts}: {error}", fault.code());
    } else {
        let missing: Missing = fault.details()?;
        println!("order {order}: the shop hears {}, {} missing", fault.code(), missing.pieces);
    }
    Ok(())
}

fluens::module! {
    /// Publishes nothing, and hears what others direct to it.
    Support { db: db::Db }
}

#[consumer(module = Support)]
async fn call_back(fault: Fault<Reserve>) -> Result {
    let order = fault.original().map_or(0, |reserve| reserve.order);
    println!("order {order}: support calls the customer about {}", fault.code());
    Ok(())
}

// ---- The one who answers --------------------------------------------------------------------------------------------

fluens::module! {
    /// Reserves articles.
    Warehouse { db: db::Db, consumes: [Reserve] }
}

diesel::table! { reserved (order_id) { order_id -> BigInt, pieces -> BigInt, } }

/// Says once what its errors mean; consumers write `?`.
#[derive(Debug, Failure)]
enum ShelfError {
    #[failure(permanent)]
    Unknown,
    #[failure(retry_after = "50ms")]
    Counting,
    /// Nothing said: tried again as the consumer's `retry` says.
    Jammed,
}

impl fmt::Display for ShelfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ShelfError::Unknown => "no such article",
            ShelfError::Counting => "closed for counting",
            ShelfError::Jammed => "the door is jammed",
        })
    }
}

impl std::error::Error for ShelfError {}

/// How many pieces of an article there are.
fn pieces_of(article: &str, attempt: u32) -> Result<i64, ShelfError> {
    match article {
        "coffee" if attempt == 1 => Err(ShelfError::Counting),
        "coffee" | "tea" => Ok(10),
        "salt" => Err(ShelfError::Jammed),
        _ => Err(ShelfError::Unknown),
    }
}

#[consumer(retry(memory = ["10ms"], stored = ["20ms"]))]
async fn reserve(reserve: Reserve, ctx: &mut Context<Warehouse>) -> Result {
    let Reserve { order, article, pieces } = reserve;
    let there = pieces_of(&article, ctx.attempt())
        .inspect_err(|error| println!("order {order}: attempt {}: {error}", ctx.attempt()))?;
    let row = (reserved::order_id.eq(order), reserved::pieces.eq(pieces.min(there)));
    diesel::insert_into(reserved::table).values(row).execute(ctx.conn().await?).await?;
    if pieces > 2 * there {
        // Returned: the row above is undone.
        return Err(fault("stock.short").details(&Missing { pieces: pieces - there }));
    }
    if pieces > there {
        // Sent: the row above stays.
        ctx.send_fault("stock.partly", &Missing { pieces: pieces - there });
    }
    Ok(())
}

// ---- The program ----------------------------------------------------------------------------------------------------

const TABLES: &str =
    "CREATE TABLE IF NOT EXISTS reserved (order_id bigint PRIMARY KEY, pieces bigint NOT NULL);
    DELETE FROM reserved;";

async fn make_tables(conn: &mut db::Conn) -> Result {
    Ok(conn.batch_execute(TABLES).await?)
}

fluens::run!(
    Shop,
    Support,
    Warehouse,
    |app| app.database(DATABASE).prepare::<Shop>(make_tables).log("off"),
    async |app| {
        let shop = Shop::of(app);
        let orders = [
            (1, "tea", 5, "there is enough"),
            (2, "coffee", 5, "closed for a moment: asked again when the shelf says"),
            (3, "tea", 99, "far too many: a fault is returned, nothing is reserved"),
            (4, "tea", 12, "a few too many: a fault is sent, what there is is reserved"),
            (5, "salt", 1, "fails every time: given up in the end"),
            (6, "gold", 1, "can never succeed: given up at once"),
        ];
        for (order, article, pieces, story) in orders {
            println!("\norder {order}: {pieces} {article}; {story}");
            shop.publish(&Reserve { order, article: article.into(), pieces }).await?;
            app.settled().await;
        }
        println!("\norder 7: 1 gold; this time support is to hear of it");
        let by_telephone = Reserve { order: 7, article: "gold".into(), pieces: 1 };
        shop.publish(message(&by_telephone).fault_to::<Support>()).await?;
        app.settled().await;

        let mut conn = shop.connection().await?;
        let all: Vec<(i64, i64)> = reserved::table.order(reserved::order_id).load(&mut *conn).await?;
        println!("\nreserved, as (order, pieces): {all:?}");
        Ok(())
    }
);
