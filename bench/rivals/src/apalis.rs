//! apalis on PostgreSQL, with large batches.

use std::time::Duration;

use apalis::prelude::*;
use apalis_postgres::{Config, PostgresStorage, queries::push_tasks};

use crate::work::{self, Order, consume, drive, pool};

async fn job(order: Order) -> Result<(), BoxDynError> {
    consume(&order).await
}

pub async fn run() -> work::Result<()> {
    let pool = &pool().await?;
    PostgresStorage::setup(pool).await?;
    let config = Config::default().queue("order").batch_size(500);
    let backend = PostgresStorage::<Order>::new(pool)
        .with_config(config)
        .with_pubsub()
        .poll_with_interval(Duration::from_millis(100));
    let push = |orders: Vec<Order>| async move {
        let tasks = orders.iter().map(|order| Ok(TaskBuilder::new(serde_json::to_vec(order)?).build()));
        let tasks = tasks.collect::<work::Result<_>>()?;
        push_tasks(&mut *pool.acquire().await?, "order", tasks).await?;
        Ok(())
    };
    drive("apalis.jobs WHERE status <> 'Done'", |order| push(vec![order]), push, async move {
        WorkerBuilder::new("worker").backend(backend).concurrency(500).build(job).run().await?;
        Ok(())
    })
    .await
}
