//! Embeds the PTX of the kernels, compressed: what lies under kernels-gpu/ptx, or with the feature `build-ptx`
//! what the sources give now.
#![cfg_attr(
    not(feature = "kernels"),
    allow(dead_code, unused_imports, reason = "there is nothing to embed")
)]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The kernel crates under kernels-gpu, and the architectures that each has code for.
const MODULES: [(&str, &[&str]); 6] = [
    ("box_overlap", &["sm_70"]),
    ("matmul", &["sm_70", "sm_80", "sm_90a"]),
    ("primitives", &["sm_70"]),
    ("stream", &["sm_70"]),
    ("tensor_sketch", &["sm_70"]),
    ("time_series", &["sm_70"]),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "kernels")]
    embed();
}

#[cfg(feature = "kernels")]
fn embed() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    #[cfg(feature = "build-ptx")]
    compile_all(&out);
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
            let ptx = compressed(&ptx(name, architecture, &out), &out);
            writeln!(
                source,
                "    Image::compressed(\"{architecture}\", include_bytes!({ptx:?})),"
            )
            .expect("a string takes all");
        }
        source += "]);\n";
    }
    fs::write(out.join("modules.rs"), source).expect("the output folder can be written");
}

/// A copy of a file of PTX that is compressed in the format of zlib.
#[cfg(feature = "kernels")]
fn compressed(ptx: &Path, out: &Path) -> PathBuf {
    let name = ptx.file_name().expect("it is a file");
    let target = out.join(name).with_added_extension("zlib");
    let text =
        fs::read(ptx).unwrap_or_else(|error| panic!("{} cannot be read: {error}", ptx.display()));
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    let bytes = encoder.write_all(&text).and_then(|()| encoder.finish());
    fs::write(&target, bytes.expect("memory takes all")).expect("the output folder can be written");
    target
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

/// The file that holds the PTX of a kernel crate for an architecture, which [`compile_all`] has made.
#[cfg(feature = "build-ptx")]
fn ptx(name: &str, architecture: &str, out: &Path) -> PathBuf {
    out.join(format!("{name}.{architecture}.ptx"))
}

/// Compiles all kernels. All are started at once: those for the same architecture wait for each other.
#[cfg(feature = "build-ptx")]
fn compile_all(out: &Path) {
    std::thread::scope(|scope| {
        for (name, architectures) in MODULES {
            for architecture in architectures.iter() {
                scope.spawn(move || compile(name, architecture, out));
            }
        }
    });
}

/// Compiles a kernel crate for an architecture.
#[cfg(feature = "build-ptx")]
fn compile(name: &str, architecture: &str, out: &Path) {
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
    let build = cuda_builder::CudaBuilder::new(kernel_crate)
        .arch(
            architecture
                .parse()
                .expect("an architecture of this list is known"),
        )
        .target_dir(out.join("device"))
        .copy_to(ptx(name, architecture, out))
        .build();
    match build {
        Ok(build) => {
            for source in build.sources.files {
                println!("cargo::rerun-if-changed={}", source.display());
            }
        }
        Err(error) => panic!("{error}"),
    }
}
