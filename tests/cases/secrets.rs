//! Fault 26: what is in a password, a key, a header or a payload is in no log, no `Debug`, no error and no report of ours.

use std::time::Duration;

use fluens::{Error, Filter, message, prelude::*, testing};
use fluens_tests::{probe::Probe, told::Told};

use super::support::{bytes_literal, database, execute};
use crate::db;

fluens::module! { pub Private { db: db::Db, publishes: [Letter], consumes: [Letter] } }

const SECRET: &str = "s3cret";

#[message(name = "private.letter", partition = to, ttl = "1h")]
struct Letter {
    to: String,
    text: String,
    says: Says,
}

#[payload]
enum Says {
    Well,
    Error,
    Permanent,
    Fault,
    Panic,
}

#[consumer(module = Private)]
async fn read(letter: Letter, meta: Meta, probe: State<Probe>) -> Result {
    assert!(letter.text.contains(SECRET) && meta.headers["token"].contains(SECRET));
    probe.saw(format!("{meta:?}"));
    match letter.says {
        Says::Well => Ok(()),
        Says::Error => Err("no".into()),
        Says::Permanent => Err(permanent("never")),
        Says::Fault => Err(fault("letter.unread")),
        Says::Panic => panic!("on purpose"),
    }
}

#[consumer(module = Private)]
async fn hear(fault: Fault<Letter>, probe: State<Probe>) -> Result {
    probe.saw(format!("{} {:?} {:?}", fault.code(), fault.error(), fault.message_id()));
    Ok(())
}

fn letter(says: Says) -> fluens::Outbound<Letter> {
    let letter = Letter { to: format!("{SECRET}@home"), text: format!("{SECRET} text"), says };
    message(&letter).header("token", SECRET)
}

#[track_caller]
fn assert_discreet(text: &str) {
    assert!(!text.contains(SECRET), "it is told: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_private_is_told_nowhere() {
    let told = Told::everywhere(SECRET);
    let probe = Probe::default();
    // The servers of tests ask for no password, and take any.
    let url = database!().replace("postgres@", &format!("postgres:{SECRET}@"));
    let app = fluens::app!(Private, .., |app| app.database(url).state(probe.clone()));
    let app = testing::start(app).await.unwrap();
    let private = Private::of(&app);
    for says in [Says::Well, Says::Error, Says::Permanent, Says::Fault, Says::Panic] {
        assert_discreet(&format!("{:?}", private.publish(letter(says)).await.unwrap()));
        app.settled().await;
    }
    let minute = Duration::from_secs(60);
    let spoiled = [
        format!(r#"{{"to":"x","text":"{SECRET}","says":"{SECRET}"}}"#),
        format!(r#"{{"to":"x","text":"x","says":{{"{SECRET}":1}}}}"#),
        format!(r#"{{"to":"x","text":["{SECRET}"],"says":"Well"}}"#),
        format!(r#"{{"to":"x","says":"Well","text":"{SECRET}"#),
        format!(r#"{{"to":"x","says":"Well","text":"x"}} {SECRET}"#),
        format!(r#""{SECRET}""#),
    ];
    for payload in &spoiled {
        private.publish(letter(Says::Well).after(minute)).await.unwrap();
        let bytes = bytes_literal(payload.as_bytes());
        execute(&private, &format!("UPDATE fluens_inbox SET payload = {bytes} WHERE state = 1")).await;
        app.advance(minute).await;
    }
    let letters = private.dead_letters().find(Filter::new()).await.unwrap().items;
    assert_eq!(letters.len(), 3 + spoiled.len());
    for letter in &letters {
        assert_discreet(&format!("{letter:?} {} {:?} {}", letter.error, letter.attempts, letter.fingerprint));
    }
    assert_discreet(&format!("{:?} {0}", app.status().await.unwrap()));
    assert_discreet(&format!("{:?}", app.events()));
    assert_discreet(&probe.events().join("\n"));
    assert_eq!(told.texts(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_are_refusals_of_wrong_settings() {
    for url in [
        format!("postgres://nobody:{SECRET}@127.0.0.1:1/x?options={SECRET}"),
        format!("oracle://scott:{SECRET}@db/x"),
        format!("host=127.0.0.1 port=1 password={SECRET}"),
    ] {
        let app = fluens::app!(Private, .., |app| app.database(url).state(Probe::default()));
        let Err(Error::Start(report)) = app.start().await else { panic!("it started") };
        assert_discreet(&format!("{report} {report:?} {:?}", Error::Start(report.clone())));
    }
}
