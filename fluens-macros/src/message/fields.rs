//! A field named in an attribute -> where it stands in the type, or the fields that were probably meant.

use syn::{Attribute, Data, DeriveInput, Fields, Ident, Variant};

use super::model::{Access, Place};
use crate::{cfg, diagnostics::Errors, names};

/// A struct, or one variant of an enum.
struct Part<'a> {
    cfgs: Vec<&'a Attribute>,
    variant: Option<&'a Ident>,
    fields: &'a Fields,
}

impl<'a> Part<'a> {
    fn place(&self, field: &Ident) -> Option<Place<'a>> {
        let found = self.fields.iter().find(|one| one.ident.as_ref() == Some(field))?;
        Some(Place { cfgs: self.cfgs.clone(), variant: self.variant, ty: &found.ty })
    }
}

pub(super) fn access<'a>(
    item: &'a DeriveInput,
    field: &'a Ident,
    inner: &'a [Ident],
    errors: &mut Errors,
) -> Option<Access<'a>> {
    let parts = parts(item);
    let places: Vec<_> = parts.iter().filter_map(|part| part.place(field)).collect();
    if places.is_empty() {
        errors.push(field, missing(item, field, &parts));
        return None;
    }
    if places.len() < parts.len() {
        errors.push(field, missing_in_some(field, &parts));
        return None;
    }
    Some(Access { field, inner, places })
}

fn parts(item: &DeriveInput) -> Vec<Part<'_>> {
    match &item.data {
        Data::Struct(data) => vec![Part { cfgs: Vec::new(), variant: None, fields: &data.fields }],
        Data::Enum(data) => data.variants.iter().map(variant).collect(),
        Data::Union(_) => Vec::new(),
    }
}

fn variant(variant: &Variant) -> Part<'_> {
    Part { cfgs: cfg::of(&variant.attrs), variant: Some(&variant.ident), fields: &variant.fields }
}

fn missing(item: &DeriveInput, field: &Ident, parts: &[Part<'_>]) -> String {
    let mut all: Vec<String> = Vec::new();
    for name in parts.iter().flat_map(|part| part.fields).filter_map(|field| field.ident.as_ref()) {
        if !all.contains(&name.to_string()) {
            all.push(name.to_string());
        }
    }
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let ident = &item.ident;
    let help = match all.as_slice() {
        [] => "it has no named fields at all; give it one".to_owned(),
        [only] => format!("its only field is `{only}`"),
        all => format!("its fields are {}", names::listed(&names::by_nearness(&field.to_string(), all))),
    };
    format!("`{ident}` has no field `{field}`\nhelp: {help}")
}

fn missing_in_some(field: &Ident, parts: &[Part<'_>]) -> String {
    let lacking = parts.iter().filter(|part| part.place(field).is_none()).filter_map(|part| part.variant);
    let lacking: Vec<String> = lacking.map(ToString::to_string).collect();
    let lacking: Vec<&str> = lacking.iter().map(String::as_str).collect();
    let variants = names::listed(&lacking);
    format!("not every variant has a field `{field}`\nhelp: give one to {variants}")
}
