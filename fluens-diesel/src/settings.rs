//! What a store needs to know to open a database.

/// When a COMMIT on SQLite waits for the disk. No crash of the program loses anything either way, and the file is never
/// corrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Synchronous {
    /// Always: what was committed is there whatever happens to the machine.
    #[default]
    Full,
    /// Now and then: if the machine crashes or loses its power, the last commits may be gone, all of each or nothing. A
    /// message that was published or acknowledged in one of them is then not, together with the data of that commit.
    Normal,
}

impl Synchronous {
    /// As settings and SQLite write it.
    pub fn word(self) -> &'static str {
        match self {
            Synchronous::Full => "full",
            Synchronous::Normal => "normal",
        }
    }
}

/// One database. Equal settings mean the same pool.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct DatabaseSettings {
    /// `sqlite:shop.db`, `sqlite::memory:`, `postgres://user:password@host/name?sslmode=require`.
    pub url: String,
    /// The schema of the tables on PostgreSQL.
    pub schema: Option<String>,
    /// How many connections PostgreSQL may be asked for by consumers and publishers.
    pub connections: u32,
    /// Off for poolers that switch servers between transactions.
    pub statement_cache: bool,
    /// When SQLite waits for the disk.
    pub synchronous: Synchronous,
    /// What the process calls its connections, so that others can end what it leaves behind. Empty: no name of its own.
    pub session: String,
}

impl std::fmt::Debug for DatabaseSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatabaseSettings")
            .field("url", &redacted(&self.url))
            .field("schema", &self.schema)
            .field("connections", &self.connections)
            .field("statement_cache", &self.statement_cache)
            .field("synchronous", &self.synchronous)
            .field("session", &self.session)
            .finish()
    }
}

/// The url without what must not be shown: no user's password, no parameters.
pub fn redacted(url: &str) -> String {
    let url = url.split_once('?').map_or(url, |(before, _)| before);
    let Some((scheme, rest)) = url.split_once("://") else {
        // `host=.. password=..` has no place that is safe to show.
        return if url.contains('=') { "(connection parameters)".to_owned() } else { url.to_owned() };
    };
    match rest.rsplit_once('@') {
        Some((login, host)) => {
            let user = login.split_once(':').map_or(login, |(user, _)| user);
            format!("{scheme}://{user}@{host}")
        }
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::redacted;

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(redacted("postgres://shop:p@ss:w@db/x?password=p"), "postgres://shop@db/x");
        assert_eq!(redacted("postgres://db/x"), "postgres://db/x");
        assert_eq!(redacted("host=db password=p"), "(connection parameters)");
        assert_eq!(redacted("sqlite:shop.db"), "sqlite:shop.db");
    }
}
