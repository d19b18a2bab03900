//! The kernel crates and the folders of their PTX.

use std::fs;
use std::path::PathBuf;

use cuda_builder::KernelCrate;

use crate::{Result, workspace};

/// A kernel crate, and where its PTX is checked in.
pub struct Kernels {
    /// The name in the record and in the names of PTX files.
    pub name: String,
    pub description: KernelCrate,
    /// The folder of the PTX and its record.
    pub ptx: PathBuf,
}

impl Kernels {
    /// The record of the PTX.
    pub fn record_path(&self) -> PathBuf {
        self.ptx.join("record.toml")
    }
}

/// The kernel crates that carry their PTX themselves, as those outside of this workspace do: their
/// names, their folders and those of the PTX.
const CUSTOM: [(&str, &str, &str); 3] = [
    (
        "custom_aggregate",
        "examples/custom_aggregate/kernels",
        "examples/custom_aggregate/ptx",
    ),
    (
        "own_kernel",
        "examples/own_kernel/kernels",
        "examples/own_kernel/ptx",
    ),
    (
        "rust_cuda_style",
        "examples/rust_cuda_style/kernels",
        "examples/rust_cuda_style/ptx",
    ),
];

/// The kernel crates with the given names, or all of them.
pub fn find(names: &[String]) -> Result<Vec<Kernels>> {
    let all = all_folders()?;
    let is_known = |name: &String| all.iter().any(|(known, _, _)| known == name);
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        let known: Vec<_> = all.iter().map(|(name, _, _)| name.as_str()).collect();
        return Err(format!(
            "`{unknown}` is not among the kernel crates {}",
            known.join(", ")
        )
        .into());
    }
    all.into_iter()
        .filter(|(name, _, _)| names.is_empty() || names.contains(name))
        .map(|(name, folder, ptx)| {
            let description = KernelCrate::read(&folder)?;
            Ok(Kernels {
                name,
                description,
                ptx,
            })
        })
        .collect()
}

/// The folders that hold checked-in PTX.
pub fn ptx_folders() -> Result<Vec<PathBuf>> {
    let mut folders: Vec<_> = all_folders()?.into_iter().map(|(_, _, ptx)| ptx).collect();
    folders.sort();
    folders.dedup();
    Ok(folders)
}

/// The folder of the PTX of a kernel crate under kernels-gpu: beside the crate that launches the
/// kernels, or without one in `kernels-gpu/ptx`.
fn ptx_of(name: &str) -> PathBuf {
    let host = workspace().join("crates").join(name);
    match host.is_dir() {
        true => host.join("ptx"),
        false => folder().join("ptx"),
    }
}

/// The name of each kernel crate, its folder and that of its PTX.
fn all_folders() -> Result<Vec<(String, PathBuf, PathBuf)>> {
    let custom = CUSTOM.map(|(name, kernels, ptx)| {
        (
            name.to_owned(),
            workspace().join(kernels),
            workspace().join(ptx),
        )
    });
    let mut folders = custom.to_vec();
    for entry in fs::read_dir(folder())? {
        let path = entry?.path();
        if path.join("Cargo.toml").is_file() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let ptx = ptx_of(&name);
            folders.push((name.into_owned(), path, ptx));
        }
    }
    folders.sort();
    Ok(folders)
}

/// The names of the crates `crates/<kernel>`, which launch the kernels of gridstride.
pub fn host_crates() -> Result<Vec<String>> {
    Ok(new_kernel::kernels(&workspace())?)
}

/// Prints the names of the crates that launch kernels.
pub fn print() -> Result<()> {
    for name in host_crates()? {
        println!("{name}");
    }
    Ok(())
}

/// The folder of the kernel crates.
pub fn folder() -> PathBuf {
    workspace().join("kernels-gpu")
}
