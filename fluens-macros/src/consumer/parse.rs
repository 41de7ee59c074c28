//! The attribute's tokens and the function -> [`Raw`], in which every value has its type but nothing is
//! checked.

use proc_macro2::TokenStream;
use syn::{Ident, ItemFn, LitInt, LitStr, Type};

use super::{batch, retry};
use crate::{
    attribute::{Args, Given, Key},
    diagnostics::Errors,
    duration, payload,
};

const KEYS: &[Key] = &[
    Key::once("name", "`name = \"stock.reserve\"`"),
    Key::many("alias", "`alias = \"a.name.it.had\"`"),
    Key::once("module", "`module = path::to::Module`"),
    Key::once("lanes", "`lanes = 8`"),
    Key::once("timeout", "`timeout = \"10s\"`"),
    Key::once("own_transaction", "`own_transaction`"),
    Key::once(
        "retry",
        "`retry(memory = [\"100ms\", \"1s\"], stored = [\"1m\", \"5m\"])`, \
         `retry(exponential(base = \"1s\", max = \"5m\", times = 8))` or `retry(never)`",
    ),
    Key::once("order", "`order = Strict` or `order = Relaxed`"),
    Key::once("on_dead_letter", "`on_dead_letter = Continue`, `ParkKey` or `HaltSlot`"),
    Key::once("batch", "`batch(size = 100, linger = \"50ms\")`, or `batch` alone"),
];

pub(super) struct Raw {
    pub(super) function: ItemFn,
    pub(super) name: Option<LitStr>,
    pub(super) aliases: Vec<LitStr>,
    pub(super) module: Option<Type>,
    pub(super) lanes: Option<LitInt>,
    pub(super) timeout: Option<duration::Given>,
    pub(super) own_transaction: bool,
    pub(super) retry: Option<retry::Given>,
    pub(super) order: Option<Ident>,
    pub(super) on_dead_letter: Option<Given<Ident>>,
    pub(super) batch: Option<batch::Given>,
}

pub(super) fn raw(args: TokenStream, item: TokenStream, errors: &mut Errors) -> Option<Raw> {
    let function = syn::parse2(item.clone()).ok();
    if function.is_none() {
        errors.push(payload::first(item), "`#[consumer]` stands on an `async fn`");
    }
    let args = Args::parse("#[consumer]", KEYS, args, errors);
    Some(Raw {
        function: function?,
        name: args.value("name", errors),
        aliases: args.values("alias", errors),
        module: args.value("module", errors),
        lanes: args.value("lanes", errors),
        timeout: args.value("timeout", errors),
        own_transaction: args.flag("own_transaction", errors),
        retry: retry::given(&args, errors),
        order: args.value("order", errors),
        on_dead_letter: args.given("on_dead_letter", errors),
        batch: batch::given(&args, errors),
    })
}
