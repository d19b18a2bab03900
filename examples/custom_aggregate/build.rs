//! Compiles the kernels to PTX, if they are to run on GPUs.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "cuda")]
    {
        let ptx = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR") + "/kernels.ptx";
        let builder = cuda_builder::CudaBuilder::new("kernels").arch(cuda_builder::Arch::Sm70);
        // Errors are sentences, and hold what the compiler said.
        let build = builder.copy_to(ptx).build();
        for file in build
            .unwrap_or_else(|error| panic!("{error}"))
            .sources
            .files
        {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
}
