//! Three nodes of one program share the work; one of them is killed, and the counter goes on. `cargo run --bin replicas`
//!
//! The first process starts the program three times more and watches. Every message counts its key up by one and
//! publishes the next, so that each key is a chain: a lost message would end it, a doubled one would fork it, and one out of
//! order would show in the count.
#![allow(missing_docs)] // a program, not a library

use std::{
    process::{Child, Command},
    time::Duration,
};

use fluens::{diesel_prelude::*, prelude::*};
use fluens_examples::db;

fluens::module! { Counting { db: db::Db, publishes: [Count], consumes: [Count] } }

diesel::table! { counters (key) { key -> Integer, count -> Integer, } }
diesel::table! { counted (place) { place -> Integer, node -> Text, } }

#[message(name = "counting.count", partition = key)]
struct Count {
    key: i32,
    count: i32,
}

const KEYS: i32 = 100;
const LAST: i32 = 40;

#[consumer]
async fn count(message: Count, node: State<Name>, ctx: &mut Context<Counting>) -> Result<Option<Count>> {
    tokio::time::sleep(Duration::from_millis(20)).await; // some work
    let before = counters::key.eq(message.key).and(counters::count.eq(message.count - 1));
    let conn = ctx.conn().await?;
    let up = diesel::update(counters::table.filter(before)).set(counters::count.eq(message.count));
    if up.execute(conn).await? != 1 {
        return Err(permanent(format!("key {} was not at {}", message.key, message.count - 1)));
    }
    diesel::insert_into(counted::table).values(counted::node.eq(&node.name)).execute(conn).await?;
    Ok((message.count < LAST).then_some(Count { key: message.key, count: message.count + 1 }))
}

/// What a node is called.
struct Name {
    name: String,
}

#[cfg(feature = "postgres")]
const PLACE: &str = "serial PRIMARY KEY";
#[cfg(not(feature = "postgres"))]
const PLACE: &str = "INTEGER PRIMARY KEY";

async fn make_tables(conn: &mut db::Conn) -> Result {
    let tables = format!(
        "DROP TABLE IF EXISTS counters; CREATE TABLE counters (key integer PRIMARY KEY, count integer NOT NULL);
         DROP TABLE IF EXISTS counted; CREATE TABLE counted (place {PLACE}, node text NOT NULL);"
    );
    conn.batch_execute(&tables).await?;
    let zeros: Vec<_> = (0..KEYS).map(|key| (counters::key.eq(key), counters::count.eq(0))).collect();
    for zero in zeros {
        diesel::insert_into(counters::table).values(zero).execute(conn).await?;
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), fluens::Error> {
    match std::env::var("REPLICA") {
        Ok(name) => serve(name).await,
        Err(_) => watch().await,
    }
}

/// One of the three.
async fn serve(name: String) -> Result<(), fluens::Error> {
    let app =
        fluens::app!(Counting, |app| app.database("sqlite:replicas.db").node(&name).state(Name { name }));
    let app = app.start().await?;
    app.stop_requested().await;
    app.shutdown().await
}

fn start(name: &str) -> Child {
    let program = std::env::current_exe().expect("a program knows where it is");
    Command::new(program).env("REPLICA", name).spawn().expect("it starts once more")
}

async fn watch() -> Result<(), fluens::Error> {
    // It makes the tables, publishes the first of each chain, and runs no consumer itself.
    let watcher = fluens::app!(Counting, |app| {
        app.database("sqlite:replicas.db").node("watcher").state(Name { name: "watcher".into() })
    });
    let app = watcher.prepare::<Counting>(make_tables).start().await?;
    let counting = Counting::of(&app);
    app.shutdown().await?;
    let first: Vec<Count> = (0..KEYS).map(|key| Count { key, count: 1 }).collect();
    counting.publish_all(&first).await?;

    let mut nodes: Vec<(&str, Child)> = ["ann", "bob", "cleo"].map(|name| (name, start(name))).into();
    let all = i64::from(KEYS * LAST);
    let mut killed = false;
    loop {
        let (done, share) = progress(&counting).await?;
        println!("{done:>4} of {all}  {share}");
        if done == all {
            break;
        }
        if !killed && done > all / 3 {
            killed = true;
            let (name, mut node) = nodes.remove(1);
            let _ = node.kill();
            let _ = node.wait();
            println!("           {name} was killed, without a word");
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    println!("{KEYS} counters at {LAST}: nothing lost, nothing twice, every key in order");
    for (_, mut node) in nodes {
        let _ = node.kill();
        let _ = node.wait();
    }
    Ok(())
}

/// How far it is, and who has done how much.
async fn progress(counting: &Handle<Counting>) -> Result<(i64, String), fluens::Error> {
    let mut conn = counting.connection().await?;
    let per_node: Vec<(String, i64)> = counted::table
        .group_by(counted::node)
        .select((counted::node, diesel::dsl::count_star()))
        .order(counted::node)
        .load(&mut *conn)
        .await?;
    let share = per_node.iter().map(|(node, count)| format!("{node} {count}")).collect::<Vec<_>>().join(", ");
    Ok((per_node.iter().map(|(_, count)| count).sum(), share))
}
