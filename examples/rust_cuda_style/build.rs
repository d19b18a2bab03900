//! Brings the PTX of the kernels: what the folder `ptx` holds, unless a kernel has changed. With the feature `checked` it
//! always compiles the kernels, with overflow checks and without optimisations.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let builder = cuda_builder::CudaBuilder::new("kernels").arch(cuda_builder::Arch::Sm70);
    match cfg!(feature = "checked") {
        true => builder.release(false).build_script("kernels.ptx"),
        false => builder
            .checked_in("ptx", "rust_cuda_style")
            .build_script("kernels.ptx"),
    }
}
