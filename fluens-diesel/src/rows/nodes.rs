//! Nodes, and the slots they hold.

use std::time::Duration;

/// A process that wants to take part.
#[derive(Debug, Clone)]
pub struct NewNode {
    /// What it is called.
    pub name: String,
    /// Where it runs,
    pub host: String,
    /// and as which process there.
    pub process: String,
    /// What its connections are called.
    pub session: String,
    /// The version of its program.
    pub version: String,
    /// Silent for so long, it is taken for dead.
    pub lease: Duration,
    /// What it can run.
    pub knows: Vec<Knows>,
}

/// A consumer that a node can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knows {
    /// The consumer.
    pub consumer: i32,
    /// It reads its message up to this version,
    pub version: i32,
    /// under these names.
    pub messages: Vec<String>,
}

/// What came of joining.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Joined {
    /// As this node.
    As(i64),
    /// Another one has that name.
    NameTaken(Member),
}

/// A node that takes part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Drawn anew at every start.
    pub id: i64,
    /// What it is called.
    pub name: String,
    /// Where it runs,
    pub host: String,
    /// and as which process there.
    pub process: String,
    /// What its connections are called.
    pub session: String,
    /// When it must have beaten again, from the database's now; zero: it is overdue.
    pub overdue_in: Duration,
}

/// A slot of a consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotRow {
    /// The consumer,
    pub consumer: i32,
    /// and which of its slots.
    pub slot: i16,
    /// Who holds it.
    pub node: Option<i64>,
    /// Its last owner died: one of the messages up to here may have been the reason.
    pub suspect_until: Option<i64>,
    /// Its owner should know this version
    pub needs_version: i32,
    /// and this name.
    pub needs_message: Option<String>,
}

/// What a beat brings back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pulse {
    /// How often nodes and slots changed.
    pub generation: i64,
    /// Some node is overdue.
    pub some_overdue: bool,
}

/// All that a node must know to decide what is its share.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// Asked before the rest: what changes meanwhile has a later one.
    pub generation: i64,
    /// Who takes part.
    pub members: Vec<Member>,
    /// What each can run.
    pub knows: Vec<(i64, Knows)>,
    /// Who holds what.
    pub slots: Vec<SlotRow>,
    /// Consumers that stand still.
    pub paused: Vec<i32>,
}

/// What a node has got.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// The slots.
    pub slots: Vec<Granted>,
    /// Whoever takes any of them later has a higher one.
    pub generation: i64,
}

/// A slot that a node has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Granted {
    /// The consumer,
    pub consumer: i32,
    /// and which of its slots.
    pub slot: i16,
    /// Its last owner died: one of the messages up to here may have been the reason.
    pub suspect_until: Option<i64>,
}
