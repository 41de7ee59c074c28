//! Messages that are published again and again. One node fires, in the transaction that publishes the message; what was
//! missed while nobody ran is made up for once; the database's clock decides.

use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use chrono::{DateTime, Utc};
use croner::parser::{CronParser, Seconds, Year};
use fluens_diesel::{Recurring, Schedule as _, Ts};
use tokio::sync::watch;

use super::{Handle, Problem};
use crate::{
    Error,
    clock::Clock,
    inbox::{Doing, Presence},
    message::{Message, Origin, Staged},
    module::{Module, PublishedBy},
};

/// One entry of a module's `cron`.
pub struct Cron {
    expression: &'static str,
    message: &'static str,
    make: Box<dyn Fn() -> Staged + Send + Sync>,
}

impl Cron {
    /// Publishes what `make` returns whenever `expression` says, in UTC.
    pub fn new<M: Module, T: PublishedBy<M>>(
        expression: &'static str,
        make: impl Fn() -> T + Send + Sync + 'static,
    ) -> Self {
        Cron { expression, message: <T as Message>::NAME, make: Box::new(move || Staged::new(&make())) }
    }
}

/// Entries that cannot be told apart: they would share their time, and one of them would never fire.
pub(super) fn problems(module: &str, crons: &[Cron]) -> Vec<Problem> {
    let mut seen = HashSet::new();
    let twice = crons.iter().filter(|cron| !seen.insert((cron.message, cron.expression)));
    let problem = |cron: &Cron| {
        let Cron { message, expression, .. } = cron;
        let what = format!("module `{module}` has two cron entries for `{message}` at `{expression}`");
        Problem::new(what, "leave one out, or publish the other as a message of its own")
    };
    twice.map(problem).collect()
}

/// After something went wrong.
const PAUSE: Duration = Duration::from_secs(5);

const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// One entry at work.
pub(super) struct Firing<M: Module> {
    handle: Handle<M>,
    recurring: Recurring,
    pattern: croner::Cron,
    cron: Cron,
    clock: Clock,
    presence: Presence,
    stop: watch::Receiver<bool>,
}

impl<M: Module> Firing<M> {
    /// `Err`: the expression cannot be read. The macro refuses such a one.
    pub(super) fn new(
        handle: Handle<M>,
        cron: Cron,
        clock: Clock,
        presence: Presence,
        stop: watch::Receiver<bool>,
    ) -> Result<Self, croner::errors::CronError> {
        let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
        let pattern = parser.parse(cron.expression)?;
        let recurring = Recurring {
            module: M::NAME.to_owned(),
            message: cron.message.to_owned(),
            expression: cron.expression.to_owned(),
        };
        Ok(Firing { handle, recurring, pattern, cron, clock, presence, stop })
    }

    pub(super) async fn run(mut self) {
        while !*self.stop.borrow() {
            let (wait, due) = match self.next().await {
                Ok(Some(next)) => next,
                Ok(None) => {
                    tracing::warn!(
                        message = self.cron.message,
                        expression = self.cron.expression,
                        "a recurring message is never due any more"
                    );
                    break;
                }
                Err(error) => {
                    self.complain(&error);
                    (PAUSE, None)
                }
            };
            let time = self.clock.now() + wait;
            self.presence.is(Doing::Rest(Some(time)));
            tokio::select! {
                _ = self.stop.changed() => continue,
                () = self.clock.reached(time) => self.presence.is(Doing::Work),
            }
            if let Some(due) = due
                && let Err(error) = self.fire(due).await
            {
                self.complain(&error);
                let later = self.clock.now() + PAUSE;
                self.presence.is(Doing::Rest(Some(later)));
                tokio::select! {
                    _ = self.stop.changed() => {}
                    () = self.clock.reached(later) => {}
                }
            }
        }
    }

    /// How long until it is due, and when that is. `None`: never again.
    async fn next(&self) -> Result<Option<(Duration, Option<Ts>)>, Error> {
        let db = &self.handle.db;
        let mut conn = db.writer().await?;
        let now = M::Db::now(&mut conn, &db.tables).await?;
        let Some(first) = self.after(now) else { return Ok(None) };
        let due = M::Db::next_firing(&mut conn, &db.tables, &self.recurring, first).await?;
        let wait = (due.0 - now.0).to_std().unwrap_or_default();
        // Asked for now and then, it is not forgotten, however rarely it is due.
        Ok(Some(if wait > LONGEST_WAIT { (LONGEST_WAIT, None) } else { (wait, Some(due)) }))
    }

    /// Publishes, if nobody else has. The next time is reckoned from now: what was missed is made up for once.
    async fn fire(&self, due: Ts) -> Result<(), Error> {
        let db = &self.handle.db;
        let mut tx = db.begin().await?;
        let now = M::Db::now(&mut tx.conn, &db.tables).await?;
        let next = self.after(now).unwrap_or(Ts(DateTime::<Utc>::MAX_UTC));
        if !M::Db::fire(&mut tx.conn, &db.tables, &self.recurring, due, next).await? {
            tx.roll_back().await;
            return Ok(());
        }
        fluens_diesel::failpoint!("cron: moved on, nothing published");
        let made = catch_unwind(AssertUnwindSafe(|| (self.cron.make)()));
        let panicked = |_| Error::Encode { message: self.cron.message, source: "making it panicked".into() };
        let mut staged = made.map_err(panicked)?;
        staged.set_header("cron", due.0.to_rfc3339());
        let origin = Origin { module: M::NAME, cause: None, rules: &self.handle.rules };
        tx.append(vec![staged.into_row(origin)?]).await?;
        fluens_diesel::failpoint!("cron: before COMMIT");
        tx.commit().await?;
        fluens_diesel::failpoint!("cron: after COMMIT");
        Ok(())
    }

    fn after(&self, now: Ts) -> Option<Ts> {
        self.pattern.find_next_occurrence(&now.0, false).ok().map(Ts)
    }

    fn complain(&self, error: &Error) {
        let (message, expression) = (self.cron.message, self.cron.expression);
        tracing::error!(message, expression, %error, "a recurring message could not be published; trying again");
    }
}
