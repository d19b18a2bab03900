//! The attribute `#[kernel]` and the derive macro `DeviceParam` of `cuda_std`.

mod bound;
mod device_param;
mod kernel;

use proc_macro::TokenStream;

/// Makes a function a kernel.
///
/// For the GPU the function becomes an entry of the PTX. On the host it becomes a
/// `static` of the same name, of type `cuda_std::host::Kernel<(parameter types…)>`, which launches
/// take: so a launch with the wrong arguments does not compile.
///
/// The function must be `unsafe` (whoever launches it vouches for its pointers and its launch
/// shape), without generics, without a result, with at most 24 parameters of types that implement
/// `DeviceParam`. A call gives arguments by place: pass several buffers of one type, or more than
/// about four arguments, as a struct with `#[derive(DeviceParam)]`, whose fields have names.
///
/// - `#[kernel(block = 256)]`, `#[kernel(block = (16, 16))]`: blocks of exactly this shape.
/// - `#[kernel(max_block = 512)]`: blocks of at most so many threads;
///   `#[kernel(max_block = 512, min_blocks = 2)]` also asks the assembler for few enough registers
///   that two such blocks fit on a multiprocessor.
///
/// Both stand in the PTX, so that a wrong launch fails, and are checked before a launch.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let bound = syn::parse_macro_input!(attribute as bound::Bound);
    let function = syn::parse_macro_input!(item as syn::ItemFn);
    kernel::expand(&bound, &function)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Lets a struct be a kernel's parameter: implements `cuda_std::DeviceParam`.
///
/// The struct must be `Copy` and `#[repr(C)]`, and all its fields must be `DeviceParam` themselves:
/// numbers, pointers, device slices, arrays and structs of these. A struct without fields needs no
/// `repr`. An enum without fields needs one that names its integer, such as `#[repr(u32)]`.
#[proc_macro_derive(DeviceParam)]
pub fn device_param(item: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(item as syn::DeriveInput);
    device_param::expand(&input)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
