//! The connection for the node's own statements.

use std::ops::{Deref, DerefMut};

use fluens_diesel::Store;

use crate::{Error, app::Database};

/// One's own, or the one there is.
pub(super) enum Line<'a, S: Store> {
    Own(&'a mut S::Conn),
    /// In memory there is one for all.
    Shared(S::Guard),
}

pub(super) async fn line<'a, S: Store>(
    wire: &'a mut Option<S::Wire>,
    db: &Database<S>,
    alone: bool,
) -> Result<Line<'a, S>, Error> {
    match wire {
        Some(wire) => Ok(Line::Own(S::conn(wire))),
        None if alone => Ok(Line::Shared(db.writer().await?)),
        None => Err(Error::Unavailable("the node's connection is gone".into())),
    }
}

impl<S: Store> Deref for Line<'_, S> {
    type Target = S::Conn;
    fn deref(&self) -> &S::Conn {
        match self {
            Line::Own(conn) => conn,
            Line::Shared(guard) => guard,
        }
    }
}

impl<S: Store> DerefMut for Line<'_, S> {
    fn deref_mut(&mut self) -> &mut S::Conn {
        match self {
            Line::Own(conn) => conn,
            Line::Shared(guard) => guard,
        }
    }
}
