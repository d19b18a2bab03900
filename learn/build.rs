//! Brings the PTX of the kernels, if they are to run on GPUs: what is checked in, unless a kernel
//! has changed.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "cuda")]
    cuda_builder::CudaBuilder::new("../kernels-gpu/ladder")
        .arch(cuda_builder::Arch::Sm70)
        .checked_in("../kernels-gpu/ptx", "ladder")
        .build_script("kernels.ptx");
}
