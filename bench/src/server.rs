//! The private server: a fresh database for each measurement, and questions to it.

use anyhow::{Result, anyhow, ensure};
use fluens_tests::postgres::{Cluster, Options};
use tokio::runtime::Runtime;
use tokio_postgres::NoTls;

pub(crate) struct Server {
    cluster: Cluster,
    runtime: Runtime,
}

/// What consumers write, one row each. The place says in which order.
const EFFECTS: &str = "
    CREATE TABLE effects (
        place  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        n      bigint NOT NULL,
        key    bigint NOT NULL
    )";

impl Server {
    pub(crate) fn start() -> Result<Self> {
        let options = Options::default().durable().set("shared_buffers", "512MB").set("fsync", "on");
        // A checkpoint in the middle of a measurement would hit one contestant and not the other.
        let options = options.set("synchronous_commit", "on").set("max_wal_size", "4GB");
        let cluster =
            Cluster::start(&options.set("checkpoint_timeout", "30min")).map_err(|text| anyhow!(text))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Server { cluster, runtime })
    }

    /// For instance `PostgreSQL 15.8`.
    pub(crate) fn version(&self) -> Result<String> {
        let version = self.text(&self.cluster.url("postgres"), "SHOW server_version")?;
        Ok(format!("PostgreSQL {}", version.split(' ').next().unwrap_or_default()))
    }

    /// Gives `measure` the address of a fresh database, and removes it afterwards.
    pub(crate) fn with_database<T>(&self, measure: impl FnOnce(&str) -> Result<T>) -> Result<T> {
        let url = self.cluster.create_database();
        self.execute(&url, EFFECTS)?;
        let measured = measure(&url);
        let name = url.rsplit('/').next().unwrap_or_default();
        self.execute(&self.cluster.url("postgres"), &format!("DROP DATABASE {name} WITH (FORCE)"))?;
        measured
    }

    /// All contestants find their tables in the same state: analyzed, and written to the disk.
    pub(crate) fn tidy(&self, url: &str) -> Result<()> {
        self.execute(url, "VACUUM ANALYZE")?;
        self.execute(url, "CHECKPOINT")
    }

    /// As many rows as messages, none twice, and the numbers of each key rise in the order in which they were written.
    pub(crate) fn check_effects(&self, url: &str, n: i64, ordered: bool) -> Result<()> {
        let (rows, different) = (self.number(url, "SELECT count(*) FROM effects")?, "count(DISTINCT n)");
        let different = self.number(url, &format!("SELECT {different} FROM effects"))?;
        ensure!(rows == n && different == n, "{rows} effects, {different} different ones, of {n} messages");
        let disorder = self.number(
            url,
            "SELECT count(*) FROM (
                 SELECT n < lag(n) OVER (PARTITION BY key ORDER BY place) AS overtaken FROM effects
             ) AS effect WHERE overtaken",
        )?;
        ensure!(!ordered || disorder == 0, "{disorder} effects out of the order of their key");
        Ok(())
    }

    /// Somebody looks at the past, for as long as what is returned lives.
    pub(crate) fn pin(&self, url: &str) -> Result<tokio_postgres::Client> {
        self.runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            tokio::spawn(connection);
            client
                .batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM fluens_inbox")
                .await?;
            Ok(client)
        })
    }

    /// As if the power had failed: what was confirmed must be there afterwards.
    pub(crate) fn crash(&self) {
        self.cluster.restart_immediately();
    }

    pub(crate) fn execute(&self, url: &str, statement: &str) -> Result<()> {
        self.runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            let connection = tokio::spawn(connection);
            client.batch_execute(statement).await?;
            drop(client);
            Ok(connection.await??)
        })
    }

    pub(crate) fn number(&self, url: &str, query: &str) -> Result<i64> {
        Ok(self.text(url, query)?.parse()?)
    }

    fn text(&self, url: &str, query: &str) -> Result<String> {
        self.runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            let connection = tokio::spawn(connection);
            let rows = client.simple_query(query).await?;
            drop(client);
            connection.await??;
            let value = rows.iter().find_map(|row| match row {
                tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0),
                _ => None,
            });
            value.map(str::to_owned).ok_or_else(|| anyhow!("no answer to {query}"))
        })
    }
}
