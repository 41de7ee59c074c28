//! graphile_worker with the settings of its own benchmark: a local queue, and acknowledgements in batches.

use std::{sync::Arc, time::Duration};

use graphile_worker::{
    IntoTaskHandlerResult, JobSpec, LocalQueueConfig, TaskHandler, WorkerContext, WorkerOptions,
};
use serde::{Deserialize, Serialize};

use crate::work::{Order, Result, consume, drive, pool};

#[derive(Clone, Serialize, Deserialize)]
struct Job(Order);

impl TaskHandler for Job {
    const IDENTIFIER: &'static str = "order";

    async fn run(self, _: WorkerContext) -> impl IntoTaskHandlerResult {
        consume(&self.0).await.map_err(|error| error.to_string())
    }
}

pub async fn run() -> Result<()> {
    let options = WorkerOptions::default()
        .schema("graphile")
        .pg_pool(pool().await?)
        .define_job::<Job>()
        .poll_interval(Duration::from_millis(5))
        .concurrency(500)
        .complete_job_batch_delay(Duration::from_millis(5))
        .local_queue(LocalQueueConfig::default().with_size(5000));
    let worker = Arc::new(options.init().await?);
    let utils = &worker.create_utils();
    utils.migrate().await?;
    let spec = &JobSpec::default();
    drive(
        "graphile._private_jobs",
        |order| async move {
            utils.add_job(Job(order), spec.clone()).await?;
            Ok(())
        },
        |orders| async move {
            let jobs: Vec<_> = orders.into_iter().map(|order| (Job(order), spec)).collect();
            utils.add_jobs(&jobs).await?;
            Ok(())
        },
        {
            let worker = worker.clone();
            async move { Ok(worker.run().await?) }
        },
    )
    .await
}
