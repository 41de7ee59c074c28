//! Where consumers run. Deliveries come from the inbox; a lane runs one after the other and commits several together;
//! [`settle`](crate::settle) says what a failure means.

mod ending;
mod failing;
mod group;
mod in_hand;
mod line;
mod plan;
mod run;
mod settling;
mod suspect;
mod worker;

pub(crate) use group::Group;
pub(crate) use in_hand::InHand;
pub(crate) use line::{Lane, Place, Planned};
pub(crate) use plan::Plan;
pub(crate) use worker::Worker;
