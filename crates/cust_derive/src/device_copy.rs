//! The expansion of `#[derive(DeviceCopy)]`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DataEnum, DeriveInput, Field, Fields, Index, Member, Type, parse_quote};

/// The layouts of an enum without fields that say where its number is, and its size.
const DEFINED: [&str; 13] = [
    "C", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize",
];

/// `device_copy` is the path of the trait. The variable `__cust_bytes` has a prefix because a static
/// of the same name in the struct's module would be taken for a pattern.
pub fn expand(input: &DeriveInput, device_copy: &TokenStream) -> syn::Result<TokenStream> {
    let name = &input.ident;
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(#device_copy));
    }
    let check = match &input.data {
        Data::Struct(data) => fields_check(&data.fields, device_copy),
        Data::Enum(data) => enum_check(data, has_defined_layout(input)?, device_copy),
        // Its bytes may be any.
        Data::Union(data) => {
            let required = data
                .fields
                .named
                .iter()
                .map(|field| required(field, device_copy));
            quote!(#(#required)* true)
        }
    };
    let (parameters, arguments, conditions) = generics.split_for_impl();
    Ok(quote! {
        // SAFETY: all fields may be copied, and `is_value` checks them.
        #[automatically_derived]
        unsafe impl #parameters #device_copy for #name #arguments #conditions {
            fn is_value(__cust_bytes: &[u8]) -> bool {
                let _ = __cust_bytes;
                #check
            }
        }
    })
}

/// Whether each field is a value. It names the trait for each field, so other types do not compile.
/// Conditions on the impl would do that too, but a type that has a pointer to itself would then be
/// a condition of itself.
fn fields_check(fields: &Fields, device_copy: &TokenStream) -> TokenStream {
    let checks = fields.iter().enumerate().map(|(index, field)| {
        let ty: &Type = &field.ty;
        let member = match &field.ident {
            Some(name) => Member::Named(name.clone()),
            None => Member::Unnamed(Index::from(index)),
        };
        // At the field, so that the compiler's complaint shows it.
        quote_spanned! {ty.span()=>
            <#ty as #device_copy>::is_value(
                &__cust_bytes[::core::mem::offset_of!(Self, #member)..]
                    [..::core::mem::size_of::<#ty>()]
            )
        }
    });
    quote!(true #(&& #checks)*)
}

fn enum_check(data: &DataEnum, is_defined: bool, device_copy: &TokenStream) -> TokenStream {
    let fields = data.variants.iter().flat_map(|variant| &variant.fields);
    let required = fields.map(|field| required(field, device_copy));
    let is_number = data
        .variants
        .iter()
        .all(|variant| matches!(variant.fields, Fields::Unit));
    if !is_number || !is_defined {
        return quote!(#(#required)* false);
    }
    let variants = data.variants.iter().map(|variant| &variant.ident);
    quote! {
        // Machines with GPUs have little-endian numbers.
        false #(|| __cust_bytes
            == &(Self::#variants as i128).to_le_bytes()[..__cust_bytes.len()])*
    }
}

/// Does not compile unless the field's type has the trait.
fn required(field: &Field, device_copy: &TokenStream) -> TokenStream {
    let ty = &field.ty;
    quote_spanned!(ty.span()=> let _: fn(&[u8]) -> bool = <#ty as #device_copy>::is_value;)
}

/// Whether a `repr` defines the layout of an enum without fields.
fn has_defined_layout(input: &DeriveInput) -> syn::Result<bool> {
    let mut is_defined = false;
    let of_layout = |attribute: &&syn::Attribute| attribute.path().is_ident("repr");
    for attribute in input.attrs.iter().filter(of_layout) {
        attribute.parse_nested_meta(|meta| {
            is_defined |= DEFINED.iter().any(|name| meta.path.is_ident(name));
            if meta.input.peek(syn::token::Paren) {
                let inner;
                syn::parenthesized!(inner in meta.input);
                inner.parse::<TokenStream>()?;
            }
            Ok(())
        })?;
    }
    Ok(is_defined)
}
