//! The thread of an app's members. Not a task among the consumers': one that blocks, or many that are busy, must not keep
//! the node from saying that it is alive.

use std::{sync::Arc, thread, time::Duration};

use fluens_diesel::Store;
use futures_util::future::{BoxFuture, join_all};
use tokio::sync::{oneshot, watch};

use super::member::{Member, Profile, Stage};
use crate::{Error, app::Database};

type Running = BoxFuture<'static, ()>;
type Joining = BoxFuture<'static, Result<Running, Error>>;

/// Joins the nodes of one database, on the thread where it is called.
pub(crate) struct Join(Box<dyn FnOnce(Profile, watch::Receiver<Stage>) -> Joining + Send>);

impl Join {
    /// Once all consumers of the database are known.
    pub(crate) fn to<S: Store>(db: Arc<Database<S>>) -> Self {
        Join(Box::new(|profile, stage| {
            Box::pin(async move {
                let member = Member::join(db, profile, stage).await?;
                Ok(Box::pin(member.run()) as Running)
            })
        }))
    }
}

/// An app's part in the nodes of its databases. Dropped, it leaves them, and nobody waits for that.
pub(crate) struct Membership {
    stage: watch::Sender<Stage>,
    /// Closed when the thread has ended.
    ended: watch::Receiver<()>,
    /// How long that may take.
    patience: Duration,
}

impl Membership {
    /// Takes part in all of these databases, or says why it cannot.
    pub(crate) async fn start(joins: Vec<Join>, profile: Profile) -> Result<Self, Error> {
        let (stage, heard) = watch::channel(Stage::Works);
        let leaving = stage.clone();
        let patience = profile.lease * 2;
        let (ending, ended) = watch::channel(());
        let (joined, answer) = oneshot::channel();
        let spawned = thread::Builder::new().name("fluens-node".to_owned()).spawn(move || {
            let _ending = ending;
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(joined.send(Err(Error::Unavailable(error.into())))),
            };
            runtime.block_on(async {
                let mut members = Vec::new();
                for Join(join) in joins {
                    match join(profile.clone(), heard.clone()).await {
                        Ok(running) => members.push(running),
                        Err(error) => {
                            // Those that took part already leave again.
                            leaving.send_replace(Stage::Leaves);
                            join_all(members).await;
                            let _ = joined.send(Err(error));
                            return;
                        }
                    }
                }
                if joined.send(Ok(())).is_ok() {
                    join_all(members).await;
                }
            });
        });
        spawned.map_err(|error| Error::Unavailable(error.into()))?;
        answer.await.unwrap_or_else(|_| Err(Error::Unavailable("the node's thread ended".into())))?;
        Ok(Membership { stage, ended, patience })
    }

    /// Gives what is idle to others at once, and the rest as it becomes idle.
    pub(crate) fn drain(&self) {
        self.stage.send_if_modified(|stage| std::mem::replace(stage, (*stage).max(Stage::Drains)) != *stage);
    }

    /// Nothing runs any more: others have it all from now on.
    pub(crate) async fn leave(&self) {
        self.stage.send_replace(Stage::Leaves);
        // Never sent to: it ends with the thread.
        let _ = tokio::time::timeout(self.patience, self.ended.clone().changed()).await;
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.stage.send_replace(Stage::Leaves);
    }
}
