//! Text with `{marks}`, and the macro that makes a Diesel query of it.

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
                mut out: diesel::query_builder::AstPass<'_, 'b, $DB>,
            ) -> diesel::QueryResult<()> {
                use $crate::sql::{bind::push_now, template::{Piece, pieces}};
                for piece in pieces($crate::failpoint::guarded!($template)) {
                    match piece {
                        Piece::Text(text) => out.push_sql(text),
                        Piece::Mark("fluens") => out.push_sql(&self.tables.prefix()),
                        Piece::Mark("now") => push_now(self.tables.clock(), &mut out)?,
                        $(Piece::Mark(stringify!($field)) => $crate::sql::bind::Bind::<$DB>::bind(&self.$field, &mut out)?,)*
                        Piece::Mark(other) => unreachable!("{} has no field {other}", stringify!($name)),
                    }
                }
                Ok(())
            }
        }
    };
}

pub(crate) use {fields, fragment, statement};
