//! Embeds the PTX of the chosen kernels, compressed: the PTX under kernels-gpu/ptx, or with the feature `build-ptx`
//! what the sources give now. Builds without GPUs have modules without PTX.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// A kernel crate under kernels-gpu.
struct Kernels {
    name: &'static str,
    /// The architectures that it has PTX for.
    architectures: &'static [&'static str],
    /// The feature of gridstride that needs it.
    is_chosen: bool,
}

const KERNELS: [Kernels; 8] = [
    Kernels {
        name: "box_overlap",
        architectures: &["sm_70"],
        is_chosen: cfg!(feature = "box-overlap"),
    },
    Kernels {
        name: "distances",
        architectures: &["sm_70"],
        is_chosen: cfg!(feature = "distances"),
    },
    Kernels {
        name: "edit_distance",
        architectures: &["sm_70"],
        is_chosen: cfg!(feature = "edit-distance"),
    },
    Kernels {
        name: "matmul",
        architectures: &["sm_70", "sm_80", "sm_90a"],
        is_chosen: cfg!(feature = "matmul"),
    },
    Kernels {
        name: "primitives",
        architectures: &["sm_70"],
        is_chosen: cfg!(feature = "primitives"),
    },
    Kernels {
        name: "stream",
        architectures: &["sm_70"],
        is_chosen: cfg!(feature = "pipeline"),
    },
    Kernels {
        name: "tensor_sketch",
        architectures: &["sm_70"],
        is_chosen: cfg!(feature = "tensor-sketch"),
    },
    Kernels {
        name: "time_series",
        architectures: &["sm_70"],
        is_chosen: cfg!(feature = "time-series"),
    },
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Each `cargo::error` is a line of cargo's own report, which needs no panic and its backtrace.
    if let Err(message) = embed() {
        for line in message.lines() {
            println!("cargo::error={line}");
        }
    }
}

/// The kernel crates that are embedded.
fn chosen() -> impl Iterator<Item = &'static Kernels> {
    KERNELS.iter().filter(|kernels| kernels.is_chosen)
}

fn embed() -> Result<(), String> {
    let out = PathBuf::from(variable("OUT_DIR")?);
    #[cfg(feature = "build-ptx")]
    compile_all(&out)?;
    let mut source = String::new();
    for kernels in chosen() {
        let name = kernels.name;
        let constant = name.to_uppercase();
        source += &format!(
            "/// The kernels of kernels-gpu/{name}.\n\
             pub static {constant}: crate::device::Module = crate::device::Module::new(\"{name}\", &[\n"
        );
        let architectures = match cfg!(feature = "cuda") {
            true => kernels.architectures,
            false => &[],
        };
        for architecture in architectures {
            let ptx = compressed(&ptx(name, architecture, &out)?, &out)?;
            writeln!(
                source,
                "    crate::device::Image::compressed(\"{architecture}\", include_bytes!({ptx:?})),"
            )
            .expect("a string takes all");
        }
        source += "]);\n";
    }
    write(&out.join("modules.rs"), source.as_bytes())
}

/// The value of a variable that cargo sets for build scripts.
fn variable(name: &str) -> Result<std::ffi::OsString, String> {
    env::var_os(name).ok_or_else(|| format!("cargo does not set {name}"))
}

fn write(path: &Path, contents: &[u8]) -> Result<(), String> {
    fs::write(path, contents).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// A copy of a PTX file that is compressed in the format of zlib.
fn compressed(ptx: &Path, out: &Path) -> Result<PathBuf, String> {
    let target = out
        .join(ptx.file_name().unwrap_or_default())
        .with_added_extension("zlib");
    let text = fs::read(ptx).map_err(|error| format!("cannot read {}: {error}", ptx.display()))?;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    let bytes = encoder.write_all(&text).and_then(|()| encoder.finish());
    write(&target, &bytes.expect("memory takes all"))?;
    Ok(target)
}

/// The file that holds the PTX of a kernel crate for an architecture.
#[cfg(not(feature = "build-ptx"))]
fn ptx(name: &str, architecture: &str, _out: &Path) -> Result<PathBuf, String> {
    let file = PathBuf::from(variable("CARGO_MANIFEST_DIR")?)
        .join("kernels-gpu/ptx")
        .join(format!("{name}.{architecture}.ptx"));
    println!("cargo::rerun-if-changed={}", file.display());
    Ok(file)
}

/// The file that holds the PTX of a kernel crate for an architecture, which [`compile_all`] has made.
#[cfg(feature = "build-ptx")]
fn ptx(name: &str, architecture: &str, out: &Path) -> Result<PathBuf, String> {
    Ok(out.join(format!("{name}.{architecture}.ptx")))
}

/// Compiles the chosen kernels. All are started at once: those for the same architecture wait for each other.
#[cfg(feature = "build-ptx")]
fn compile_all(out: &Path) -> Result<(), String> {
    let results: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let started: Vec<_> = chosen()
            .flat_map(|kernels| {
                let architectures = kernels.architectures.iter();
                architectures.map(|architecture| (kernels.name, *architecture))
            })
            .map(|(name, architecture)| scope.spawn(move || compile(name, architecture, out)))
            .collect();
        let finished = started.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err("a thread of the builder panicked".to_owned()))
        });
        finished.collect()
    });
    results.into_iter().collect()
}

/// Compiles a kernel crate for an architecture.
#[cfg(feature = "build-ptx")]
fn compile(name: &str, architecture: &str, out: &Path) -> Result<(), String> {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let kernel_crate = root.join("kernels-gpu").join(name);
    if !kernel_crate.join("Cargo.toml").exists() {
        return Err(format!(
            "the feature `build-ptx` compiles {}, which the published crate does not carry: use the repository, \
             or build without the feature",
            kernel_crate.display()
        ));
    }
    let sentence = |error: cuda_builder::BuildError| error.to_string();
    let build = cuda_builder::CudaBuilder::new(kernel_crate)
        .arch(
            architecture
                .parse::<cuda_builder::Arch>()
                .map_err(sentence)?,
        )
        .target_dir(out.join("device"))
        .copy_to(ptx(name, architecture, out)?)
        .build()
        .map_err(sentence)?;
    for source in build.sources.files {
        println!("cargo::rerun-if-changed={}", source.display());
    }
    Ok(())
}
