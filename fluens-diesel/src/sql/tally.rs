//! Counts what a batch of messages becomes: which of them are duplicates, and for how many consumers the others are
//! stored. Pure: the statements are between its calls.

use std::collections::{HashMap, HashSet};

use super::{Kinds, text::storable};
use crate::{Appended, Id, Mark, NewMessage, Stored, UniqueKey};

pub(super) struct Tally {
    /// How many messages.
    count: usize,
    /// By place in the batch.
    duplicates: HashSet<usize>,
    /// Whose consumers those of each kept message are: the first of its kind in its chunk.
    firsts: Vec<Id>,
    consumers: HashMap<Id, u32>,
    wake: HashSet<i32>,
    scheduled: bool,
    rang: bool,
    mark: Option<Mark>,
}

impl Tally {
    pub(super) fn of(batch: &[NewMessage]) -> Self {
        Tally {
            count: batch.len(),
            duplicates: HashSet::new(),
            firsts: Vec::new(),
            consumers: HashMap::new(),
            wake: HashSet::new(),
            rang: batch.iter().any(|message| message.rings),
            scheduled: batch.iter().any(|m| m.delay_micros.is_some() || m.available_at.is_some()),
            mark: None,
        }
    }

    /// What may have been published before.
    pub(super) fn given_ids(&self, batch: &[NewMessage]) -> Vec<Id> {
        self.rest(batch).filter(|(_, message)| message.given_id).map(|(_, message)| message.id).collect()
    }

    /// What was published before, or earlier in this very batch, under the same id is a duplicate.
    pub(super) fn keep_new_ids(&mut self, batch: &[NewMessage], new: Vec<(i32, Stored)>) {
        self.keep_once(batch, new, |message| message.given_id);
    }

    /// The unique keys, each once: of equal ones in this batch the first is meant.
    pub(super) fn unique_keys(&self, batch: &[NewMessage]) -> Vec<(Id, UniqueKey)> {
        let mut met = HashSet::new();
        let keys = self.rest(batch).filter_map(|(_, message)| Some((message.id, message.unique.clone()?)));
        keys.filter(|(_, key)| met.insert((key.message, storable(&key.key)))).collect()
    }

    /// Whose key was not free is a duplicate.
    pub(super) fn keep_free_keys(&mut self, batch: &[NewMessage], free: Vec<(i32, Stored)>) {
        self.keep_once(batch, free, |message| message.unique.is_some());
    }

    /// What is to be stored, so many at a time.
    pub(super) fn kept(&mut self, mut batch: Vec<NewMessage>, chunk: usize) -> Vec<NewMessage> {
        if !self.duplicates.is_empty() {
            let kept = |(place, _): &(usize, NewMessage)| !self.duplicates.contains(place);
            batch = batch.into_iter().enumerate().filter(kept).map(|(_, message)| message).collect();
        }
        for chunk in batch.chunks(chunk) {
            let kinds = Kinds::of(chunk);
            self.firsts.extend(kinds.of.iter().map(|kind| chunk[kinds.firsts[*kind]].id));
        }
        batch
    }

    /// What was stored for whom.
    pub(super) fn add(&mut self, rows: Vec<(i32, Stored)>) {
        for (consumer, Stored { id, mark }) in rows {
            *self.consumers.entry(id).or_default() += 1;
            self.wake.insert(consumer);
            self.mark = mark;
        }
    }

    pub(super) fn finish(self) -> Appended {
        let mut firsts = self.firsts.iter();
        let mut consumers_of = |place| {
            let first = (!self.duplicates.contains(&place)).then(|| firsts.next()).flatten()?;
            Some(self.consumers.get(first).copied().unwrap_or_default())
        };
        Appended {
            consumers: (0..self.count).map(&mut consumers_of).collect(),
            wake: self.wake.into_iter().collect(),
            scheduled: self.scheduled,
            rang: self.rang,
            mark: self.mark,
        }
    }

    fn rest<'b>(&self, batch: &'b [NewMessage]) -> impl Iterator<Item = (usize, &'b NewMessage)> {
        batch.iter().enumerate().filter(|(place, _)| !self.duplicates.contains(place))
    }

    /// Of the messages meant, one of each id returned stays.
    fn keep_once(
        &mut self,
        batch: &[NewMessage],
        returned: Vec<(i32, Stored)>,
        meant: impl Fn(&NewMessage) -> bool,
    ) {
        let mut returned: HashSet<Id> = returned.into_iter().map(|(_, stored)| stored.id).collect();
        let dropped: Vec<usize> = self
            .rest(batch)
            .filter(|(_, message)| meant(message) && !returned.remove(&message.id))
            .map(|(place, _)| place)
            .collect();
        self.duplicates.extend(dropped);
    }
}
