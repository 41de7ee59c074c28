//! Random choices that can be made again: the same seed, the same choices.

/// A source of them (`SplitMix64`).
#[derive(Debug, Clone)]
pub struct Choices(u64);

impl Choices {
    /// By a seed.
    pub fn of(seed: u64) -> Self {
        Choices(seed)
    }

    /// A seed that nobody chose.
    pub fn any_seed() -> u64 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(1, |now| now.as_secs() % 1_000_000)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From `low` up to and without `high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low)
    }

    /// One of them.
    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        let place = usize::try_from(self.next() % all.len() as u64).unwrap_or_default();
        all[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_choices_again() {
        let choose = |seed| {
            let mut choices = Choices::of(seed);
            (0..20).map(|_| choices.between(3, 9)).collect::<Vec<_>>()
        };
        assert_eq!(choose(7), choose(7));
        assert_ne!(choose(7), choose(8));
        assert!(choose(7).iter().all(|chosen| (3..9).contains(chosen)));
    }
}
