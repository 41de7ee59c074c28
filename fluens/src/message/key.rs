//! Partition keys and their stable hash. What is hashed here is stored: it must never change (see the golden vectors).

use std::hash::Hasher;

use fluens_diesel::{Id, SLOTS};
use uuid::Uuid;

/// A partition key as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// FNV-1a over the key's canonical bytes: what keeps messages of one key together.
    pub hash: u64,
    /// The key as people read it.
    pub text: String,
}

/// What can be a partition key: integers, strings and uuids.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key",
    label = "not usable as a key",
    note = "keys are integers, strings and uuids"
)]
pub trait PartitionKey {
    /// The key of this value. Equal values have equal keys, whatever the width of the integer.
    fn to_key(&self) -> Key;
}

/// FNV-1a, 64 bits.
///
/// ```
/// assert_eq!(fluens::stable_hash(b"a"), 0xaf63_dc4c_8601_ec8c);
/// ```
pub fn stable_hash(bytes: &[u8]) -> u64 {
    let mut hasher = fnv::FnvHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

/// The slot of a hash.
pub(crate) fn slot(hash: u64) -> u16 {
    u16::try_from(hash % u64::from(SLOTS)).expect("less than SLOTS")
}

/// The same as rows have it.
pub(crate) fn stored_slot(hash: u64) -> i16 {
    i16::try_from(slot(hash)).expect("fewer than 32768 slots")
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        /// Widened to 128 bits, so that an `i32` field that becomes an `i64` keeps its keys.
        impl PartitionKey for $t {
            fn to_key(&self) -> Key {
                Key { hash: stable_hash(&i128::from(*self).to_le_bytes()), text: self.to_string() }
            }
        }
    )*};
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

impl PartitionKey for str {
    fn to_key(&self) -> Key {
        Key { hash: stable_hash(self.as_bytes()), text: self.to_owned() }
    }
}

impl PartitionKey for String {
    fn to_key(&self) -> Key {
        self.as_str().to_key()
    }
}

impl PartitionKey for Uuid {
    fn to_key(&self) -> Key {
        Key { hash: stable_hash(self.as_bytes()), text: self.to_string() }
    }
}

impl PartitionKey for Id {
    fn to_key(&self) -> Key {
        self.0.to_key()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Stored rows depend on these. A change here loses the order of messages that are on their way.
    #[test]
    fn golden_vectors() {
        let uuid = Uuid::from_u128(0x0192_f3a0_7c1e_7000_8000_0000_0000_0001);
        let vectors: [(Key, u64, u16); 9] = [
            ("".to_key(), 0xcbf2_9ce4_8422_2325, 37),
            ("a".to_key(), 0xaf63_dc4c_8601_ec8c, 12),
            ("foobar".to_key(), 0x8594_4171_f739_67e8, 40),
            ("Grüße".to_key(), 0x20e7_2e11_e324_b0b8, 56),
            (0_i32.to_key(), 0x8820_1fb9_60ff_6465, 37),
            (7_i32.to_key(), 0x9b25_de61_27c0_1ba2, 34),
            ((-1_i64).to_key(), 0xd660_7508_f5a1_e855, 21),
            (u64::MAX.to_key(), 0x780d_5836_6969_31dd, 29),
            (uuid.to_key(), 0x0ba4_918e_0add_9be0, 32),
        ];
        for (key, hash, in_slot) in vectors {
            assert_eq!((key.hash, slot(key.hash)), (hash, in_slot), "{key:?}");
        }
    }

    proptest! {
        #[test]
        fn the_width_of_an_integer_does_not_matter(n: i32) {
            prop_assert_eq!(n.to_key(), i64::from(n).to_key());
        }

        #[test]
        fn an_id_is_its_uuid(n: u128) {
            prop_assert_eq!(Id(Uuid::from_u128(n)).to_key(), Uuid::from_u128(n).to_key());
        }

        #[test]
        fn every_hash_has_a_slot(hash: u64) {
            prop_assert!(slot(hash) < SLOTS);
        }
    }
}
