//! The expansion of `#[derive(DeviceParam)]`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Fields, GenericParam, Generics, Ident, parse_quote};

const INTEGERS: [&str; 10] = [
    "u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize",
];

pub fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    check(input)?;
    let name = &input.ident;
    let mut generics = bounded(&input.generics);
    let mut fields = Vec::new();
    if let Data::Struct(data) = &input.data {
        let predicates = &mut generics.make_where_clause().predicates;
        for field in &data.fields {
            let ty = &field.ty;
            // At the field, so that the compiler's complaint shows it.
            let predicate = quote_spanned!(field.span()=> #ty: ::cuda_std::DeviceParam);
            predicates.push(parse_quote!(#predicate));
        }
        let members = data.fields.members();
        fields.extend(
            members.map(
                |member| quote!(::cuda_std::DeviceParam::visit_addresses(&self.#member, visit);),
            ),
        );
    }
    let (parameters, arguments, conditions) = generics.split_for_impl();
    Ok(quote! {
        // SAFETY: `repr(C)` with fields that may all be parameters, or an enum that is an integer.
        unsafe impl #parameters ::cuda_std::DeviceParam for #name #arguments #conditions {
            #[cfg(not(target_arch = "nvptx64"))]
            #[allow(unused_variables)]
            fn visit_addresses(&self, visit: &mut dyn FnMut(usize)) {
                #(#fields)*
            }
        }
    })
}

/// The generics with what the trait asks of every type.
fn bounded(generics: &Generics) -> Generics {
    let mut generics = generics.clone();
    for parameter in &mut generics.params {
        if let GenericParam::Type(parameter) = parameter {
            parameter.bounds.push(parse_quote!(::core::marker::Copy));
            parameter.bounds.push(parse_quote!('static));
        }
    }
    generics
}

fn check(input: &DeriveInput) -> syn::Result<()> {
    let fail = |span: proc_macro2::Span, message: &str| Err(syn::Error::new(span, message));
    let layouts = layouts(input)?;
    let has_layout = |names: &[&str]| {
        layouts
            .iter()
            .any(|layout| names.iter().any(|n| layout == n))
    };
    if has_layout(&["packed"]) {
        return fail(
            input.ident.span(),
            "a kernel's parameter cannot be packed: its fields must be aligned",
        );
    }
    match &input.data {
        Data::Union(_) => fail(
            input.ident.span(),
            "a kernel's parameter cannot be a union: use a struct",
        ),
        Data::Enum(data) => {
            if let Some(variant) = data.variants.iter().find(|v| !is_unit(&v.fields)) {
                return fail(
                    variant.span(),
                    "an enum whose variants have fields cannot be a kernel's parameter: use a struct",
                );
            }
            if !has_layout(&INTEGERS) {
                return fail(
                    input.ident.span(),
                    "an enum that is a kernel's parameter needs a size: add `#[repr(u32)]`",
                );
            }
            Ok(())
        }
        Data::Struct(data) => {
            if !has_layout(&["C", "transparent"]) && !data.fields.is_empty() {
                return fail(
                    input.ident.span(),
                    "a kernel's parameter needs the same layout on the host and on the GPU: add \
                     `#[repr(C)]`",
                );
            }
            Ok(())
        }
    }
}

fn is_unit(fields: &Fields) -> bool {
    matches!(fields, Fields::Unit)
}

/// Returns the words of the `repr` attributes, without arguments.
fn layouts(input: &DeriveInput) -> syn::Result<Vec<Ident>> {
    let mut layouts = Vec::new();
    for attribute in input
        .attrs
        .iter()
        .filter(|attr| attr.path().is_ident("repr"))
    {
        attribute.parse_nested_meta(|meta| {
            layouts.extend(meta.path.get_ident().cloned());
            if meta.input.peek(syn::token::Paren) {
                let inner;
                syn::parenthesized!(inner in meta.input);
                inner.parse::<TokenStream>()?;
            }
            Ok(())
        })?;
    }
    Ok(layouts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the error for a type.
    fn complaint(text: &str) -> Option<String> {
        let input = syn::parse_str(text).expect("a type");
        expand(&input).err().map(|error| error.to_string())
    }

    #[test]
    fn other_types_are_refused_with_the_reason() {
        for (text, reason) in [
            ("struct S { x: u32 }", "add `#[repr(C)]`"),
            ("#[repr(align(8))] struct S(u32);", "add `#[repr(C)]`"),
            ("#[repr(C, packed)] struct S(u8, u32);", "cannot be packed"),
            (
                "#[repr(C, packed(2))] struct S(u8, u32);",
                "cannot be packed",
            ),
            ("#[repr(C)] union U { x: u32 }", "cannot be a union"),
            ("enum E { A, B }", "add `#[repr(u32)]`"),
            ("#[repr(C)] enum E { A, B }", "add `#[repr(u32)]`"),
            ("#[repr(u32)] enum E { A(u32), B }", "variants have fields"),
        ] {
            let complaint = complaint(text).unwrap_or_default();
            assert!(complaint.contains(reason), "{text}: {complaint}");
        }
        for text in [
            "#[repr(C)] struct S { x: u32 }",
            "#[repr(C, align(16))] struct S([u32; 4]);",
            "#[repr(C)] #[repr(align(16))] struct S<T>(DeviceSlice<T>) where T: Send;",
            "#[repr(transparent)] struct S(f32);",
            "#[repr(u8)] enum E { A, B = 7 }",
            "struct Nothing;",
            "struct Nothing {}",
            "struct Nothing();",
        ] {
            assert_eq!(complaint(text), None, "{text}");
        }
    }

    #[test]
    fn every_field_must_be_a_parameter() {
        let input =
            syn::parse_str("#[repr(C)] struct S<'a, T: Send, const N: usize>(T, &'a [T; N]);");
        let tokens = expand(&input.expect("a type")).expect("no mistake that the macro sees");
        let expected = quote! {
            unsafe impl<'a, T: Send + ::core::marker::Copy + 'static, const N: usize>
                ::cuda_std::DeviceParam for S<'a, T, N>
            where T: ::cuda_std::DeviceParam, &'a [T; N]: ::cuda_std::DeviceParam
        };
        assert!(tokens.to_string().starts_with(&expected.to_string()));
        let visits = quote!(::cuda_std::DeviceParam::visit_addresses(&self.1, visit));
        assert!(tokens.to_string().contains(&visits.to_string()));
    }
}
