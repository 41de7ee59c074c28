//! Which part of the work is this process's. Every slot of a consumer is leased to one node at a time; the database's
//! clock decides who is dead. In come beats and surveys of the database, out go slots: the dispatchers of
//! [`inbox`](crate::inbox) fetch from those that are held.

mod balance;
mod joining;
mod line;
mod member;
mod moving;
mod process;
mod share;
mod thread;

pub(crate) use member::Profile;
pub(crate) use share::{Holder, Node, Share, Slots, bit};
pub(crate) use thread::{Join, Membership};
