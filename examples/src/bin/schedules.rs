//! Messages for later, again and again, too late, and first. `cargo run --bin schedules`
#![allow(missing_docs)] // a program, not a library

use std::time::{Duration, Instant};

use fluens::{Filter, message, prelude::*};
use fluens_examples::{DATABASE, db};

fluens::module! {
    /// A calendar. `cron` has the second first if there are six parts, and is in UTC.
    Calendar {
        db: db::Db,
        publishes: [Remind, Offer, Job, Tick],
        consumes: [Remind, Offer, Job, Tick],
        cron: ["* * * * * *" => Tick { text: "every second".into() }],
    }
}

#[message(name = "schedules.remind")]
struct Remind {
    text: String,
}

/// Lives for a fifth of a second.
#[message(name = "schedules.offer", ttl = "200ms")]
struct Offer {
    n: i64,
}

#[message(name = "schedules.job", priority = priority)]
struct Job {
    n: i64,
    priority: Priority,
}

#[message(name = "schedules.tick")]
struct Tick {
    text: String,
}

/// Since when the program runs.
struct Start(Instant);

impl Start {
    fn says(&self, text: impl std::fmt::Display) {
        println!("{:>5} ms  {text}", self.0.elapsed().as_millis());
    }
}

#[consumer(module = Calendar)]
async fn remind(remind: Remind, start: State<Start>) -> Result {
    start.says(format_args!("reminded: {}", remind.text));
    Ok(())
}

/// One at a time, and slow: the second offer waits for too long.
#[consumer(module = Calendar, lanes = 1)]
async fn consider(offer: Offer, start: State<Start>) -> Result {
    tokio::time::sleep(Duration::from_millis(300)).await;
    start.says(format_args!("offer {} was considered", offer.n));
    Ok(())
}

#[consumer(module = Calendar, lanes = 1)]
async fn work(job: Job, start: State<Start>) -> Result {
    tokio::time::sleep(Duration::from_millis(20)).await;
    start.says(format_args!("job {} ({:?}) is done", job.n, job.priority));
    Ok(())
}

#[consumer(module = Calendar)]
async fn tick(tick: Tick, meta: Meta, start: State<Start>) -> Result {
    let due = meta.headers.get("cron").map_or("?", String::as_str);
    start.says(format_args!("{}: it is {due}", tick.text));
    Ok(())
}

fluens::run!(Calendar, |app| app.database(DATABASE).state(Start(Instant::now())).log("off"), async |app| {
    let calendar = Calendar::of(app);
    let later = async |text: &str, millis: u64| {
        let remind = Remind { text: text.into() };
        calendar.publish(message(&remind).after(Duration::from_millis(millis))).await
    };
    println!("three reminders: one for soon, one that is put off, one that is taken back");
    later("tea is ready", 250).await?;
    let put_off = later("stand up", 100).await?;
    let taken_back = later("never seen", 100).await?;
    calendar.reschedule_after(put_off.id, Duration::from_millis(500)).await?;
    calendar.cancel(taken_back.id).await?;

    println!("two offers, of which the second is not reached in time");
    calendar.publish_all(&[Offer { n: 1 }, Offer { n: 2 }]).await?;

    println!("jobs from low to critical; the highest goes first\n");
    let priorities = [Priority::Low, Priority::Normal, Priority::High, Priority::Critical];
    let jobs = (1..).zip(priorities).map(|(n, priority)| Job { n, priority });
    calendar.publish_all(&jobs.collect::<Vec<_>>()).await?;

    // What is for later is not waited for by `settled`.
    tokio::time::sleep(Duration::from_millis(1200)).await;
    app.settled().await;
    println!();
    for expired in calendar.expired().find(Filter::new()).await?.items {
        println!("{} was not reached by {}, and expired", expired.message, expired.consumer);
    }
    Ok(())
});
