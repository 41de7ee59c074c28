//! What may differ from one cluster to the next.

/// How a cluster is set up. The default is made for tests: quick, and safe against all but the machine's
/// crash.
///
/// ```
/// use fluens_tests::postgres::Options;
///
/// let durable = Options::default().durable().set("shared_buffers", "512MB");
/// let (certificate, key) = ("-----BEGIN CERTIFICATE-----...", "-----BEGIN PRIVATE KEY-----...");
/// let encrypted =
///     Options::default().set("ssl", "on").file("server.crt", certificate).file("server.key", key);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Options {
    pub(super) durable: bool,
    settings: Vec<(String, String)>,
    pub(super) files: Vec<(String, Vec<u8>)>,
}

impl Options {
    /// Writes through to the disk, as in production: for benchmarks.
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// One of the server's settings (`-c name=value`); a later one replaces an earlier one and the defaults.
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A file for the server's data folder, where settings find it by its bare name. It belongs to the
    /// server's account and nobody else can read it, which the server demands of a private key. `pg_hba.conf`
    /// may be replaced in this way too.
    pub fn file(mut self, name: &str, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((name.to_owned(), content.into()));
        self
    }

    pub(super) fn arguments(&self) -> Vec<String> {
        // No test survives the machine's crash, so nothing needs to reach the disk. `synchronous_commit`
        // stays on all the same: without it a commit that was confirmed is lost when the server crashes,
        // which tests provoke, and once nothing waits for the disk turning it off saves nothing.
        let fast = [("fsync", "off"), ("full_page_writes", "off")].into_iter().filter(|_| !self.durable);
        let basic = [("max_connections", "200")].into_iter().chain(fast);
        let own = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        basic.chain(own).flat_map(|(name, value)| ["-c".to_owned(), format!("{name}={value}")]).collect()
    }
}
