//! The arguments of `#[kernel(…)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Ident, LitInt, Token, parenthesized};

/// The bound on the shape of a block.
pub enum Bound {
    Any,
    Exactly {
        shape: [u32; 3],
        /// Blocks of a cluster.
        cluster: Option<u32>,
    },
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
            let shape = shape(input)?;
            let cluster = named(input, "cluster")?;
            if let Some(blocks) = cluster.filter(|&blocks| blocks > MAX_CLUSTER) {
                let message = format!("a cluster has at most {MAX_CLUSTER} blocks, not {blocks}");
                return Err(input.error(message));
            }
            Bound::Exactly { shape, cluster }
        } else if name == "max_block" {
            let threads = positive(&input.parse()?)?;
            let min_blocks = named(input, "min_blocks")?;
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

/// The most blocks of a cluster on every GPU that has clusters.
const MAX_CLUSTER: u32 = 8;

/// Reads `, name = number`, if more follows than a comma.
fn named(input: ParseStream<'_>, expected: &str) -> syn::Result<Option<u32>> {
    if input.parse::<Option<Token![,]>>()?.is_none() || input.is_empty() {
        return Ok(None);
    }
    let name: Ident = input.parse()?;
    if name != expected {
        return Err(syn::Error::new(
            name.span(),
            format!("expected `{expected}`"),
        ));
    }
    input.parse::<Token![=]>()?;
    positive(&input.parse()?).map(Some)
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
            Bound::Exactly {
                shape: [x, y, z],
                cluster,
            } => {
                let shape = quote!(::cuda_std::host::Dim3 { x: #x, y: #y, z: #z });
                match cluster {
                    None => quote!(::cuda_std::host::BlockBound::Exactly(#shape)),
                    Some(blocks) => quote!(::cuda_std::host::BlockBound::Cluster {
                        block: #shape,
                        blocks: #blocks,
                    }),
                }
            }
            Bound::AtMost { threads, .. } => quote!(::cuda_std::host::BlockBound::AtMost(#threads)),
        }
    }

    /// The comment by which cuda_builder learns of the bound; it removes it from the code.
    pub fn marker(&self) -> Option<String> {
        match self {
            Bound::Any => None,
            Bound::Exactly {
                shape: [x, y, z],
                cluster,
            } => {
                let cluster = cluster.map(|blocks| format!(" cluster_dim {blocks} 1 1"));
                let cluster = cluster.unwrap_or_default();
                Some(format!("// cuda_builder reqntid {x} {y} {z}{cluster}"))
            }
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
