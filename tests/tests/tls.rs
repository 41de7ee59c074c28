//! PostgreSQL over TLS: what each `sslmode` accepts and refuses, on a server that takes encrypted connections only.
#![cfg(feature = "postgres")]

use std::{
    env, fs,
    path::Path,
    process::Command,
    sync::{Mutex, PoisonError},
};

use fluens::{Error, diesel_prelude::*, postgres as db, prelude::*};
use fluens_tests::{
    postgres::{Cluster, Options},
    probe::Probe,
};

fluens::module! { pub Shop { db: db::Db, publishes: [Ordered], consumes: [Ordered] } }

#[message(name = "tls.ordered")]
struct Ordered;

#[consumer(module = Shop)]
async fn deliver(_: Ordered, probe: State<Probe>) -> Result {
    probe.saw("delivered");
    Ok(())
}

/// Nobody gets in without TLS; `shop` needs a password too.
const HBA: &str = "local all all trust\nhostssl all shop all scram-sha-256\nhostssl all postgres all trust\n";

const OPENSSL: &str = "
[req]
distinguished_name = name
[name]
[ca]
basicConstraints = critical, CA:TRUE
[server]
subjectAltName = DNS:localhost, DNS:db.example.org
";

/// One server for all tests here, and a database of it.
struct Server {
    port: u16,
    database: String,
    root: String,
    other_root: String,
}

/// `None`: this machine lacks what it takes, and the case says so and ends.
fn server() -> Option<Server> {
    static CLUSTER: Mutex<Option<Cluster>> = Mutex::new(None);
    // Its data goes with the process, whoever holds it then.
    let mut cluster = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
    if cluster.is_none() {
        *cluster = Some(start()?);
    }
    let cluster = cluster.as_ref()?;
    let database = cluster.create_database().rsplit_once('/')?.1.to_owned();
    let file = |name: &str| cluster.directory().join("data").join(name).to_str().unwrap().to_owned();
    Some(Server { port: cluster.port(), database, root: file("ca.crt"), other_root: file("other.crt") })
}

fn start() -> Option<Cluster> {
    let cluster = match Command::new("openssl").arg("version").output() {
        Ok(_) => Cluster::start(&with_tls()),
        Err(_) => Err("`openssl` is not installed".to_owned()),
    };
    let required = env::var("FLUENS_REQUIRE_POSTGRES").is_ok_and(|value| !value.is_empty() && value != "0");
    match cluster {
        Ok(cluster) => Some(cluster),
        Err(reason) if !required && (reason.contains("was found") || reason.contains("openssl")) => {
            eprintln!("left out: TLS, because {reason}");
            None
        }
        Err(reason) => panic!("{reason}"),
    }
}

fn with_tls() -> Options {
    let folder = tempfile::tempdir().unwrap();
    make_certificates(folder.path());
    let mut options = Options::default().set("ssl", "on").file("pg_hba.conf", HBA);
    for name in ["ca.crt", "other.crt", "server.crt", "server.key"] {
        options = options.file(name, fs::read(folder.path().join(name)).unwrap());
    }
    options
}

fn make_certificates(folder: &Path) {
    fs::write(folder.join("openssl.cnf"), OPENSSL).unwrap();
    let new = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -config openssl.cnf";
    for command in [
        format!("req -x509 {new} -extensions ca -subj /CN=ours -days 2 -keyout ca.key -out ca.crt"),
        format!("req -x509 {new} -extensions ca -subj /CN=another -days 2 -keyout other.key -out other.crt"),
        format!("req -new {new} -subj /CN=localhost -keyout server.key -out server.csr"),
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile openssl.cnf -extensions server \
         -out server.crt"
            .to_owned(),
    ] {
        let made = Command::new("openssl").args(command.split_whitespace()).current_dir(folder).output().unwrap();
        assert!(made.status.success(), "openssl {command}: {}", String::from_utf8_lossy(&made.stderr));
    }
}

impl Server {
    fn url(&self, login: &str, host: &str, parameters: &str) -> String {
        format!("postgres://{login}@{host}:{}/{}?{parameters}", self.port, self.database)
    }

    /// A message gets there and back.
    async fn accepts(&self, login: &str, host: &str, parameters: &str) {
        let (url, probe) = (self.url(login, host, parameters), Probe::default());
        let app = fluens::app!(Shop, |app| app.database(url).state(probe.clone())).start().await;
        let app = app.unwrap_or_else(|error| panic!("{host} {parameters}: {error}"));
        Shop::of(&app).publish(&Ordered).await.unwrap();
        probe.wait_for_event("delivered").await;
        app.shutdown().await.unwrap();
    }

    /// The start is refused; returns the one reason.
    async fn refuses(&self, login: &str, host: &str, parameters: &str) -> String {
        let url = self.url(login, host, parameters);
        let app = fluens::app!(Shop, |app| app.database(url).state(Probe::default())).start().await;
        let Err(Error::Start(report)) = app else { panic!("{host} {parameters}: accepted") };
        assert_eq!(report.problems.len(), 1, "{report}");
        assert!(report.problems[0].help.contains("`sslmode`"), "{report}");
        report.to_string()
    }
}

macro_rules! server {
    () => {
        match server() {
            Some(server) => server,
            None => return,
        }
    };
}

#[track_caller]
fn assert_says(text: &str, part: &str) {
    assert!(text.contains(part), "`{part}` is missing in:\n{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn disable_is_refused_by_the_server() {
    let text = server!().refuses("postgres", "127.0.0.1", "sslmode=disable").await;
    assert_says(&text, "no encryption");
    assert_says(&text, "pg_hba.conf");
}

#[tokio::test(flavor = "multi_thread")]
async fn prefer_and_require_encrypt_and_ask_nobody_who_answers() {
    let server = server!();
    for parameters in ["", "sslmode=allow", "sslmode=prefer", "sslmode=require"] {
        server.accepts("postgres", "127.0.0.1", parameters).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_full_accepts_the_names_in_the_certificate() {
    let server = server!();
    let verify = format!("sslmode=verify-full&sslrootcert={}", server.root);
    server.accepts("postgres", "localhost", &verify).await;
    server.accepts("postgres", "db.example.org", &format!("hostaddr=127.0.0.1&{verify}")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_full_refuses_another_name() {
    let server = server!();
    let verify = format!("sslmode=verify-full&sslrootcert={}", server.root);
    let text = server.refuses("postgres", "127.0.0.1", &verify).await;
    assert_says(&text, "certificate not valid for name \"127.0.0.1\"");
    let text = server.refuses("postgres", "evil.example.org", &format!("hostaddr=127.0.0.1&{verify}")).await;
    assert_says(&text, "certificate not valid for name \"evil.example.org\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_ca_accepts_whatever_name() {
    let server = server!();
    let verify = format!("sslmode=verify-ca&sslrootcert={}", server.root);
    server.accepts("postgres", "127.0.0.1", &verify).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_root_nothing_is_trusted() {
    let server = server!();
    let other = format!("sslrootcert={}", server.other_root);
    for parameters in [
        "sslmode=verify-full".to_owned(),
        "sslmode=verify-ca".to_owned(),
        format!("sslmode=verify-full&{other}"),
        format!("sslmode=verify-ca&{other}"),
        // As libpq: given a root, it checks.
        format!("sslmode=require&{other}"),
    ] {
        let text = server.refuses("postgres", "localhost", &parameters).await;
        assert_says(&text, "invalid peer certificate: UnknownIssuer");
    }
    let text = server.refuses("postgres", "localhost", "sslmode=verify-full&sslrootcert=missing.crt").await;
    assert_says(&text, "`sslrootcert=missing.crt` cannot be read");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_travels_inside() {
    let server = server!();
    let url = server.url("postgres", "localhost", "sslmode=require");
    let app = fluens::app!(Shop, |app| app.database(url).state(Probe::default())).start().await.unwrap();
    let role = "CREATE ROLE shop LOGIN SUPERUSER PASSWORD 'p@ss:word'";
    Shop::of(&app).connection().await.unwrap().batch_execute(role).await.unwrap();
    app.shutdown().await.unwrap();
    let verify = format!("sslmode=verify-full&sslrootcert={}", server.root);
    server.accepts("shop:p%40ss%3Aword", "localhost", &verify).await;
    let text = server.refuses("shop:wr0ng", "localhost", &verify).await;
    assert_says(&text, "password authentication failed for user \"shop\"");
    assert!(!text.contains("wr0ng"), "a password is shown:\n{text}");
}
