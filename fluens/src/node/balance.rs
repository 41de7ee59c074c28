//! Who should hold which slots: a pure function of what a survey found. Every node reckons for itself; two that saw
//! different things want different things for a moment, but only what is free is ever taken, and what is held is given
//! by its holder alone.

use std::collections::BTreeMap;

use fluens_diesel::{Knows, SLOTS, SlotRow};

/// A consumer, as a survey found it.
#[derive(Debug, Clone)]
pub(super) struct Facts<'a> {
    /// It belongs to one node as a whole.
    pub(super) whole: bool,
    /// Nobody holds anything of it.
    pub(super) paused: bool,
    /// The nodes that can run it, by id.
    pub(super) nodes: Vec<(i64, &'a Knows)>,
    /// Its slots.
    pub(super) slots: Vec<&'a SlotRow>,
}

/// What one node does about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Moves {
    /// Free, and its own from now on.
    pub(super) take: Vec<i16>,
    /// Its own, and to be another's.
    pub(super) give: Vec<i16>,
}

/// What `node` does to bring about what should be.
pub(super) fn moves(facts: &Facts<'_>, node: i64) -> Moves {
    let mut moves = Moves::default();
    for (slot, should) in facts.slots.iter().zip(owners(facts)) {
        match (slot.node, should) {
            (None, Some(should)) if should == node => moves.take.push(slot.slot),
            (Some(is), should) if is == node && should != Some(node) => moves.give.push(slot.slot),
            _ => {}
        }
    }
    moves
}

/// Who should hold each slot. As even as can be; and whoever holds one keeps it, unless that is more than its part or
/// others know messages there that it does not.
pub(super) fn owners(facts: &Facts<'_>) -> Vec<Option<i64>> {
    let mut room = if facts.paused { BTreeMap::new() } else { rooms(facts) };
    let mut owners = vec![None; facts.slots.len()];
    for (owner, slot) in owners.iter_mut().zip(&facts.slots) {
        if let Some(held_by) = slot.node
            && may_hold(facts, slot, held_by)
            && let Some(left) = room.get_mut(&held_by).filter(|left| **left > 0)
        {
            *left -= 1;
            *owner = Some(held_by);
        }
    }
    // Those that only some may hold choose first.
    let mut rest: Vec<usize> = (0..owners.len()).filter(|at| owners[*at].is_none()).collect();
    rest.sort_by_key(|at| {
        facts.nodes.iter().filter(|(node, _)| may_hold(facts, facts.slots[*at], *node)).count()
    });
    for at in rest {
        let may = room.iter_mut().filter(|(node, _)| may_hold(facts, facts.slots[at], **node));
        // Beyond its part rather than held by nobody.
        if let Some((node, left)) = may.max_by_key(|(_, left)| **left) {
            *left -= 1;
            owners[at] = Some(*node);
        }
    }
    owners
}

/// How many slots each node may have. Where they cannot be divided evenly, those that have more keep more; after that
/// every consumer begins with another node.
fn rooms(facts: &Facts<'_>) -> BTreeMap<i64, i32> {
    let count = facts.nodes.len().max(1);
    let consumer = facts.slots.first().map_or(0, |slot| slot.consumer.unsigned_abs() as usize);
    let holds = |node: i64| facts.slots.iter().filter(|slot| slot.node == Some(node)).count();
    let mut nodes: Vec<(usize, i64)> = facts.nodes.iter().map(|(node, _)| *node).enumerate().collect();
    nodes.sort_by_key(|(at, node)| (std::cmp::Reverse(holds(*node)), (at + consumer) % count));
    let all = usize::from(SLOTS);
    let part = |place: usize| match (facts.whole, place) {
        (true, 0) => all,
        (true, _) => 0,
        (false, place) => all / count + usize::from(place < all % count),
    };
    let part = |(place, (_, node)): (usize, (usize, i64))| (node, i32::try_from(part(place)).unwrap_or(0));
    nodes.into_iter().enumerate().map(part).collect()
}

/// Whether the node knows what was met there; if nobody does, all may: what else is there goes on.
fn may_hold(facts: &Facts<'_>, slot: &SlotRow, node: i64) -> bool {
    let knows = |knows: &Knows| {
        knows.version >= slot.needs_version
            && slot.needs_message.as_ref().is_none_or(|message| knows.messages.contains(message))
    };
    let mut capable = facts.nodes.iter().filter(|(_, of)| knows(of)).map(|(node, _)| *node).peekable();
    match capable.peek() {
        Some(_) => capable.any(|capable| capable == node),
        None => facts.nodes.iter().any(|(known, _)| *known == node),
    }
}

#[cfg(test)]
#[path = "balance_tests.rs"]
mod tests;
