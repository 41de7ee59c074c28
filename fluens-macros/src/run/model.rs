//! What is known about an app once everything is checked: expansion cannot fail.

use syn::{Expr, ExprClosure, Path};

pub(super) struct Model<'a> {
    /// No module twice. Empty: `Main`.
    pub(super) modules: Vec<&'a Path>,
    /// What these modules publish must be consumed by one of them. Not so if `..` says that others run
    /// elsewhere.
    pub(super) check: bool,
    /// What runs around every consumer of every module, the outermost first.
    pub(super) intercepts: Vec<&'a Expr>,
    pub(super) setup: Option<&'a ExprClosure>,
    pub(super) work: Option<&'a ExprClosure>,
}
