//! A context without a lane: for calling one consumer alone.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

use fluens_diesel::{Due, Standing};
use tokio::sync::Mutex;

use crate::{
    Context, Error, Handle,
    consumer::{Deliveries, Delivery, Recipient, States},
    lane::Group,
    message::{Envelope, Message, Staged},
    module::Module,
};

/// A context for calling a consumer directly. What the consumer writes is undone when this is dropped, unless it is
/// [committed](TestContext::commit).
///
/// ```
/// # use fluens::{prelude::*, sqlite as db, testing};
/// # fluens::module! { Oracle { db: db::Db, publishes: [external Answered], consumes: [Asked] } }
/// # #[message] struct Asked { question: String }
/// # #[message] struct Answered { answer: u32 }
/// # #[consumer] async fn think(asked: Asked, ctx: &mut Context<Oracle>) -> Result<Answered> {
/// #     ctx.publish(&Answered { answer: 6 });
/// #     Ok(Answered { answer: 42 })
/// # }
/// # #[tokio::main] async fn main() -> Result {
/// let app = testing::start(fluens::app!(Oracle)).await?;
/// let asked = Asked { question: "of life".into() };
/// let mut ctx = app.context::<Oracle, _>(&asked);
/// let answered = think(asked, &mut ctx).await?;
/// assert_eq!((answered.answer, ctx.published::<Answered>()[0].answer), (42, 6));
/// # Ok(()) }
/// ```
pub struct TestContext<M: Module> {
    context: Context<M>,
    group: Arc<Mutex<Group<M>>>,
}

impl<M: Module> TestContext<M> {
    pub(super) fn new<T: Message>(handle: &Handle<M>, states: Arc<States>, message: &T) -> Self {
        let staged = Staged::new(message);
        let mut envelope = Envelope::anew(staged.id());
        M::NAME.clone_into(&mut envelope.module);
        envelope.version = T::VERSION;
        envelope.content_type = T::CONTENT_TYPE.into();
        envelope.key = staged.key().map(str::to_owned);
        let row = Due {
            seq: 0,
            attempt: 0,
            forgiven: 0,
            priority: message.priority().stored(),
            overdue: false,
            slot: 0,
            key_hash: message.key().map(|key| key.hash.cast_signed()),
            published_at: fluens_diesel::Ts(chrono::Utc::now()),
            expires_in: None,
            message_id: staged.id(),
            message: T::NAME.to_owned(),
            version: i32::try_from(T::VERSION).unwrap_or(i32::MAX),
            deaths: 0,
            standing: Standing::Run,
            latest: None,
            history: None,
            envelope: envelope.to_bytes(),
            payload: staged.payload().unwrap_or_default().to_vec(),
        };
        let delivery = Delivery {
            row: row.into(),
            envelope: envelope.into(),
            recipient: Arc::new(Recipient {
                message: T::NAME.into(),
                aliases: T::ALIASES,
                consumer: "test".into(),
                states,
            }),
            attempt: 1,
        };
        let group = Arc::new(Mutex::new(Group::new(handle.db.clone())));
        let context = Context::new(group.clone(), Arc::new(Deliveries::new(vec![delivery])));
        TestContext { context, group }
    }

    /// What the consumer gave to `ctx.publish`. What it returned is in your hands already.
    pub fn published<T: Message>(&mut self) -> Vec<T> {
        let staged = self.context.staged_mut().iter().filter(|staged| staged.name() == T::NAME);
        staged.filter_map(|staged| T::decode(staged.payload()?).ok()).collect()
    }

    /// Keeps what the consumer wrote. What it published is not sent: nobody is there to settle it.
    pub async fn commit(self) -> Result<(), Error> {
        self.context.finish();
        self.group.lock().await.commit().await
    }
}

impl<M: Module> Deref for TestContext<M> {
    type Target = Context<M>;
    fn deref(&self) -> &Context<M> {
        &self.context
    }
}

impl<M: Module> DerefMut for TestContext<M> {
    fn deref_mut(&mut self) -> &mut Context<M> {
        &mut self.context
    }
}
