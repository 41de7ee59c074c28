//! Says plainly what this run left out.

fn main() {
    if !cfg!(feature = "postgres") {
        println!("left out: the suite on PostgreSQL. `bash scripts/test` runs everything.");
    } else if fluens_tests::postgres::Cluster::shared().is_none() {
        println!(
            "left out: the suite on PostgreSQL, because no server is installed. `bash scripts/test` installs it."
        );
    }
    if cfg!(feature = "postgres") && std::process::Command::new("openssl").arg("version").output().is_err() {
        println!("left out: TLS, because `openssl` is not installed to make certificates.");
    }
    if !cfg!(feature = "libpq") {
        println!("left out: publishing through a synchronous PgConnection, which needs libpq.");
    }
}
