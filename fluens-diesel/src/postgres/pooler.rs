//! Finds a pooler that serves several connections with one server.

use tokio_postgres::{Client, Error, SimpleQueryMessage};

use super::target::Target;

/// A busy pooler may by chance give us the same server again; so often in a row is unlikely. Whom we overlook meets
/// statements that "do not exist" later.
const ROUNDS: usize = 8;

/// Whether the server changes between transactions, or two connections have the same one. Where every connection has a
/// server of its own neither can happen, so there is no false alarm. (A pooler could carry prepared statements from server
/// to server, and some can; the settings of a session are lost or leak to others all the same.) Nothing is prepared or set
/// here: it would stay on servers that others use.
pub(super) async fn shares_servers(target: &Target) -> Result<bool, Error> {
    let one = target.client().await?;
    let Ok(other) = target.client().await else {
        return Ok(false); // as far as we know
    };
    // What fails here fails again, with its reason told, when a real connection is made.
    Ok(are_shared(&one, &other).await.unwrap_or(false))
}

/// Which process serves us. With the start of its cluster: a url may name several hosts, and their numbers may be the
/// same.
const SERVER: &str = "SELECT (pg_backend_pid(), pg_postmaster_start_time())";

async fn are_shared(one: &Client, other: &Client) -> Result<bool, Error> {
    let own = server(one, SERVER).await?;
    for _ in 0..ROUNDS {
        // The transaction keeps its server from us. Most poolers hand out first what was used last: ours.
        let held = server(other, &format!("BEGIN; {SERVER}")).await?;
        if held == own || server(one, SERVER).await? != own {
            return Ok(true);
        }
        other.batch_execute("ROLLBACK").await?;
    }
    Ok(false)
}

/// As plain text, which needs no preparing.
async fn server(client: &Client, question: &str) -> Result<String, Error> {
    let answer = client.simple_query(question).await?;
    let row = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    Ok(row.expect("a SELECT without FROM has one row").to_owned())
}
