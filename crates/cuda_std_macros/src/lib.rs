//! The attribute `#[kernel]` and the derive macro `DeviceParam` of `cuda_std`.

mod address_space;
mod bound;
mod device_param;
mod instances;
mod kernel;

use proc_macro::TokenStream;

/// Makes a function a kernel.
///
/// For the GPU the function becomes an entry of the PTX. On the host it becomes a
/// `static` of the same name, of type `cuda_std::host::Kernel<(parameter types…)>`, which launches
/// take: so a launch with the wrong arguments does not compile.
///
/// The function is not in an `impl` or a `trait` (there the compiler says that "associated `static`
/// items are not allowed"), and no other kernel of the crate has its name, not even in another
/// module: the PTX has one list of kernels. Its only generics are lifetimes, which `where` may
/// bound, and the parameters of `instances`. It has no result, and at most 24 parameters:
/// - numbers, pointers, `DeviceSlice`s, and structs with `#[derive(DeviceParam)]`, passed by value.
///   No tuples and no `Option`s, whose layout Rust does not define. Values are aligned to at most 16
///   bytes;
/// - `&T` and `&mut T`, which a launch gives as `*const T` and `*mut T`;
/// - `&[T]` and `&mut [T]`, which a launch gives as `DeviceSlice<T>` and `DeviceSliceMut<T>`. In
///   the PTX each is two parameters, an address and a length. In the types that a launch takes,
///   all lifetimes of elements are `'static`.
///
/// A generic kernel names the arguments of its types and constants, and becomes a kernel for each list of them:
///
/// ```ignore
/// #[kernel(block = N, instances(f32, 128; f64, 64))]
/// unsafe fn reduce<T: Number, const N: usize>(values: DeviceSlice<T>, out: DeviceSliceMut<T>) {
///     let partial = shared_array![T; N];
///     // …
/// }
/// ```
///
/// In the PTX the kernels are `reduce_f32_128` and `reduce_f64_64`, and a launch takes `reduce::<f32, 128>()`: other arguments
/// do not compile. `instances(f32, 128 as small)` gives another name. In the kernel's body the parameters are names of the
/// arguments, so that its shared arrays may depend on them, and so may its bound on blocks.
///
/// All threads get the same `&mut`. So no thread may access an element that another thread writes
/// in the same launch, even behind a barrier: the compiler may keep such an element in a register.
/// Threads that exchange values take a `DeviceSliceMut`, a pointer, or a slice of atomics.
///
/// All parameters have at most 4352 bytes together, or 32764 from PTX 8.1 on. cuda_builder checks it.
///
/// A call gives arguments by place: pass several buffers of one type, or more than about four
/// arguments, as a struct, whose fields have names.
///
/// - `#[kernel(block = 256)]`, `#[kernel(block = (16, 16))]`: blocks of exactly this shape.
/// - `#[kernel(max_block = 512)]`: blocks of at most so many threads;
///   `#[kernel(max_block = 512, min_blocks = 2)]` also asks the assembler for few enough registers
///   that two such blocks fit on a multiprocessor.
///
/// Both stand in the PTX, so that a wrong launch fails, and are checked before a launch.
///
/// On the host the kernel is a `static`, and patterns cannot shadow statics. So other functions of
/// its module have no parameters and variables of the kernel's name, and neither has code that
/// imports the kernel by this name: name the kernel by its path (`kernels::sum`), or import it as
/// another name (`use kernels::sum as sum_kernel`).
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function = syn::parse_macro_input!(item as syn::ItemFn);
    instances::expand(attribute.into(), &function)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Puts a `static` into a memory of the GPU: `#[address_space(shared)]`,
/// `#[address_space(constant)]` or, as is usual for statics, `#[address_space(global)]`.
///
/// - A shared static exists once in each block, and is not initialised when a block starts. So its
///   initial value must be `MaybeUninit::uninit()` or zeros, which stand for any value: cuda_builder
///   refuses others. The simulator fills the static with other bytes, and runs one block at a time
///   in a program that has one.
///
///   A shared static has at most 48 KiB, and so do all shared statics of a kernel together.
///   cuda_builder checks the sum, and the simulator does not. Dynamic shared memory can be larger.
/// - Constant statics have at most 64 KiB together, which cuda_builder checks. Reads are fastest if
///   all lanes of a warp read the same address.
///   - The host sets a `static mut` before a launch; no kernel writes to it. In the PTX the name of
///     the static is visible: cust's `Module::get_global` finds the static, and gridstride's
///     `Device::set_constant` takes a pointer to it. If the PTX has several statics of the name, or
///     a kernel of the name, the static has its qualified name there: crate, modules and name, such
///     as `my_kernels$filter$WEIGHTS`. `#[unsafe(no_mangle)]` keeps the name, and
///     `#[unsafe(export_name = "…")]` gives another one. Two such statics of one name in one module,
///     in different functions, do not compile for GPUs.
///   - A `static` with `#[unsafe(no_mangle)]` is set through the driver alone, for example by
///     `Module::get_global`. The simulator has the initial value.
///   - Any other `static` keeps its initial value, and the compiler may replace reads by the value.
#[proc_macro_attribute]
pub fn address_space(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let space = syn::parse_macro_input!(attribute as syn::Ident);
    let item = syn::parse_macro_input!(item as syn::ItemStatic);
    address_space::address_space(&space, &item)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Compiles a function for the GPU only. On the host a function of the same signature panics when
/// it is called.
#[proc_macro_attribute]
pub fn gpu_only(_: TokenStream, item: TokenStream) -> TokenStream {
    address_space::gpu_only(&syn::parse_macro_input!(item as syn::ItemFn)).into()
}

/// Keeps a function in the PTX that no kernel calls, for other modules that are linked to it. The
/// function must be `#[unsafe(no_mangle)]`.
#[proc_macro_attribute]
pub fn externally_visible(_: TokenStream, item: TokenStream) -> TokenStream {
    address_space::externally_visible(&syn::parse_macro_input!(item as syn::ItemFn))
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
