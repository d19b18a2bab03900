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
    // What is compiled for a GPU has the kernels of the crate that was asked for. Those of kernel crates that it
    // depends on are in PTX of their own, and here functions that nobody calls.
    let in_ptx = if is_dependency() {
        quote! {
            #[allow(clippy::too_many_arguments)]
            #vis unsafe fn #name(#inputs) #block
        }
    } else {
        quote! {
            #[unsafe(no_mangle)]
            #vis unsafe extern "ptx-kernel" fn #name(#inputs) {
                #marker
                #block
            }
        }
    };
    Ok(quote! {
        #(#attrs)*
        #[cfg(target_arch = "nvptx64")]
        #in_ptx

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

/// Whether cargo compiles the crate for the sake of another one.
fn is_dependency() -> bool {
    std::env::var_os("CARGO").is_some() && std::env::var_os("CARGO_PRIMARY_PACKAGE").is_none()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What the macro says of `#[kernel(bound)] function`.
    fn complaint(bound: &str, function: &str) -> Option<String> {
        let bound = match syn::parse_str::<Bound>(bound) {
            Ok(bound) => bound,
            Err(error) => return Some(error.to_string()),
        };
        let function: ItemFn = syn::parse_str(function).expect("a function");
        expand(&bound, &function)
            .err()
            .map(|error| error.to_string())
    }

    #[test]
    fn other_functions_are_refused_with_the_reason() {
        let many = (0..25).map(|i| format!("p{i}: u32,")).collect::<String>();
        for (function, reason) in [
            ("fn k() {}", "must be an `unsafe fn`"),
            ("unsafe fn k<T>(x: T) {}", "cannot be generic"),
            ("unsafe fn k<'a>() {}", "cannot be generic"),
            ("unsafe fn k() -> u32 { 0 }", "returns nothing"),
            ("async unsafe fn k() {}", "a plain `unsafe fn`"),
            ("const unsafe fn k() {}", "a plain `unsafe fn`"),
            ("unsafe extern \"C\" fn k() {}", "a plain `unsafe fn`"),
            (
                &format!("unsafe fn k({many}) {{}}"),
                "at most 24 parameters",
            ),
            ("unsafe fn k(self) {}", "cannot be a method"),
        ] {
            let complaint = complaint("", function).unwrap_or_default();
            assert!(complaint.contains(reason), "{function}: {complaint}");
        }
        assert_eq!(complaint("", "unsafe fn k(x: u32, y: f32) {}"), None);
    }

    #[test]
    fn other_bounds_are_refused_with_the_reason() {
        for (bound, reason) in [
            ("block = 0", "expected 1 to 1024"),
            ("block = 1025", "expected 1 to 1024"),
            ("block = ()", "one to three dimensions"),
            ("block = (1, 1, 1, 1)", "one to three dimensions"),
            ("block = (32, 33)", "at most 1024 threads"),
            ("block = (1, 1, 65)", "along z is at most 64"),
            ("block = 32, block = 32", "unexpected argument"),
            ("max_block = 32, blocks = 2", "expected `min_blocks`"),
            ("threads = 32", "expected `block` or `max_block`"),
        ] {
            let complaint = complaint(bound, "unsafe fn k() {}").unwrap_or_default();
            assert!(complaint.contains(reason), "{bound}: {complaint}");
        }
        for bound in [
            "block = (8, 8,)",
            "max_block = 64,",
            "max_block = 64, min_blocks = 2",
        ] {
            assert_eq!(complaint(bound, "unsafe fn k() {}"), None, "{bound}");
        }
    }
}
