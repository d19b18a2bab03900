//! The arguments of `#[kernel(…)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Ident, LitInt, Token, parenthesized};

/// The bound on the shape of a block.
pub enum Bound {
    Any,
    Exactly([u32; 3]),
    AtMost {
        threads: u32,
        min_blocks: Option<u32>,
    },
}

impl Parse for Bound {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.is_empty() {
            return Ok(Bound::Any);
        }
        let name: Ident = input.parse()?;
        input.parse::<Token![=]>()?;
        let bound = if name == "block" {
            Bound::Exactly(shape(input)?)
        } else if name == "max_block" {
            let threads = positive(&input.parse()?)?;
            let mut min_blocks = None;
            if input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
                let name: Ident = input.parse()?;
                if name != "min_blocks" {
                    return Err(syn::Error::new(name.span(), "expected `min_blocks`"));
                }
                input.parse::<Token![=]>()?;
                min_blocks = Some(positive(&input.parse()?)?);
            }
            Bound::AtMost {
                threads,
                min_blocks,
            }
        } else {
            return Err(syn::Error::new(
                name.span(),
                "expected `block` or `max_block`",
            ));
        };
        if !input.is_empty() {
            return Err(input.error("unexpected argument"));
        }
        Ok(bound)
    }
}

fn shape(input: ParseStream<'_>) -> syn::Result<[u32; 3]> {
    if input.peek(LitInt) {
        return Ok([positive(&input.parse()?)?, 1, 1]);
    }
    let inner;
    let parentheses = parenthesized!(inner in input);
    let fail = |message| Err(syn::Error::new(parentheses.span.join(), message));
    let sizes = Punctuated::<LitInt, Token![,]>::parse_terminated(&inner)?;
    if !(1..=3).contains(&sizes.len()) {
        return fail("a block has one to three dimensions");
    }
    let mut shape = [1; 3];
    for (axis, size) in shape.iter_mut().zip(&sizes) {
        *axis = positive(size)?;
    }
    if shape[2] > 64 {
        return fail("a block's size along z is at most 64");
    }
    let threads: u64 = shape.iter().map(|&size| u64::from(size)).product();
    if threads > 1024 {
        return fail("a block has at most 1024 threads");
    }
    Ok(shape)
}

fn positive(literal: &LitInt) -> syn::Result<u32> {
    match literal.base10_parse::<u32>()? {
        value @ 1..=1024 => Ok(value),
        _ => Err(syn::Error::new(literal.span(), "expected 1 to 1024")),
    }
}

impl Bound {
    /// The value of type `cuda_std::host::BlockBound`.
    pub fn value(&self) -> TokenStream {
        match self {
            Bound::Any => quote!(::cuda_std::host::BlockBound::Any),
            Bound::Exactly([x, y, z]) => quote!(::cuda_std::host::BlockBound::Exactly(
                ::cuda_std::host::Dim3 { x: #x, y: #y, z: #z }
            )),
            Bound::AtMost { threads, .. } => quote!(::cuda_std::host::BlockBound::AtMost(#threads)),
        }
    }

    /// The comment by which cuda_builder learns of the bound; it removes it from the code.
    pub fn marker(&self) -> Option<String> {
        match self {
            Bound::Any => None,
            Bound::Exactly([x, y, z]) => Some(format!("// cuda_builder reqntid {x} {y} {z}")),
            Bound::AtMost {
                threads,
                min_blocks,
            } => {
                let blocks = min_blocks
                    .map(|blocks| format!(" minctasm {blocks}"))
                    .unwrap_or_default();
                Some(format!("// cuda_builder maxntid {threads} 1 1{blocks}"))
            }
        }
    }
}
