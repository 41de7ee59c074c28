//! What stands around consumers and before publishing.

use fluens::{
    BoxError, Error, Filter, Interceptor, Next, Staged, diesel_prelude::*, message, prelude::*, testing,
};
use fluens_tests::probe::Probe;

use super::support::{create_effects, database, effects, write_effect};
use crate::db;

fluens::module! { pub Guarded { db: db::Db, publishes: [Call, Answer], consumes: [Call, Answer] } }

#[message(name = "guarded.call")]
struct Call {
    n: i64,
}

#[message(name = "guarded.answer")]
struct Answer {
    n: i64,
}

#[consumer]
async fn call(call: Call, probe: State<Probe>, ctx: &mut Context<Guarded>) -> Result<Answer> {
    probe.saw(format!("call {}", call.n));
    write_effect(ctx.conn().await?, call.n, "").await?;
    if call.n == 9 { Err(permanent("on purpose")) } else { Ok(Answer { n: call.n }) }
}

#[consumer(module = Guarded)]
async fn answer(answer: Answer, meta: Meta, probe: State<Probe>) -> Result {
    let headers: Vec<String> = meta.headers.iter().map(|(key, value)| format!("{key}={value}")).collect();
    probe.saw(format!("answer {} {}", answer.n, headers.join(" ")));
    Ok(())
}

/// In the transaction of the consumer: undone with it.
async fn audit<M: Module<Db = db::Db>>(ctx: &mut Context<M>, next: Next<'_, M>) -> Result {
    write_effect(ctx.conn().await?, 1000, "audit").await?;
    ctx.add_header("audited", "yes");
    next.run(ctx).await
}

struct Tenants {
    probe: Probe,
}

impl<M: Module> Interceptor<M> for Tenants {
    fn around<'a>(&'a self, ctx: &'a mut Context<M>, next: Next<'a, M>) -> fluens::BoxFuture<'a, Result> {
        Box::pin(async move {
            self.probe.saw(format!("tenant of {} in {}", ctx.message_name(), ctx.consumer()));
            match ctx.header("tenant").as_deref() {
                Some("nobody") => Err(permanent("no such tenant")),
                _ => next.run(ctx).await,
            }
        })
    }
}

fn stamp(message: &mut Staged) -> Result<(), BoxError> {
    message.set_header("stamped", message.name().to_owned());
    if message.payload().is_some_and(|payload| payload.ends_with(b"13}")) {
        return Err("thirteen is never published".into());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn interceptors_stand_around_consumers_inside_their_transaction() {
    let (url, probe) = (database!(), Probe::default());
    let tenants = Tenants { probe: probe.clone() };
    let app = fluens::app!(Guarded, .., intercept: [tenants], |app| app
        .database(url)
        .state(probe.clone())
        .intercept_message::<Guarded, Call>(audit));
    let app = testing::start(app).await.unwrap();
    let guarded = Guarded::of(&app);
    create_effects(&guarded).await;
    app.publish(&Call { n: 1 }).settled().await.unwrap();
    assert_eq!(
        probe.events(),
        [
            "tenant of guarded.call in guarded.call",
            "call 1",
            "tenant of guarded.answer in guarded.answer",
            "answer 1 audited=yes"
        ]
    );
    assert_eq!(effects(&guarded).await, [1, 1000], "around calls only");
    app.publish(message(&Call { n: 2 }).header("tenant", "nobody")).settled().await.unwrap();
    app.publish(&Call { n: 9 }).settled().await.unwrap();
    assert_eq!(probe.count("call 2"), 0, "refused before it ran");
    assert_eq!(
        effects(&guarded).await,
        [1, 1000],
        "what the interceptor wrote went with the consumer's failure"
    );
    assert_eq!(guarded.dead_letters().count(Filter::new()).await.unwrap(), 2);
}

/// Wherever it is published from: a handle, a transaction, a consumer, a connection of one's own.
#[tokio::test(flavor = "multi_thread")]
async fn interceptors_of_publishing_see_everything_and_may_refuse() {
    // A module of its own: on connections of one's own the rules of the last app that runs a module hold.
    fluens::module! { Stamping { db: db::Db, publishes: [Letter, Echo], consumes: [Letter, Echo] } }
    #[message(name = "stamping.letter")]
    struct Letter {
        n: i64,
    }
    #[message(name = "stamping.echo")]
    struct Echo {
        n: i64,
    }
    #[consumer(module = Stamping)]
    async fn echo(letter: Letter) -> Result<Echo> {
        Ok(Echo { n: letter.n })
    }
    #[consumer(module = Stamping)]
    async fn hear(echo: Echo, meta: Meta, probe: State<Probe>) -> Result {
        probe.saw(format!("echo {} stamped {}", echo.n, meta.headers["stamped"]));
        Ok(())
    }
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Stamping, .., |app| app
        .database(url)
        .state(probe.clone())
        .intercept_publish::<Stamping>(stamp));
    let app = testing::start(app).await.unwrap();
    let stamping = Stamping::of(&app);
    create_effects(&stamping).await;
    app.publish(&Letter { n: 1 }).settled().await.unwrap();
    assert_eq!(probe.events(), ["echo 1 stamped stamping.echo"], "what a consumer returns");
    let refused = stamping.publish(&Letter { n: 13 }).await.unwrap_err();
    assert_eq!(refused.to_string(), "`stamping.letter` was refused: thirteen is never published");
    let refused = stamping
        .transaction(async |tx| -> Result<(), Error> {
            write_effect(tx.conn(), 77, "").await?;
            tx.publish(&Echo { n: 13 });
            Ok(())
        })
        .await;
    assert!(matches!(refused, Err(Error::Refused { .. })));
    let mut conn = stamping.connection().await.unwrap();
    let refused = conn.transaction(async |conn| Stamping::publish(conn, &Letter { n: 13 }).await).await;
    assert!(matches!(refused, Err(Error::Refused { .. })));
    drop(conn);
    app.settled().await;
    assert_eq!(effects(&stamping).await, Vec::<i64>::new(), "nothing of what was refused");
}
