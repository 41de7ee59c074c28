//! Which of the waiting messages goes first.

/// The priority of a message. Order by key holds within a priority; a higher one may overtake a lower one.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize,
)]
pub enum Priority {
    /// After everything else.
    Low,
    /// The default.
    #[default]
    Normal,
    /// Before normal ones.
    High,
    /// Before everything else.
    Critical,
}

impl Priority {
    pub(crate) fn stored(self) -> i16 {
        self as i16
    }

    /// Only these four are stored; a row of another would be a newer node's, and is left to it.
    pub(crate) fn of_stored(stored: i16) -> Self {
        match stored {
            i16::MIN..=0 => Self::Low,
            1 => Self::Normal,
            2 => Self::High,
            3.. => Self::Critical,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Priority;

    #[test]
    fn what_is_stored_reads_back() {
        for priority in [Priority::Low, Priority::Normal, Priority::High, Priority::Critical] {
            assert_eq!(Priority::of_stored(priority.stored()), priority);
        }
    }
}
