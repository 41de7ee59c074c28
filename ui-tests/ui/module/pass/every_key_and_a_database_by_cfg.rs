#![forbid(unsafe_code)]
#![deny(warnings, missing_docs)]
//! Modules.

use fluens::{Module, prelude::*};

#[message]
struct Ping;

#[message]
struct Pong;

fluens::module! {
    /// The net.
    #[derive(Debug)]
    pub Net {
        name: "the.net",
        #[cfg(not(target_os = "none"))]
        db: fluens::sqlite::Db,
        #[cfg(target_os = "none")]
        db: no::such::Db,
        publishes: [Ping, external self::Pong],
        consumes: [Ping],
    }
}

fluens::module! { pub HTTPServer { db: fluens::sqlite::Db } }

fn main() {
    assert_eq!((Net::NAME, HTTPServer::NAME), ("the.net", "http_server"));
    assert_eq!(Net::CONSUMES, ["ping"]);
    let published: Vec<_> = Net::PUBLISHES.iter().map(|published| (published.name, published.external)).collect();
    assert_eq!(published, [("ping", false), ("pong", true)]);
    assert!(HTTPServer::PUBLISHES.is_empty() && HTTPServer::CONSUMES.is_empty());
    println!("{Net:?}");
}
