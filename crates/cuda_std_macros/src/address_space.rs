//! The expansions of `#[address_space]`, `#[gpu_only]` and `#[externally_visible]`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, Ident, ItemFn, ItemStatic, Lit, Meta, MetaNameValue, StaticMutability};

/// The prefix of a constant's symbol in rustc's IR. Its module, name and line follow, of which
/// cuda_builder makes the name in the PTX.
const CONSTANT_PREFIX: &str = "__cuda_std_constant.";

/// Bytes of static shared memory that a kernel can have.
const SHARED_LIMIT: usize = 48 << 10;

/// Puts a static into the memory that `space` names.
pub fn address_space(space: &Ident, item: &ItemStatic) -> syn::Result<TokenStream> {
    let (name, ty) = (&item.ident, &item.ty);
    // The simulator writes to the static before each block, whether it is `mut` or not.
    let in_writable_memory = quote! {
        #[cfg_attr(
            all(not(target_arch = "nvptx64"), not(target_vendor = "apple")),
            unsafe(link_section = ".data")
        )]
        #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__data"))]
    };
    match space.to_string().as_str() {
        "global" => Ok(quote!(#item)),
        "shared" => {
            let (fits, conditions) = (fits_shared_memory(item), conditions(item));
            Ok(quote! {
                #fits
                #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = ".shared.static"))]
                #in_writable_memory
                #item
                #(#conditions)*
                #[cfg(not(target_arch = "nvptx64"))]
                const _: () = {
                    #[::cuda_std::host::linkme::distributed_slice(::cuda_std::host::SHARED_STATICS)]
                    #[linkme(crate = ::cuda_std::host::linkme)]
                    static __CUDA_STD_SHARED_STATIC: ::cuda_std::host::SharedStatic =
                        ::cuda_std::host::SharedStatic::new::<#ty>((&raw const #name).cast_mut());
                };
            })
        }
        "constant" => Ok(constant(item)),
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

/// Returns the conditions of the static, which what comes with it has too.
fn conditions(item: &ItemStatic) -> Vec<&Attribute> {
    let attributes = item.attrs.iter();
    attributes
        .filter(|one| one.path().is_ident("cfg"))
        .collect()
}

/// Checks that the static alone is within the assembler's limit on a kernel's static shared memory.
fn fits_shared_memory(item: &ItemStatic) -> TokenStream {
    let (ty, conditions) = (&item.ty, conditions(item));
    let message = format!(
        "the shared static `{}` has more than 49152 bytes, the most static shared memory that a \
         kernel can have: use dynamic shared memory, whose size the launch gives",
        item.ident.unraw()
    );
    quote_spanned! {ty.span()=>
        #(#conditions)*
        const _: () = ::core::assert!(::core::mem::size_of::<#ty>() <= #SHARED_LIMIT, #message);
    }
}

/// Puts a static into constant memory. A `static mut` also gets a name in the PTX, by which the host
/// sets it, and registers with the host.
fn constant(item: &ItemStatic) -> TokenStream {
    let in_constant_memory = quote! {
        #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = ".constant"))]
    };
    if matches!(item.mutability, StaticMutability::None) {
        return match item.attrs.iter().any(is_no_mangle) {
            true => visible_constant(item),
            false => quote!(#in_constant_memory #item),
        };
    }
    let (name, conditions) = (&item.ident, conditions(item));
    let given = item.attrs.iter().find_map(export_name);
    let is_named = given.is_some() || item.attrs.iter().any(is_no_mangle);
    let name_text = given.unwrap_or_else(|| name.unraw().to_string());
    let visible = (!is_named).then(|| {
        quote!(#[cfg_attr(
            target_arch = "nvptx64",
            unsafe(export_name = ::core::concat!(
                #CONSTANT_PREFIX, ::core::module_path!(), "::", #name_text, ":", ::core::line!()
            ))
        )])
    });
    quote! {
        #in_constant_memory
        #visible
        #item
        #(#conditions)*
        #[cfg(not(target_arch = "nvptx64"))]
        const _: () = {
            #[::cuda_std::host::linkme::distributed_slice(::cuda_std::host::CONSTANT_STATICS)]
            #[linkme(crate = ::cuda_std::host::linkme)]
            static __CUDA_STD_CONSTANT_STATIC: ::cuda_std::host::ConstantStatic =
                ::cuda_std::host::ConstantStatic::new(
                    #name_text,
                    ::core::module_path!(),
                    &raw mut #name,
                );
        };
    }
}

/// Puts a `static` with a name in the PTX into constant memory, where programs that call the driver
/// may set it.
///
/// rustc replaces reads of an immutable static by its initial value. So kernels read it through a
/// declaration, which has none.
fn visible_constant(item: &ItemStatic) -> TokenStream {
    let ItemStatic {
        attrs,
        vis,
        ident,
        ty,
        expr,
        ..
    } = item;
    let other_attrs = attrs.iter().filter(|attribute| !is_no_mangle(attribute));
    let conditions = conditions(item);
    quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #item

        #[cfg(target_arch = "nvptx64")]
        unsafe extern "C" {
            #(#other_attrs)*
            #[allow(improper_ctypes)]
            #vis safe static #ident: #ty;
        }
        #(#conditions)*
        #[cfg(target_arch = "nvptx64")]
        const _: () = {
            #[unsafe(no_mangle)]
            #[unsafe(link_section = ".constant")]
            static mut #ident: #ty = #expr;
        };
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
    let message = format!("`{}` runs on a GPU only", sig.ident.unraw());
    quote! {
        #(#attrs)*
        #[cfg(target_arch = "nvptx64")]
        #vis #sig #block

        #(#attrs)*
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(unused_variables, unused_mut)]
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

/// Returns the name in `#[export_name = "…"]` or `#[unsafe(export_name = "…")]`.
fn export_name(attribute: &Attribute) -> Option<String> {
    let pair = match &attribute.meta {
        Meta::List(list) if list.path.is_ident("unsafe") => {
            syn::parse2::<MetaNameValue>(list.tokens.clone()).ok()?
        }
        Meta::NameValue(pair) => pair.clone(),
        _ => return None,
    };
    match pair.value {
        Expr::Lit(value) if pair.path.is_ident("export_name") => match value.lit {
            Lit::Str(name) => Some(name.value()),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the attribute is `#[no_mangle]` or `#[unsafe(no_mangle)]`.
fn is_no_mangle(attribute: &Attribute) -> bool {
    let no_mangle = |path: &syn::Path| path.is_ident("no_mangle");
    no_mangle(attribute.path())
        || matches!(&attribute.meta, Meta::List(list)
            if list.path.is_ident("unsafe")
                && syn::parse2(list.tokens.clone()).is_ok_and(|path| no_mangle(&path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn all_that_is_added_has_the_conditions_of_the_static() {
        let constant: ItemStatic = parse_quote! {
            #[cfg(some)]
            #[unsafe(no_mangle)]
            static TABLE: [u32; 4] = [0; 4];
        };
        let variable: ItemStatic = parse_quote!(
            #[cfg(some)]
            static mut TABLE: [u32; 4] = [0; 4];
        );
        for (space, item) in [
            ("shared", &variable),
            ("constant", &variable),
            ("constant", &constant),
        ] {
            let space = Ident::new(space, proc_macro2::Span::call_site());
            let tokens = address_space(&space, item).expect("no mistake");
            let file: syn::File = syn::parse2(tokens).expect("items");
            for added in &file.items {
                let attributes = match added {
                    syn::Item::Static(item) => &item.attrs,
                    syn::Item::Const(item) => &item.attrs,
                    // The declaration in it has the condition.
                    syn::Item::ForeignMod(_) => continue,
                    _ => panic!("another item"),
                };
                let is_condition = |one: &&Attribute| quote!(#one).to_string() == "# [cfg (some)]";
                assert_eq!(attributes.iter().filter(is_condition).count(), 1, "{space}");
            }
        }
    }
}
