//! The expansions of `#[address_space]`, `#[gpu_only]` and `#[externally_visible]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Ident, ItemFn, ItemStatic, Meta};

/// Puts a static into the memory that `space` names.
pub fn address_space(space: &Ident, item: &ItemStatic) -> syn::Result<TokenStream> {
    let (name, ty) = (&item.ident, &item.ty);
    match space.to_string().as_str() {
        "global" => Ok(quote!(#item)),
        "shared" => Ok(quote! {
            #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = ".shared.static"))]
            #item
            #[cfg(not(target_arch = "nvptx64"))]
            const _: () = {
                #[::cuda_std::host::linkme::distributed_slice(::cuda_std::host::SHARED_STATICS)]
                #[linkme(crate = ::cuda_std::host::linkme)]
                static __CUDA_STD_SHARED_STATIC: ::cuda_std::host::SharedStatic =
                    ::cuda_std::host::SharedStatic::new::<#ty>((&raw const #name).cast_mut());
            };
        }),
        "constant" => Ok(quote! {
            #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = ".constant"))]
            #item
        }),
        "local" => Err(syn::Error::new(
            space.span(),
            "a static cannot be in local memory, which each thread has for itself: use a variable",
        )),
        _ => Err(syn::Error::new(
            space.span(),
            "expected `global`, `shared` or `constant`",
        )),
    }
}

/// Leaves the function to the GPU. On the host, calls of it panic.
pub fn gpu_only(item: &ItemFn) -> TokenStream {
    let ItemFn {
        attrs,
        vis,
        sig,
        block,
        ..
    } = item;
    let message = format!("`{}` runs on a GPU only", sig.ident);
    quote! {
        #(#attrs)*
        #[cfg(target_arch = "nvptx64")]
        #vis #sig #block

        #(#attrs)*
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(unused_variables)]
        #vis #sig {
            ::core::panic!(#message)
        }
    }
}

/// Checks that the function has a name in the PTX, where it then is visible.
pub fn externally_visible(item: &ItemFn) -> syn::Result<TokenStream> {
    if !item.attrs.iter().any(is_no_mangle) {
        return Err(syn::Error::new(
            item.sig.ident.span(),
            "a function that is visible in the PTX needs a name there: add `#[unsafe(no_mangle)]`",
        ));
    }
    Ok(quote!(#item))
}

/// Whether the attribute is `#[no_mangle]` or `#[unsafe(no_mangle)]`.
fn is_no_mangle(attribute: &Attribute) -> bool {
    let no_mangle = |path: &syn::Path| path.is_ident("no_mangle");
    no_mangle(attribute.path())
        || matches!(&attribute.meta, Meta::List(list)
            if list.path.is_ident("unsafe")
                && syn::parse2(list.tokens.clone()).is_ok_and(|path| no_mangle(&path)))
}
