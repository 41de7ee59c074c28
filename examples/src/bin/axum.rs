//! A web server that publishes from its handlers, with a main of its own. `PORT=8080 cargo run --bin axum`, then
//! `curl -d '{"customer": 7, "article": "tea"}' -H 'content-type: application/json' localhost:8080/orders`
#![allow(missing_docs)] // a program, not a library

use axum::{Json, Router, extract::State, http::StatusCode, routing::post};
use fluens::{diesel_prelude::*, prelude::*};
use fluens_examples::{DATABASE, db};

fluens::module! { Orders { db: db::Db, publishes: [OrderPlaced], consumes: [OrderPlaced] } }

diesel::table! {
    use fluens_examples::db::sql_types::*;
    web_orders (id) { id -> Id, customer -> BigInt, article -> Text, }
}

#[message(name = "web.order_placed", partition = customer)]
struct OrderPlaced {
    order: Id,
    customer: i64,
}

/// `fluens::State`, because axum has a `State` too.
#[consumer]
async fn confirm(placed: OrderPlaced, mailer: fluens::State<Mailer>, _ctx: &mut Context<Orders>) -> Result {
    println!("{}: order {} of customer {} is confirmed", mailer.from, placed.order, placed.customer);
    Ok(())
}

struct Mailer {
    from: &'static str,
}

#[derive(serde::Deserialize)]
struct NewOrder {
    customer: i64,
    article: String,
}

/// The order and its message commit together; a client that sees 201 knows that the mail will go out.
async fn place(
    State(orders): State<Handle<Orders>>,
    Json(new): Json<NewOrder>,
) -> Result<(StatusCode, String), (StatusCode, String)> {
    let order = Id::new();
    let placed = orders.transaction(async |tx| -> Result {
        let row = (
            web_orders::id.eq(order),
            web_orders::customer.eq(new.customer),
            web_orders::article.eq(&new.article),
        );
        diesel::insert_into(web_orders::table).values(row).execute(tx.conn()).await?;
        tx.publish(&OrderPlaced { order, customer: new.customer });
        Ok(())
    });
    match placed.await {
        Ok(()) => Ok((StatusCode::CREATED, order.to_string())),
        Err(failure) => Err((StatusCode::INTERNAL_SERVER_ERROR, failure.to_string())),
    }
}

/// Before any consumer starts.
async fn make_tables(conn: &mut db::Conn) -> Result {
    let id = if cfg!(feature = "postgres") { "uuid" } else { "blob" };
    let table =
        format!("CREATE TABLE IF NOT EXISTS web_orders (id {id} PRIMARY KEY, customer bigint, article text)");
    Ok(conn.batch_execute(&table).await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let app = fluens::app!(Orders, |app| app
        .database(DATABASE)
        .state(Mailer { from: "shop" })
        .prepare::<Orders>(make_tables));
    let app = app.start().await?;

    let port: u16 = std::env::var("PORT").ok().and_then(|port| port.parse().ok()).unwrap_or(8080);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let router = Router::new().route("/orders", post(place)).with_state(Orders::of(&app));
    axum::serve(listener, router).with_graceful_shutdown(async move { stop().await }).await?;
    app.shutdown().await?; // consumers that are at work finish
    Ok(())
}

async fn stop() {
    let mut terminate =
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).expect("a signal handler");
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}
