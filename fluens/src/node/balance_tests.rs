//! Whatever joins, leaves and is met: slots end up evenly spread, with those who know what is in them, and stay there.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
struct World {
    /// Nodes and the version up to which they read.
    nodes: BTreeMap<i64, Knows>,
    slots: Vec<SlotRow>,
    paused: bool,
    whole: bool,
}

impl World {
    fn facts(&self) -> Facts<'_> {
        Facts {
            whole: self.whole,
            paused: self.paused,
            nodes: self.nodes.iter().map(|(node, knows)| (*node, knows)).collect(),
            slots: self.slots.iter().collect(),
        }
    }

    /// Every node does what it reckons, in this order, until none does anything more. Returns how many slots moved.
    fn settle(&mut self) -> usize {
        let mut moved = 0;
        for round in 0.. {
            assert!(round < 10, "they never come to rest");
            let before = moved;
            for node in self.nodes.keys().copied().collect::<Vec<_>>() {
                let Moves { take, give } = moves(&self.facts(), node);
                moved += take.len();
                for slot in take {
                    assert_eq!(self.slot(slot).node.replace(node), None);
                }
                for slot in give {
                    assert_eq!(self.slot(slot).node.take(), Some(node));
                    moved += 1;
                }
            }
            if moved == before {
                return moved;
            }
        }
        unreachable!()
    }

    fn slot(&mut self, slot: i16) -> &mut SlotRow {
        &mut self.slots[usize::try_from(slot).unwrap()]
    }

    fn remove(&mut self, node: i64) {
        self.nodes.remove(&node);
        for slot in self.slots.iter_mut().filter(|slot| slot.node == Some(node)) {
            slot.node = None;
        }
    }

    fn held_by(&self, node: i64) -> usize {
        self.slots.iter().filter(|slot| slot.node == Some(node)).count()
    }
}

fn knows(version: i32) -> Knows {
    Knows { consumer: 7, version, messages: vec!["a".into()] }
}

fn slots() -> Vec<SlotRow> {
    let slot = |slot| SlotRow {
        consumer: 7,
        slot,
        node: None,
        suspect_until: None,
        needs_version: 0,
        needs_message: None,
    };
    (0..i16::try_from(SLOTS).unwrap()).map(slot).collect()
}

fn world(nodes: impl IntoIterator<Item = i64>) -> World {
    let nodes = nodes.into_iter().map(|node| (node, knows(1))).collect();
    World { nodes, slots: slots(), paused: false, whole: false }
}

#[test]
fn one_that_joins_gets_its_part_and_nothing_else_moves() {
    let mut world = world([1, 2]);
    world.settle();
    assert_eq!((world.held_by(1), world.held_by(2)), (32, 32));
    world.nodes.insert(3, knows(1));
    // Given and taken: 21 slots move, and no other.
    assert_eq!(world.settle(), 42);
    let mut parts = [1, 2, 3].map(|node| world.held_by(node));
    parts.sort_unstable();
    assert_eq!(parts, [21, 21, 22]);
}

#[test]
fn what_one_leaves_behind_is_all_that_moves() {
    let mut world = world([1, 2, 3, 4]);
    world.settle();
    world.remove(2);
    assert_eq!(world.settle(), 16);
}

#[test]
fn a_slot_goes_to_those_who_know_what_is_in_it() {
    let mut world = world([1, 2]);
    world.nodes.insert(3, knows(2));
    world.settle();
    for slot in 0..40 {
        world.slot(slot).needs_version = 2;
    }
    world.settle();
    assert!((0..40).all(|slot| world.slot(slot).node == Some(3)), "beyond its part, if need be");
    world.remove(3);
    world.settle();
    assert!(
        world.slots.iter().all(|slot| slot.node.is_some()),
        "rather held by those who do not than by nobody"
    );
}

#[test]
fn what_is_paused_is_nobodys() {
    let mut world = world([1, 2]);
    world.settle();
    world.paused = true;
    world.settle();
    assert!(world.slots.iter().all(|slot| slot.node.is_none()));
    world.paused = false;
    world.settle();
    assert_eq!((world.held_by(1), world.held_by(2)), (32, 32));
}

#[test]
fn what_is_whole_has_one_owner_and_keeps_it() {
    let mut world = world([1, 2, 3]);
    world.whole = true;
    world.settle();
    let owner = world.slots[0].node.unwrap();
    assert_eq!(world.held_by(owner), 64);
    world.nodes.insert(4, knows(1));
    assert_eq!(world.settle(), 0, "nobody takes it from the one that has it");
    world.remove(owner);
    world.settle();
    assert_eq!(world.nodes.keys().filter(|node| world.held_by(**node) == 64).count(), 1);
}

#[test]
fn consumers_begin_with_different_nodes() {
    let first = |consumer| {
        let mut world = world([1, 2, 3]);
        world.whole = true;
        world.slots.iter_mut().for_each(|slot| slot.consumer = consumer);
        world.settle();
        world.slots[0].node
    };
    let owners: std::collections::BTreeSet<_> = (1..4).map(first).collect();
    assert_eq!(owners.len(), 3);
}

proptest! {
    #[test]
    fn whatever_happens_they_come_to_rest_evenly_and_with_those_who_know(
        versions in prop::collection::vec(1..4, 1..9),
        held in prop::collection::vec(prop::option::of(0_usize..9), 64),
        needs in prop::collection::vec(prop_oneof![9 => Just(0), 1 => 1..4], 64),
        whole: bool,
    ) {
        let nodes: BTreeMap<i64, Knows> = (1_i64..).zip(versions.into_iter().map(knows)).collect();
        let mut world = World { nodes, slots: slots(), paused: false, whole };
        for (slot, (held, needs)) in world.slots.iter_mut().zip(held.into_iter().zip(needs)) {
            slot.node = held.map(|at| i64::try_from(at % world.nodes.len() + 1).unwrap());
            slot.needs_version = needs;
        }
        world.settle();
        let newest = world.nodes.values().map(|knows| knows.version).max().unwrap();
        for slot in &world.slots {
            let owner = slot.node.expect("somebody has it");
            let version = world.nodes[&owner].version;
            prop_assert!(version >= slot.needs_version || newest < slot.needs_version);
        }
        if world.slots.iter().all(|slot| slot.needs_version <= 1) {
            let parts: Vec<usize> = world.nodes.keys().map(|node| world.held_by(*node)).collect();
            let (least, most) = (*parts.iter().min().unwrap(), *parts.iter().max().unwrap());
            prop_assert!(if whole { most == 64 } else { most - least <= 1 }, "{parts:?}");
        }
        prop_assert_eq!(world.settle(), 0);
    }

    #[test]
    fn a_death_moves_only_what_the_dead_one_had(count in 2_i64..9, dead in 1_i64..9) {
        let mut world = world(1..=count);
        world.settle();
        let dead = (dead - 1) % count + 1;
        let left = world.held_by(dead);
        world.remove(dead);
        prop_assert_eq!(world.settle(), left);
    }
}
