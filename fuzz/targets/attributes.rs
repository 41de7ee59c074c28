//! Whatever stands in a macro call, the answer is code that can be read, or errors; never a panic.
//!
//! An input: the macro's name, its arguments, and after a line `--` the item it stands on.
#![no_main]

use fluens_fuzz::{macros::Macro, parts};
use libfuzzer_sys::{Corpus, fuzz_target};
use proc_macro2::TokenStream;

fuzz_target!(|bytes: &[u8]| -> Corpus { expand(bytes).map_or(Corpus::Reject, |()| Corpus::Keep) });

/// `None`: it is no macro call that rustc would pass on.
fn expand(bytes: &[u8]) -> Option<()> {
    let (call, item) = parts::two(bytes);
    let (call, item) = (std::str::from_utf8(call).ok()?, std::str::from_utf8(item).ok()?);
    let (word, args) = call.split_once([' ', '\n']).unwrap_or((call, ""));
    let which = Macro::named(word)?;
    let (args, item) = (args.parse::<TokenStream>().ok()?, item.parse::<TokenStream>().ok()?);
    let is_item = which.takes_item() && syn::parse2::<syn::Item>(item.clone()).is_ok();

    let code = which.expand(args, item);

    if which == Macro::App {
        can_be_read::<syn::Expr>(&code);
    } else if is_item || !which.takes_item() {
        can_be_read::<syn::File>(&code);
    }
    Some(())
}

/// Otherwise rustc complains of our code, at a place that nobody wrote.
fn can_be_read<T: syn::parse::Parse>(code: &TokenStream) {
    if let Err(error) = syn::parse2::<T>(code.clone()) {
        let code = code.to_string();
        // The one keyword that syn takes for a path and not for a type.
        assert!(code.split_whitespace().any(|word| word == "try"), "{error}: {code}");
    }
}
