//! The derive macro `DeviceCopy` of `cust` and of `cust_core`.

mod device_copy;

use proc_macro::TokenStream;

/// Implements `cust::memory::DeviceCopy` for a struct, an enum or a union whose fields all
/// implement it. Type parameters get it as a bound.
///
/// Add `#[repr(C)]`, or a `repr` of an integer to an enum: other layouts may differ between the
/// compilers of kernels and host. The macro does not ask for it, and neither does cust's.
///
/// `is_value` checks all fields. It refuses the bytes of an enum with fields, and of an enum
/// without such a `repr`, because their layout is unspecified.
#[proc_macro_derive(DeviceCopy)]
pub fn device_copy(item: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(item as syn::DeriveInput);
    device_copy::expand(&input, &quote::quote!(::cust::memory::DeviceCopy))
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Implements `cust_core::DeviceCopy`, the same trait, in crates that depend on `cust_core`.
#[proc_macro_derive(DeviceCopyCore)]
pub fn device_copy_core(item: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(item as syn::DeriveInput);
    device_copy::expand(&input, &quote::quote!(::cust_core::DeviceCopy))
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
