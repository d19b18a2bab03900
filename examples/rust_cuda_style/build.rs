//! Brings the PTX of the kernels: what the folder `ptx` holds, unless a kernel has changed.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    cuda_builder::CudaBuilder::new("kernels")
        .arch(cuda_builder::Arch::Sm70)
        .checked_in("ptx", "rust_cuda_style")
        .build_script("kernels.ptx");
}
