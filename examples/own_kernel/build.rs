//! Brings the PTX of the kernels, if they are to run on GPUs: what the folder `ptx` holds, unless a
//! kernel has changed.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "cuda")]
    cuda_builder::CudaBuilder::new("kernels")
        .arch(cuda_builder::Arch::Sm70)
        .checked_in("ptx", "own_kernel")
        .build_script("kernels.ptx");
}
