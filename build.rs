//! Embeds the PTX of the kernels: what lies under kernels-gpu/ptx, or with the feature `build-ptx`
//! what the sources give now.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The kernel crates under kernels-gpu, and the architectures that each has code for.
const MODULES: [(&str, &[&str]); 3] = [
    ("box_overlap", &["sm_70"]),
    ("primitives", &["sm_70"]),
    ("tensor_sketch", &["sm_70"]),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let mut source = String::new();
    for (name, architectures) in MODULES {
        let constant = name.to_uppercase();
        writeln!(source, "/// The kernels of kernels-gpu/{name}.").expect("a string takes all");
        writeln!(
            source,
            "pub static {constant}: Module = Module::new(\"{name}\", &["
        )
        .expect("a string takes all");
        for architecture in architectures {
            let ptx = ptx(name, architecture, &out);
            writeln!(
                source,
                "    Image::new(\"{architecture}\", include_str!({ptx:?})),"
            )
            .expect("a string takes all");
        }
        source += "]);\n";
    }
    fs::write(out.join("modules.rs"), source).expect("the output folder can be written");
}

/// The file that holds the PTX of a kernel crate for an architecture.
#[cfg(not(feature = "build-ptx"))]
fn ptx(name: &str, architecture: &str, _out: &Path) -> PathBuf {
    let root =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let file = root
        .join("kernels-gpu/ptx")
        .join(format!("{name}.{architecture}.ptx"));
    println!("cargo::rerun-if-changed={}", file.display());
    file
}

/// The file that holds the PTX of a kernel crate for an architecture, compiled now.
#[cfg(feature = "build-ptx")]
fn ptx(name: &str, architecture: &str, out: &Path) -> PathBuf {
    let root =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let kernel_crate = root.join("kernels-gpu").join(name);
    if !kernel_crate.join("Cargo.toml").exists() {
        panic!(
            "the feature `build-ptx` compiles {}, which the published crate does not carry: use the repository, \
             or build without the feature",
            kernel_crate.display()
        );
    }
    let file = out.join(format!("{name}.{architecture}.ptx"));
    let build = cuda_builder::CudaBuilder::new(kernel_crate)
        .arch(
            architecture
                .parse()
                .expect("an architecture of this list is known"),
        )
        .target_dir(out.join("device"))
        .copy_to(&file)
        .build();
    match build {
        Ok(build) => {
            for source in build.sources.files {
                println!("cargo::rerun-if-changed={}", source.display());
            }
            file
        }
        Err(error) => panic!("{error}"),
    }
}
