//! The shape of a type's data: which fields its bytes have. A type comes in; the value that describes it to
//! the app goes out, which remembers it and says when it has changed.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Attribute, Data, DeriveInput, Expr, ExprLit, Field, Fields, Lit, Meta, Token, Variant, ext::IdentExt,
};

use crate::{cfg, types};

/// A `Shape { .. }`. A struct is an enum of one variant without a name.
pub(crate) fn tokens(item: &DeriveInput) -> TokenStream {
    let serde = serde_text(&item.attrs);
    let all_optional = Serde::of(&item.attrs).defaults;
    let variants = match &item.data {
        Data::Struct(data) => vec![variant_tokens("", &data.fields, all_optional)],
        Data::Enum(data) => data.variants.iter().filter_map(|one| variant(one, all_optional)).collect(),
        Data::Union(_) => Vec::new(),
    };
    quote!(::fluens::__private::Shape { serde: #serde, variants: &[#(#variants),*] })
}

/// As it is written: `rename_all`, `tag` and their like change the bytes of all fields.
fn serde_text(attributes: &[Attribute]) -> String {
    let lists = attributes.iter().filter(|attribute| attribute.path().is_ident("serde"));
    let texts: Vec<String> = lists
        .filter_map(|attribute| Some(types::written(&attribute.meta.require_list().ok()?.tokens)))
        .collect();
    texts.join(", ")
}

fn variant(variant: &Variant, all_optional: bool) -> Option<TokenStream> {
    let serde = Serde::of(&variant.attrs);
    if serde.skipped {
        return None;
    }
    let cfgs = cfg::of(&variant.attrs);
    let name = serde.renamed.unwrap_or_else(|| variant.ident.unraw().to_string());
    let tokens = variant_tokens(&name, &variant.fields, all_optional);
    Some(quote!(#(#cfgs)* #tokens))
}

fn variant_tokens(name: &str, fields: &Fields, all_optional: bool) -> TokenStream {
    let kept =
        fields.iter().map(|field| (field, Serde::of(&field.attrs))).filter(|(_, serde)| !serde.skipped);
    let fields = kept.enumerate().map(|(i, (one, serde))| field(i, one, serde, all_optional));
    quote!(::fluens::__private::Variant { name: #name, fields: &[#(#fields),*] })
}

/// A field of a tuple is called by its place.
fn field(place: usize, field: &Field, serde: Serde, all_optional: bool) -> TokenStream {
    let cfgs = cfg::of(&field.attrs);
    let own = || field.ident.as_ref().map_or_else(|| place.to_string(), |ident| ident.unraw().to_string());
    let name = serde.renamed.unwrap_or_else(own);
    let ty = types::written(&field.ty);
    let is_option = types::last_segment(&field.ty).is_some_and(|segment| segment.ident == "Option");
    let optional = all_optional || serde.defaults || is_option;
    quote!(#(#cfgs)* ::fluens::__private::Field { name: #name, ty: #ty, optional: #optional })
}

/// What serde's own attributes say that changes the bytes. What they get wrong, serde complains of.
#[derive(Default)]
struct Serde {
    renamed: Option<String>,
    skipped: bool,
    /// It need not be there.
    defaults: bool,
}

impl Serde {
    fn of(attributes: &[Attribute]) -> Self {
        let mut serde = Serde::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
            let all = syn::punctuated::Punctuated::<Meta, Token![,]>::parse_terminated;
            for meta in attribute.parse_args_with(all).into_iter().flatten() {
                serde.add(&meta);
            }
        }
        serde
    }

    fn add(&mut self, meta: &Meta) {
        let path = meta.path();
        if path.is_ident("skip") {
            self.skipped = true;
        } else if path.is_ident("default") || path.is_ident("skip_deserializing") {
            self.defaults = true;
        } else if path.is_ident("rename") {
            self.renamed = text(meta);
        }
    }
}

fn text(meta: &Meta) -> Option<String> {
    let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &meta.require_name_value().ok()?.value else {
        return None;
    };
    Some(text.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(item: &str) -> String {
        let code = tokens(&syn::parse_str(item).expect("an item"));
        types::written(code).replace("::fluens::__private::", "")
    }

    fn one(name: &str, ty: &str, optional: bool) -> String {
        format!("Field{{name:\"{name}\", ty:\"{ty}\", optional:{optional}}}")
    }

    #[test]
    fn a_struct_is_one_variant_without_a_name() {
        let fields = [one("order", "i64", false), one("type", "Vec<u8>", false)].join(", ");
        assert_eq!(
            shape("struct A { order: i64, r#type: Vec < u8 > }"),
            format!("Shape{{serde:\"\", variants:&[Variant{{name:\"\", fields:&[{fields}]}}]}}")
        );
        assert!(shape("struct A;").contains("fields:&[]"));
    }

    #[test]
    fn a_tuple_counts_what_is_not_skipped() {
        let text = shape("struct A(u8, #[serde(skip)] u16, String);");
        assert!(text.contains(&[one("0", "u8", false), one("1", "String", false)].join(", ")), "{text}");
    }

    #[test]
    fn what_need_not_be_there_is_optional() {
        for field in [
            "a: Option<u8>",
            "a: std::option::Option<u8>",
            "#[serde(default)] a: u8",
            "#[serde(with = \"x\", default = \"y\")] a: u8",
            "#[serde(skip_deserializing)] a: u8",
        ] {
            assert!(shape(&format!("struct A {{ {field} }}")).contains("optional:true"), "{field}");
        }
        assert!(shape("#[serde(default)] struct A { a: u8 }").contains("optional:true"));
        assert!(shape("struct A { a: Vec<Option<u8>> }").contains("optional:false"));
    }

    #[test]
    fn names_are_those_of_the_bytes() {
        let text = shape(
            "#[serde(tag=\"t\")] #[serde(rename_all = \"camelCase\")]
             enum A { #[serde(rename = \"b\")] B { #[serde(rename = \"x\")] c: u8 }, #[serde(skip)] D, E }",
        );
        assert!(text.starts_with(r#"Shape{serde:"tag = \"t\", rename_all = \"camelCase\"""#), "{text}");
        let fields = one("x", "u8", false);
        let b = format!("Variant{{name:\"b\", fields:&[{fields}]}}, Variant{{name:\"E\", fields:&[]}}");
        assert!(text.contains(&b), "{text}");
    }

    #[test]
    fn what_vanishes_takes_its_description_with_it() {
        let text = shape("enum A { #[cfg(x)] B(#[cfg(y)] u8) }");
        assert!(text.contains("#[cfg(x)]Variant") && text.contains("#[cfg(y)]Field"), "{text}");
    }
}
