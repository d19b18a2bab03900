//! The kernel crates and the folder of their PTX.

use std::fs;
use std::path::PathBuf;

use cuda_builder::KernelCrate;

use crate::{Result, workspace};

/// A kernel crate and the name that it goes by: that of its folder.
pub struct Kernels {
    pub name: String,
    pub description: KernelCrate,
}

/// The kernel crates with the given names, or all of them.
pub fn find(names: &[String]) -> Result<Vec<Kernels>> {
    let all = all_names()?;
    if let Some(unknown) = names.iter().find(|name| !all.contains(name)) {
        return Err(format!(
            "`{unknown}` is not among the kernel crates {}",
            all.join(", ")
        )
        .into());
    }
    let chosen = if names.is_empty() { &all[..] } else { names };
    chosen
        .iter()
        .map(|name| {
            let description = KernelCrate::read(&folder().join(name))?;
            Ok(Kernels {
                name: name.clone(),
                description,
            })
        })
        .collect()
}

/// The names of all kernel crates, sorted.
pub fn all_names() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder())? {
        let entry = entry?;
        if entry.path().join("Cargo.toml").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn folder() -> PathBuf {
    workspace().join("kernels-gpu")
}

/// Where the PTX is checked in.
pub fn ptx_folder() -> PathBuf {
    folder().join("ptx")
}

/// The record of it.
pub fn record_path() -> PathBuf {
    ptx_folder().join("record.toml")
}
