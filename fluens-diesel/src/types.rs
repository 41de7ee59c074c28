//! One type for ids and one for times, on both databases.

use std::fmt;

use chrono::{DateTime, Utc};
use diesel::{
    backend::Backend,
    deserialize::{self, FromSql, FromSqlRow},
    expression::AsExpression,
    serialize::{self, Output, ToSql},
    sql_types,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// An identity: `uuid` on PostgreSQL, a 16-byte blob on SQLite. Made here it is a `UUIDv7`, which sorts by time roughly;
/// nothing in fluens is ordered by it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, AsExpression, FromSqlRow,
)]
#[diesel(sql_type = sql_types::Binary)]
#[cfg_attr(feature = "postgres", diesel(sql_type = sql_types::Uuid))]
#[serde(transparent)]
pub struct Id(pub Uuid);

impl Id {
    /// A new one.
    #[allow(clippy::new_without_default)] // a default identity would not be one
    pub fn new() -> Self {
        Id(Uuid::now_v7())
    }
}

impl From<Uuid> for Id {
    fn from(uuid: Uuid) -> Self {
        Id(uuid)
    }
}

impl std::str::FromStr for Id {
    type Err = uuid::Error;
    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        text.parse().map(Id)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An instant with the precision of both databases, a microsecond: `timestamptz` on PostgreSQL, microseconds since
/// 1970 on SQLite.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, AsExpression, FromSqlRow,
)]
#[diesel(sql_type = sql_types::BigInt)]
#[cfg_attr(feature = "postgres", diesel(sql_type = sql_types::Timestamptz))]
#[serde(transparent)]
pub struct Ts(pub DateTime<Utc>);

/// What a [`Ts`] is stored as, in statements of both databases.
#[derive(sql_types::SqlType)]
#[cfg_attr(feature = "postgres", diesel(postgres_type(oid = 1184, array_oid = 1185)))]
#[cfg_attr(feature = "sqlite", diesel(sqlite_type(name = "Long")))]
#[allow(unreachable_pub)] // a statement's row names it
pub struct Stamp;

/// What an [`Id`] is stored as, in statements of both databases.
#[derive(sql_types::SqlType)]
#[cfg_attr(feature = "postgres", diesel(postgres_type(oid = 2950, array_oid = 2951)))]
#[cfg_attr(feature = "sqlite", diesel(sqlite_type(name = "Binary")))]
#[allow(unreachable_pub)] // a statement's row names it
pub struct Uid;

impl Ts {
    pub(crate) fn of_micros(micros: i64) -> Self {
        Ts(DateTime::from_timestamp_micros(micros).unwrap_or(DateTime::<Utc>::MAX_UTC))
    }
}

impl fmt::Display for Ts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<DB: Backend> FromSql<sql_types::Binary, DB> for Id
where
    Vec<u8>: FromSql<sql_types::Binary, DB>,
{
    fn from_sql(value: DB::RawValue<'_>) -> deserialize::Result<Self> {
        Ok(Id(Uuid::from_slice(&Vec::<u8>::from_sql(value)?)?))
    }
}

impl<DB: Backend> FromSql<sql_types::BigInt, DB> for Ts
where
    i64: FromSql<sql_types::BigInt, DB>,
{
    fn from_sql(value: DB::RawValue<'_>) -> deserialize::Result<Self> {
        Ok(Ts::of_micros(i64::from_sql(value)?))
    }
}

impl<DB: Backend> ToSql<sql_types::Binary, DB> for Id
where
    [u8]: ToSql<sql_types::Binary, DB>,
{
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, DB>) -> serialize::Result {
        <[u8] as ToSql<sql_types::Binary, DB>>::to_sql(self.0.as_bytes(), out)
    }
}

#[cfg(feature = "sqlite")]
mod on_sqlite {
    use diesel::{serialize::IsNull, sqlite::Sqlite};

    use super::{Backend, FromSql, Id, Output, Stamp, ToSql, Ts, Uid, deserialize, serialize, sql_types};

    impl FromSql<Uid, Sqlite> for Id {
        fn from_sql(value: <Sqlite as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
            <Id as FromSql<sql_types::Binary, Sqlite>>::from_sql(value)
        }
    }

    impl FromSql<Stamp, Sqlite> for Ts {
        fn from_sql(value: <Sqlite as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
            <Ts as FromSql<sql_types::BigInt, Sqlite>>::from_sql(value)
        }
    }

    impl ToSql<sql_types::BigInt, Sqlite> for Ts {
        fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
            out.set_value(self.0.timestamp_micros());
            Ok(IsNull::No)
        }
    }
}

#[cfg(feature = "postgres")]
mod on_postgres {
    use diesel::pg::Pg;

    use super::*;

    impl ToSql<sql_types::Uuid, Pg> for Id {
        fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
            <Uuid as ToSql<sql_types::Uuid, Pg>>::to_sql(&self.0, out)
        }
    }

    impl FromSql<sql_types::Uuid, Pg> for Id {
        fn from_sql(value: <Pg as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
            <Uuid as FromSql<sql_types::Uuid, Pg>>::from_sql(value).map(Id)
        }
    }

    impl FromSql<Uid, Pg> for Id {
        fn from_sql(value: <Pg as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
            <Id as FromSql<sql_types::Uuid, Pg>>::from_sql(value)
        }
    }

    impl ToSql<sql_types::Timestamptz, Pg> for Ts {
        fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
            <DateTime<Utc> as ToSql<sql_types::Timestamptz, Pg>>::to_sql(&self.0, out)
        }
    }

    impl FromSql<Stamp, Pg> for Ts {
        fn from_sql(value: <Pg as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
            <Ts as FromSql<sql_types::Timestamptz, Pg>>::from_sql(value)
        }
    }

    impl FromSql<sql_types::Timestamptz, Pg> for Ts {
        fn from_sql(value: <Pg as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
            <DateTime<Utc> as FromSql<sql_types::Timestamptz, Pg>>::from_sql(value).map(Ts)
        }
    }
}
