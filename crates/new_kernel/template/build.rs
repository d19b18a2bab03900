//! Compiles the kernels to PTX, with the feature `cuda`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "cuda")]
    cuda_builder::CudaBuilder::module("src/kernels.rs")
        .arch(cuda_builder::Arch::Sm70)
        .build_script("row_sums.ptx");
}
