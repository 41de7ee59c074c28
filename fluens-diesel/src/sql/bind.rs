//! How a value becomes a bind: lists are arrays on PostgreSQL and JSON on SQLite, which has no arrays.

use diesel::{
    QueryResult,
    backend::Backend,
    query_builder::AstPass,
    serialize::{self, Output, ToSql},
    sql_types as s,
};

use super::{Clock, OwnedClock};
use crate::{Id, Ts};

/// A value that can stand at a mark.
pub(crate) trait Bind<DB: Backend> {
    fn bind<'b>(&'b self, out: &mut AstPass<'_, 'b, DB>) -> QueryResult<()>;
}

/// Many values in one bind.
#[derive(Debug, Clone)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        List(Vec::new())
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        List(values.into_iter().collect())
    }
}

/// `clock_timestamp()`, not `now()`: the latter stands still inside a transaction.
pub(crate) trait Now: Backend + Sized {
    const NOW: &'static str;
}

pub(crate) fn push_now<'b, DB: Now>(clock: &'b Clock, out: &mut AstPass<'_, 'b, DB>) -> QueryResult<()>
where
    OwnedClock: Bind<DB>,
{
    match clock {
        Clock::Database => {
            out.push_sql(DB::NOW);
            Ok(())
        }
        Clock::Owned(clock) => clock.bind(out),
    }
}

macro_rules! binds {
    ($DB:ty; $($t:ty => $sql:ty),* $(,)?) => {$(
        impl Bind<$DB> for $t {
            fn bind<'b>(&'b self, out: &mut AstPass<'_, 'b, $DB>) -> QueryResult<()> {
                out.push_bind_param::<$sql, _>(self)
            }
        }
    )*};
}

#[cfg(feature = "postgres")]
mod postgres {
    use diesel::pg::Pg;

    use super::*;

    binds! { Pg;
        bool => s::Bool, i16 => s::SmallInt, i32 => s::Integer, i64 => s::BigInt, String => s::Text, Id => s::Uuid,
        Ts => s::Timestamptz, Vec<u8> => s::Binary, Option<i16> => s::Nullable<s::SmallInt>,
        Option<i32> => s::Nullable<s::Integer>, Option<i64> => s::Nullable<s::BigInt>, Option<Ts> => s::Nullable<s::Timestamptz>,
        Option<Id> => s::Nullable<s::Uuid>, Option<String> => s::Nullable<s::Text>, List<bool> => s::Array<s::Bool>,
        List<i16> => s::Array<s::SmallInt>, List<i32> => s::Array<s::Integer>, List<i64> => s::Array<s::BigInt>,
        List<Option<i64>> => s::Array<s::Nullable<s::BigInt>>, List<Option<Ts>> => s::Array<s::Nullable<s::Timestamptz>>,
        List<Id> => s::Array<s::Uuid>, List<String> => s::Array<s::Text>, List<Vec<u8>> => s::Array<s::Binary>,
        OwnedClock => s::Timestamptz,
    }

    impl ToSql<s::Timestamptz, Pg> for OwnedClock {
        fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
            ToSql::<s::Timestamptz, Pg>::to_sql(&self.now(), &mut out.reborrow())
        }
    }

    macro_rules! arrays {
        ($($t:ty => $sql:ty),* $(,)?) => {$(
            impl ToSql<s::Array<$sql>, Pg> for List<$t> {
                fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
                    <Vec<$t> as ToSql<s::Array<$sql>, Pg>>::to_sql(&self.0, out)
                }
            }
        )*};
    }
    arrays! {
        bool => s::Bool, i16 => s::SmallInt, i32 => s::Integer, i64 => s::BigInt, Option<i64> => s::Nullable<s::BigInt>,
        Option<Ts> => s::Nullable<s::Timestamptz>, Id => s::Uuid, String => s::Text, Vec<u8> => s::Binary,
    }

    impl Now for Pg {
        const NOW: &'static str = "clock_timestamp()";
    }
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use diesel::{serialize::IsNull, sqlite::Sqlite};

    use super::{AstPass, Bind, Id, List, Now, Output, OwnedClock, QueryResult, ToSql, Ts, s, serialize};

    binds! { Sqlite;
        bool => s::Bool, i16 => s::SmallInt, i32 => s::Integer, i64 => s::BigInt, String => s::Text, Id => s::Binary,
        Ts => s::BigInt, Vec<u8> => s::Binary, Option<i16> => s::Nullable<s::SmallInt>,
        Option<i64> => s::Nullable<s::BigInt>, Option<Ts> => s::Nullable<s::BigInt>,
        Option<Id> => s::Nullable<s::Binary>, Option<String> => s::Nullable<s::Text>,
        List<i16> => s::Text, List<i32> => s::Text, List<i64> => s::Text, List<Option<i64>> => s::Text,
        List<Id> => s::Text, List<String> => s::Text,
        OwnedClock => s::BigInt,
    }

    impl ToSql<s::BigInt, Sqlite> for OwnedClock {
        fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
            out.set_value(self.now().0.timestamp_micros());
            Ok(IsNull::No)
        }
    }

    macro_rules! json {
        ($($t:ty => |$v:ident| $json:expr),* $(,)?) => {$(
            impl ToSql<s::Text, Sqlite> for List<$t> {
                fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
                    let values: Vec<_> = self.0.iter().map(|$v| $json).collect();
                    out.set_value(serde_json::to_string(&values)?);
                    Ok(IsNull::No)
                }
            }
        )*};
    }
    // JSON has no bytes: ids travel as hex, and `unhex` reads them.
    json! {
        i16 => |v| v, i32 => |v| v, i64 => |v| v, Option<i64> => |v| v, String => |v| v,
        Id => |v| v.0.simple().to_string(),
    }

    impl Now for Sqlite {
        const NOW: &'static str = "CAST(unixepoch('subsec') * 1000000 AS INTEGER)";
    }
}
