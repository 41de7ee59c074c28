//! One connection: settings in, a connection out that is named, and set up to notice when the other side is gone.

use std::time::Duration;

use diesel::{ConnectionError, ConnectionResult, connection::CacheSize};
use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use futures_util::FutureExt;
use tokio_postgres::{Client, Config, Connection, NoTls, Socket, tls::TlsStream};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::tls;
use crate::{DatabaseSettings, OpenError, redacted};

const EXAMPLE: &str = "`postgres://user:password@host:5432/name`, with `?sslmode=verify-full` for checked TLS; \
    for SQLite, `db: fluens::sqlite::Db` in the module";

/// Where to connect, and how.
#[derive(Clone)]
pub(super) struct Target {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    statement_cache: bool,
    /// Only we ask here, and know how.
    for_fetching: bool,
    /// Without secrets.
    url: String,
}

impl Target {
    pub(super) fn of(settings: &DatabaseSettings) -> Result<Self, OpenError> {
        let url = redacted(&settings.url);
        if !(settings.url.starts_with("postgres://") || settings.url.starts_with("postgresql://")) {
            return Err(OpenError::WrongUrl { url, kind: "PostgreSQL", example: EXAMPLE });
        }
        let (mut config, tls) = tls::of_url(&settings.url).map_err(|reason| unreachable(&url, reason))?;
        config.application_name(application_name(config.get_application_name(), &settings.session));
        notice_dead_servers(&mut config);
        Ok(Target { config, tls, statement_cache: settings.statement_cache, for_fetching: false, url })
    }

    /// The same, for nothing but our own statements.
    pub(super) fn for_fetching(self) -> Self {
        Target { for_fetching: true, ..self }
    }

    pub(super) async fn connect(&self) -> ConnectionResult<AsyncPgConnection> {
        let bad = |error: tokio_postgres::Error| ConnectionError::BadConnection(chain(&error));
        match &self.tls {
            None => self.set_up(self.config.connect(NoTls).await.map_err(bad)?).await,
            Some(tls) => self.set_up(self.config.connect(tls.clone()).await.map_err(bad)?).await,
        }
    }

    /// Without anything done to it.
    pub(super) async fn client(&self) -> Result<Client, tokio_postgres::Error> {
        match &self.tls {
            None => self.config.connect(NoTls).await.map(driven),
            Some(tls) => self.config.connect(tls.clone()).await.map(driven),
        }
    }

    async fn set_up<S: TlsStream + Unpin + Send + 'static>(
        &self,
        (client, connection): (Client, Connection<Socket, S>),
    ) -> ConnectionResult<AsyncPgConnection> {
        // diesel-async begins with prepared statements of its own, and a pooler may send the halves of one to different
        // servers. This is only put into the queue before them: the answer does not matter, they would fail as well.
        let _ = client.batch_execute("BEGIN").now_or_never();
        let mut conn = AsyncPgConnection::try_from_client_and_connection(client, connection).await?;
        let unusable = |error| ConnectionError::CouldntSetupConfiguration(error);
        if self.statement_cache {
            conn.batch_execute(&format!("COMMIT; {NOTICE_DEAD_CLIENTS}")).await.map_err(unusable)?;
            if self.for_fetching {
                conn.batch_execute(PLAN_ONCE).await.map_err(unusable)?;
            }
        } else {
            conn.batch_execute("COMMIT").await.map_err(unusable)?;
            conn.set_prepared_statement_cache_size(CacheSize::Disabled);
        }
        Ok(conn)
    }

    pub(super) fn unreachable(&self, reason: String) -> OpenError {
        unreachable(&self.url, reason)
    }
}

/// The server notices within seconds that a process or its machine is gone, and ends its transactions. A process that is
/// only stopped looks alive from outside; whoever declares its node dead ends its sessions at once, see `end_sessions`
/// in `wire`. The last line is for those whom nobody declares dead: long, because a consumer may hold its connection while it does
/// something else.
///
/// Only what nobody has chosen, in the url or for the role or the server. An older server does not know all of it, and only
/// on Linux every version that knows the first one can do it. Not behind a pooler, where it would stay for others.
const NOTICE_DEAD_CLIENTS: &str = "\
    SELECT set_config(name, value, false) \
    FROM (VALUES \
        ('client_connection_check_interval', '2s'), \
        ('tcp_keepalives_idle', '10'), ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '3'), \
        ('idle_in_transaction_session_timeout', '5min')) wanted (name, value) \
    JOIN pg_settings USING (name) \
    WHERE source = 'default' AND (name <> 'client_connection_check_interval' OR version() LIKE '%linux%')";

/// What fetches is planned once, and walks indexes. Left to itself the server plans it anew five times, each time for longer than
/// it runs, and a plan made while the table was small reads all of it when it has grown; so does a bitmap, of all that waits, before
/// the first of them is known. Nor is it compiled, which the price of a scan that cannot be avoided, of a sequence, would lead to.
/// Only what the server knows.
const PLAN_ONCE: &str = "\
    SELECT set_config(name, value, false) \
    FROM (VALUES ('plan_cache_mode', 'force_generic_plan'), ('enable_seqscan', 'off'), \
        ('enable_bitmapscan', 'off'), ('jit', 'off')) \
        wanted (name, value) \
    JOIN pg_settings USING (name)";

/// The same the other way round, unless the url says otherwise.
fn notice_dead_servers(config: &mut Config) {
    const UNCHANGED: Duration = Duration::from_secs(2 * 60 * 60);
    if config.get_keepalives_idle() == UNCHANGED {
        config.keepalives_idle(Duration::from_secs(10));
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(Duration::from_secs(5));
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(3);
    }
    // Keepalives say nothing while something that was sent is not acknowledged.
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(15));
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_secs(10));
    }
}

/// A client works while somebody drives its connection, which ends with the client.
fn driven<S: TlsStream + Unpin + Send + 'static>(
    (client, connection): (Client, Connection<Socket, S>),
) -> Client {
    tokio::spawn(connection);
    client
}

/// What we call our connections: `fluens-4f1c`.
pub(super) fn own_application_name(session: &str) -> String {
    if session.is_empty() { "fluens".to_owned() } else { format!("fluens-{session}") }
}

/// Ours, behind the one that the url gives: `shop/fluens-4f1c`. PostgreSQL cuts at 63 bytes, so theirs is cut first.
fn application_name(given: Option<&str>, session: &str) -> String {
    const LONGEST: usize = 63;
    let own = own_application_name(session);
    let Some(given) = given else { return own };
    let room = LONGEST.saturating_sub(own.len() + 1);
    format!("{}/{own}", &given[..given.floor_char_boundary(room)])
}

/// tokio-postgres keeps the interesting half of an error in its source.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

fn unreachable(url: &str, reason: String) -> OpenError {
    let help =
        "check host, port, database, user and password, `sslmode`, and that the server runs".to_owned();
    OpenError::Unreachable { url: url.to_owned(), reason, help }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_carry_the_name_of_their_process() {
        assert_eq!(application_name(None, ""), "fluens");
        assert_eq!(application_name(None, "4f1c"), "fluens-4f1c");
        assert_eq!(application_name(Some("shop"), "4f1c"), "shop/fluens-4f1c");
        let long = application_name(Some(&"\u{e9}".repeat(40)), "4f1c");
        assert!(long.len() <= 63 && long.ends_with("\u{e9}/fluens-4f1c"), "{long}");
    }
}
