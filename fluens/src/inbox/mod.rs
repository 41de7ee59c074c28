//! What is due. Rows come from the database, by wake-up or by looking now and then; they go into the plan of their
//! consumer, from which its lanes take them.

mod activity;
mod care;
mod dispatcher;
mod elsewhere;
mod ending;
mod group_size;
mod hand;
mod low_water;
mod poller;
mod signal;

pub(crate) use activity::{Activity, Doing, Presence};
pub(crate) use care::Care;
pub(crate) use dispatcher::Dispatcher;
pub(crate) use elsewhere::published_elsewhere;
pub(crate) use group_size::UNOPENED;
pub(crate) use hand::{Consumer, Inbox, Limits};
pub(crate) use low_water::LowWater;
pub(crate) use poller::Poller;
pub(crate) use signal::{Signal, Wakes};
