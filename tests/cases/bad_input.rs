//! P9: what is too large, malformed or hostile is answered, and nothing is lost by it.

use std::time::Duration;

use fluens::{Error, Filter, message, prelude::*, testing};
use fluens_tests::probe::Probe;

use super::support::{bytes_literal, database, execute, inbox_rows};
use crate::db;

fluens::module! { pub Hostile { db: db::Db, publishes: [Blob, Keyed], consumes: [Blob, Keyed] } }

#[message(name = "hostile.blob")]
struct Blob {
    text: String,
}

#[message(name = "hostile.keyed", partition = key, unique(by = key, within = "1h"))]
struct Keyed {
    key: String,
}

#[consumer(module = Hostile)]
async fn blob(blob: Blob, meta: Meta, probe: State<Probe>) -> Result {
    let headers: Vec<String> = meta.headers.iter().map(|(key, value)| format!("{key}={value}")).collect();
    probe.saw(format!("{} bytes {}", blob.text.len(), headers.join(" ")));
    Ok(())
}

#[consumer(module = Hostile)]
async fn keyed(keyed: Keyed, probe: State<Probe>) -> Result {
    probe.saw(keyed.key.clone());
    Err(permanent(format!("refused {}", keyed.key)))
}

macro_rules! start {
    ($probe:expr) => {{
        let url = database!();
        let app = fluens::app!(Hostile, .., |app| app.database(url).state($probe.clone()));
        testing::start(app).await.unwrap()
    }};
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_too_large_is_refused_when_it_is_published() {
    let probe = Probe::default();
    let app = start!(probe);
    let hostile = Hostile::of(&app);
    let huge = Blob { text: "x".repeat(64 << 20) };
    let refused = hostile.publish(&huge).await.unwrap_err();
    assert!(
        matches!(refused, Error::TooLarge { message: "hostile.blob", limit: 16_777_216, .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("max_payload"), "{refused}");
    let headers = message(&Blob { text: String::new() }).header("huge", "x".repeat(17 << 20));
    assert!(matches!(hostile.publish(headers).await, Err(Error::TooLarge { .. })), "headers count too");
    // In a transaction nothing of it stays.
    let both = hostile.publish_all([&Blob { text: "small".into() }, &huge]).await;
    assert!(matches!(both, Err(Error::TooLarge { .. })));
    app.publish(&Blob { text: "x".repeat(15 << 20) }).settled().await.unwrap();
    assert_eq!(probe.events(), [format!("{} bytes ", 15 << 20)], "what fits is delivered");
    assert_eq!(inbox_rows(&hostile, "true").await, 0);
}

/// It would be too large the next time too.
#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_publishes_too_much_is_given_up_at_once() {
    fluens::module! { Bulky { db: db::Db, publishes: [Order, Bulk], consumes: [Order] } }
    #[message(name = "bulky.order")]
    struct Order;
    #[message(name = "bulky.bulk")]
    struct Bulk {
        text: String,
    }
    #[consumer(module = Bulky)]
    async fn produce(_: Order) -> Result<Bulk> {
        Ok(Bulk { text: "x".repeat(3000) })
    }
    let url = database!();
    let app =
        testing::start(fluens::app!(Bulky, .., |app| app.database(url).max_payload(2048))).await.unwrap();
    app.publish(&Order).settled().await.unwrap();
    let letter = Bulky::of(&app).dead_letters().find(Filter::new()).await.unwrap().items.remove(0);
    assert_eq!((letter.code.as_str(), letter.attempts.len()), ("system.permanent-failure", 1));
    assert!(letter.error.contains("more than the 2048 that `max_payload` allows"), "{}", letter.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_keys_and_headers_are_data() {
    let probe = Probe::default();
    let app = start!(probe);
    let hostile = Hostile::of(&app);
    let nasty = "a\0b'); DROP TABLE fluens_inbox; --\u{202e}\"\\";
    app.publish(message(&Blob { text: nasty.into() }).header(nasty, nasty)).settled().await.unwrap();
    assert_eq!(probe.events(), [format!("{} bytes {nasty}={nasty}", nasty.len())]);
    app.publish(&Keyed { key: nasty.into() }).settled().await.unwrap();
    assert_eq!(probe.count(nasty), 1);
    assert!(app.publish(&Keyed { key: nasty.into() }).await.unwrap().duplicate);
    let letters = hostile.dead_letters().find(Filter::new().key(nasty)).await.unwrap().items;
    assert_eq!(
        (letters.len(), letters[0].error.as_str()),
        (1, format!("refused {}", nasty.replace('\0', "\u{fffd}")).as_str())
    );
    hostile.dead_letters().replay(letters[0].id).await.unwrap();
    app.settled().await;
    assert_eq!(probe.count(nasty), 2, "and so is what is replayed");
}

/// Truncated, nested without end, not UTF-8: dead letters at the first attempt, with their bytes.
#[tokio::test(flavor = "multi_thread")]
async fn malformed_payloads_are_kept_as_they_are() {
    let probe = Probe::default();
    let app = start!(probe);
    let hostile = Hostile::of(&app);
    let minute = Duration::from_secs(60);
    let payloads: [Vec<u8>; 5] = [
        b"{\"text\":\"cut".to_vec(),
        [b"{\"text\":".to_vec(), b"[".repeat(200_000)].concat(),
        b"{\"text\":\"\xff\xfe\"}".to_vec(),
        b"\0\0\0\0".to_vec(),
        Vec::new(),
    ];
    for payload in &payloads {
        let later = hostile.publish(message(&Blob { text: String::new() }).after(minute)).await.unwrap();
        let bytes = bytes_literal(payload);
        execute(&hostile, &format!("UPDATE fluens_inbox SET payload = {bytes} WHERE state = 1")).await;
        app.advance(minute).await;
        let letter = hostile.dead_letters().find(Filter::new().limit(1)).await.unwrap().items.remove(0);
        assert_eq!((letter.message_id, letter.attempts.len()), (later.id, 1));
        assert_eq!((letter.code.as_str(), &letter.payload), ("system.payload-corruption", payload));
    }
    assert_eq!(probe.events(), Vec::<String>::new());
}
