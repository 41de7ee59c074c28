//! Text with `{marks}`, and the macro that makes a Diesel query of it.

use diesel::{QueryResult, query_builder::AstPass};

use super::{
    OwnedClock, Tables,
    bind::{Bind, Now, push_now},
};

/// A piece of a template.
pub(crate) enum Piece<'a> {
    Text(&'a str),
    Mark(&'a str),
}

/// The pieces of a template, in order.
pub(crate) fn pieces(template: &str) -> impl Iterator<Item = Piece<'_>> {
    template.split('{').enumerate().flat_map(|(n, part)| match (n, part.split_once('}')) {
        (0, _) | (_, None) => [Piece::Text(part), Piece::Text("")],
        (_, Some((mark, text))) => [Piece::Mark(mark), Piece::Text(text)],
    })
}

/// A piece of a statement. Its text is read once: Diesel walks over it several times whenever it is run.
pub(crate) enum Part {
    Text(&'static str),
    Prefix,
    Now,
    /// The place of a field.
    Field(usize),
}

pub(crate) fn parts(template: &'static str, fields: &[&str]) -> Vec<Part> {
    let part = |piece| match piece {
        Piece::Text(text) => Part::Text(text),
        Piece::Mark("fluens") => Part::Prefix,
        Piece::Mark("now") => Part::Now,
        Piece::Mark(mark) => match fields.iter().position(|field| *field == mark) {
            Some(place) => Part::Field(place),
            None => unreachable!("no field {mark} in: {template}"),
        },
    };
    pieces(template).map(part).filter(|part| !matches!(part, Part::Text(""))).collect()
}

/// Walks over a statement whose fields are `binds`.
pub(crate) fn walk<'b, DB>(
    parts: &[Part],
    tables: &'b Tables,
    binds: &[&'b dyn Bind<DB>],
    mut out: AstPass<'_, 'b, DB>,
) -> QueryResult<()>
where
    DB: Now,
    OwnedClock: Bind<DB>,
{
    for part in parts {
        match part {
            Part::Text(text) => out.push_sql(text),
            Part::Prefix => tables.prefix_parts().into_iter().for_each(|text| out.push_sql(text)),
            Part::Now => push_now(tables.clock(), &mut out)?,
            Part::Field(place) => binds[*place].bind(&mut out)?,
        }
    }
    Ok(())
}

/// Declares a statement: its fields are its binds, `-> (..)` the types of its rows.
macro_rules! statement {
    (
        $(#[$doc:meta])*
        $name:ident $fields:tt $(-> ($($out:ty),+ $(,)?))?
        $(, postgres: $postgres:expr)? $(, sqlite: $sqlite:expr)? $(,)?
    ) => {
        $crate::sql::template::fields!($(#[$doc])* $name $fields);

        // No static id: the text, which holds the schema's name, is the key of the statement cache.
        impl diesel::query_builder::QueryId for $name {
            type QueryId = ();
            const HAS_STATIC_QUERY_ID: bool = false;
        }

        impl<C> diesel::RunQueryDsl<C> for $name {}

        $(impl diesel::query_builder::Query for $name { type SqlType = ($($out,)+); })?

        $(
            #[cfg(feature = "postgres")]
            $crate::sql::template::fragment!($name $fields, diesel::pg::Pg, $postgres);
        )?
        $(
            #[cfg(feature = "sqlite")]
            $crate::sql::template::fragment!($name $fields, diesel::sqlite::Sqlite, $sqlite);
        )?
    };
}

macro_rules! fields {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $ty:ty),* $(,)? }) => {
        $(#[$doc])*
        #[allow(unreachable_pub)] // the dialects name some of them as associated types
        pub struct $name {
            pub(crate) tables: $crate::Tables,
            $(pub(crate) $field: $ty),*
        }
    };
}

macro_rules! fragment {
    ($name:ident { $($field:ident: $ty:ty),* $(,)? }, $DB:ty, $template:expr) => {
        impl diesel::query_builder::QueryFragment<$DB> for $name {
            fn walk_ast<'b>(
                &'b self,
                out: diesel::query_builder::AstPass<'_, 'b, $DB>,
            ) -> diesel::QueryResult<()> {
                use $crate::sql::template::{Part, parts, walk};
                static PARTS: std::sync::LazyLock<Vec<Part>> = std::sync::LazyLock::new(|| {
                    parts($crate::failpoint::guarded!($template), &[$(stringify!($field)),*])
                });
                walk::<$DB>(&PARTS, &self.tables, &[$(&self.$field),*], out)
            }
        }
    };
}

pub(crate) use {fields, fragment, statement};
