//! Embeds the PTX of a kernel crate in the crate that launches its kernels: the checked-in PTX, or
//! with the feature `build-ptx` what the sources give now. Builds without GPUs have a module
//! without PTX.
//!
//! A detail of gridstride: its items may change in any release.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Writes `module.rs`, which defines `MODULE`, the `Module` of the kernel crate `name`. This is all that
/// a build script does:
///
/// ```no_run
/// embed::build_script("matmul", "ptx", "../../kernels-gpu/matmul");
/// ```
///
/// The crate then has the line
///
/// ```ignore
/// include!(concat!(env!("OUT_DIR"), "/module.rs"));
/// ```
///
/// `ptx` is the folder of the checked-in PTX and `kernels` that of the sources, both relative to the
/// crate that is built. There is a file of PTX for each architecture. Without the feature `cuda` no
/// PTX is embedded, and there need be none.
pub fn build_script(name: &str, ptx: &str, kernels: &str) {
    // Each `cargo::error` is a line of cargo's own report, which needs no panic and its backtrace.
    if let Err(message) = embed(name, Path::new(ptx), Path::new(kernels)) {
        for line in message.lines() {
            println!("cargo::error={line}");
        }
    }
}

fn embed(name: &str, ptx: &Path, kernels: &Path) -> Result<(), String> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(
        env::var_os("OUT_DIR").ok_or("cargo does not set OUT_DIR: this is no build script")?,
    );
    let mut module = format!(
        "static MODULE: gridstride_runtime::device::Module = gridstride_runtime::device::Module::new(\"{name}\", &[\n"
    );
    let images = match cfg!(any(feature = "cuda", feature = "build-ptx")) {
        true => images(name, ptx)?,
        false => Vec::new(),
    };
    for (architecture, file) in images {
        let file = source(name, &architecture, file, kernels, &out)?;
        module += &image(&architecture, &file, &out)?;
    }
    module += "]);\n";
    write(&out.join("module.rs"), module.as_bytes())
}

/// Returns the architectures of the checked-in PTX of a kernel crate, and their files.
fn images(name: &str, ptx: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    println!("cargo::rerun-if-changed={}", ptx.display());
    let unreadable = |error| format!("cannot list {}: {error}", ptx.display());
    let mut images = Vec::new();
    for entry in fs::read_dir(ptx).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let image = (file.split_once('.')).filter(|(crate_name, _)| *crate_name == name);
        if let Some(architecture) = image.and_then(|(_, ending)| ending.strip_suffix(".ptx")) {
            images.push((architecture.to_owned(), path));
        }
    }
    if images.is_empty() {
        return Err(format!("there is no PTX of {name} in {}", ptx.display()));
    }
    images.sort();
    Ok(images)
}

/// Returns the line of `module.rs` that embeds a PTX file. The file is compressed by LZ4, which is
/// fast even here: build scripts are compiled without optimisation.
#[cfg(feature = "cuda")]
fn image(architecture: &str, ptx: &Path, out: &Path) -> Result<String, String> {
    let target = out
        .join(ptx.file_name().unwrap_or_default())
        .with_added_extension("lz4");
    let text = fs::read(ptx).map_err(|error| format!("cannot read {}: {error}", ptx.display()))?;
    write(&target, &lz4_flex::block::compress_prepend_size(&text))?;
    Ok(format!(
        "gridstride_runtime::device::Image::compressed(\"{architecture}\", include_bytes!({target:?})),\n"
    ))
}

/// Returns nothing: no PTX is embedded.
#[cfg(not(feature = "cuda"))]
fn image(_architecture: &str, _ptx: &Path, _out: &Path) -> Result<String, String> {
    Ok(String::new())
}

fn write(path: &Path, contents: &[u8]) -> Result<(), String> {
    fs::write(path, contents).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Returns the file to embed for an architecture: the checked-in one.
#[cfg(not(feature = "build-ptx"))]
fn source(
    _name: &str,
    _architecture: &str,
    checked_in: PathBuf,
    _kernels: &Path,
    _out: &Path,
) -> Result<PathBuf, String> {
    Ok(checked_in)
}

/// Compiles a kernel crate for an architecture, and returns the file of its PTX.
#[cfg(feature = "build-ptx")]
fn source(
    name: &str,
    architecture: &str,
    _checked_in: PathBuf,
    kernels: &Path,
    out: &Path,
) -> Result<PathBuf, String> {
    if !kernels.join("Cargo.toml").exists() {
        return Err(format!(
            "the feature `build-ptx` compiles {}, which the published crate does not carry: use the repository, \
             or build without the feature",
            kernels.display()
        ));
    }
    let sentence = |error: cuda_builder::BuildError| error.to_string();
    let file = out.join(format!("{name}.{architecture}.ptx"));
    let build = cuda_builder::CudaBuilder::new(kernels)
        .arch(
            architecture
                .parse::<cuda_builder::Arch>()
                .map_err(sentence)?,
        )
        .target_dir(out.join("device"))
        .copy_to(&file)
        .build()
        .map_err(sentence)?;
    for source in build.sources.files {
        println!("cargo::rerun-if-changed={}", source.display());
    }
    Ok(file)
}
