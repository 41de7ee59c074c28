//! What is carried to other databases, and by whom.

/// What leads to another database: a consumer, to everybody who publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Stable, and unlike any consumer's name.
    pub name: String,
    /// Where to, as people call it.
    pub destination: String,
    /// What is carried there, by name and alias.
    pub messages: Vec<String>,
}

/// A relay of another database, as it says who it is when it delivers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRelay {
    /// The database the messages come from.
    pub source: String,
    /// Which of its relays,
    pub relay: i32,
    /// and whose turn it is: later ones have a higher one.
    pub epoch: i64,
}
