//! The expansion of `#[kernel]`.

use crate::bound::Bound;
use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{FnArg, ItemFn, ReturnType, Safety};

/// As many as `cuda_std::host::KernelArgs` has tuples for.
const MAX_PARAMETERS: usize = 24;

pub fn expand(bound: &Bound, function: &ItemFn) -> syn::Result<TokenStream> {
    check(function)?;
    let ItemFn {
        attrs,
        vis,
        sig,
        block,
        ..
    } = function;
    let name = &sig.ident;
    let name_text = name.to_string();
    let inputs = &sig.inputs;
    let types: Vec<_> = inputs
        .iter()
        .filter_map(|input| match input {
            FnArg::Typed(typed) => Some(&typed.ty),
            FnArg::Receiver(_) => None,
        })
        .collect();
    let numbers: Vec<_> = (0..types.len()).map(syn::Index::from).collect();
    let bound_value = bound.value();
    let marker = bound.marker().map(|text| {
        quote! {
            // SAFETY: a comment does nothing.
            unsafe { ::core::arch::asm!(#text) };
        }
    });
    Ok(quote! {
        #(#attrs)*
        #[cfg(target_arch = "nvptx64")]
        #[unsafe(no_mangle)]
        #vis unsafe extern "ptx-kernel" fn #name(#inputs) {
            #marker
            #block
        }

        #(#attrs)*
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(non_upper_case_globals)]
        #vis static #name: ::cuda_std::host::Kernel<(#(#types,)*)> = {
            #[allow(clippy::too_many_arguments)]
            unsafe fn #name(#inputs) #block
            unsafe fn thread(arguments: (#(#types,)*)) {
                // SAFETY: passed on to the caller.
                unsafe { #name(#(arguments.#numbers),*) }
            }
            ::cuda_std::host::Kernel::new(#name_text, #bound_value, thread)
        };
    })
}

fn check(function: &ItemFn) -> syn::Result<()> {
    let signature = &function.sig;
    let fail = |span: proc_macro2::Span, message: &str| Err(syn::Error::new(span, message));
    if !matches!(signature.safety, Safety::Unsafe(_)) {
        return fail(
            signature.span(),
            "a kernel must be an `unsafe fn`: its launch vouches for its pointers",
        );
    }
    if !signature.generics.params.is_empty() {
        return fail(
            signature.generics.span(),
            "a kernel cannot be generic: call a generic function from it",
        );
    }
    if !matches!(signature.output, ReturnType::Default) {
        return fail(
            signature.output.span(),
            "a kernel returns nothing: write results through a pointer",
        );
    }
    if signature.asyncness.is_some() || signature.constness.is_some() || signature.abi.is_some() {
        return fail(signature.span(), "a kernel is a plain `unsafe fn`");
    }
    if signature.inputs.len() > MAX_PARAMETERS {
        return fail(
            signature.inputs.span(),
            "a kernel has at most 24 parameters: pass a struct",
        );
    }
    for input in &signature.inputs {
        if let FnArg::Receiver(receiver) = input {
            return fail(receiver.span(), "a kernel cannot be a method");
        }
    }
    Ok(())
}
