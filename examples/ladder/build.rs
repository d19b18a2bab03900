//! Brings the PTX of the kernels, if they are to run on GPUs.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "cuda")]
    bring_ptx();
}

/// What is checked in, unless a kernel has changed: then the kernels are compiled.
#[cfg(feature = "cuda")]
fn bring_ptx() {
    use std::path::Path;

    use cuda_builder::{Arch, CudaBuilder, Record, ptx_file_name, source_hash};

    const NAME: &str = "ladder";
    let kernels = Path::new("../../kernels-gpu");
    let folder = kernels.join(NAME);
    let ptx = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR") + "/kernels.ptx";
    // Errors are sentences, and hold what the compiler said.
    let sources = source_hash(&folder).unwrap_or_else(|error| panic!("{error}"));
    let record_path = kernels.join("ptx/record.toml");
    let record = Record::load(&record_path).unwrap_or_else(|error| panic!("{error}"));
    let is_recorded = record
        .crates()
        .any(|(name, recorded)| name == NAME && recorded.sources == sources.hash);
    if is_recorded {
        let checked_in = kernels.join("ptx").join(ptx_file_name(NAME, Arch::Sm70));
        std::fs::copy(&checked_in, ptx)
            .unwrap_or_else(|error| panic!("cannot copy {}: {error}", checked_in.display()));
    } else {
        let build = CudaBuilder::new(&folder)
            .arch(Arch::Sm70)
            .copy_to(ptx)
            .build();
        build.unwrap_or_else(|error| panic!("{error}"));
    }
    println!("cargo::rerun-if-changed={}", record_path.display());
    for file in sources.files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
}
