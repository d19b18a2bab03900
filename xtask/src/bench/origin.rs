//! What is measured: the commit, and hashes of the kernels, of the sources and of the peers' programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::peers::output;
use super::steps::STEPS;
use crate::{Result, kernels, workspace};

/// The file of a bundle that says what it was built from.
pub const ORIGIN: &str = "origin.json";

/// What the programs were built from.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Origin {
    /// The commit, with a `+` if files of it were changed.
    pub commit: String,
    /// The hash of the PTX, for each kernel.
    ptx: BTreeMap<String, String>,
    /// The hash of the sources, likewise.
    sources: BTreeMap<String, String>,
}

impl Origin {
    /// Of this workspace.
    ///
    /// # Errors
    /// If files cannot be read.
    pub fn of_workspace() -> Result<Origin> {
        let git = |arguments: &[&str]| {
            output(Command::new("git").args(arguments).current_dir(workspace()))
        };
        let commit =
            git(&["rev-parse", "--short=8", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
        let is_changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some();
        let mut origin = Origin {
            commit: format!("{commit}{}", if is_changed { "+" } else { "" }),
            ..Origin::default()
        };
        let launched = kernels::find(&[])?;
        for name in STEPS.iter().flat_map(|step| &step.kernels) {
            if let Some(kernels) = launched.iter().find(|kernels| kernels.name == *name) {
                let hash = ptx_hash(&kernels.record_path(), name)?;
                origin.ptx.insert((*name).to_owned(), hash);
            }
            let folder = match *name {
                "ladder" => workspace().join("learn/src"),
                "stream" => workspace().join("src"),
                name => workspace().join("crates").join(name).join("src"),
            };
            origin
                .sources
                .insert((*name).to_owned(), folder_hash(&folder)?);
        }
        Ok(origin)
    }

    /// Of a bundle.
    ///
    /// # Errors
    /// If the bundle does not say it.
    pub fn of_bundle(bundle: &Path) -> Result<Origin> {
        let path = bundle.join(ORIGIN);
        let text = fs::read_to_string(&path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Ok(serde_json::from_str(&text)?)
    }

    /// The hash for a step's rows; nothing if it measures no kernel.
    pub fn source(&self, step: &str, is_on_gpu: bool) -> Option<String> {
        let step = STEPS.iter().find(|known| known.name == step)?;
        let hashes = if is_on_gpu { &self.ptx } else { &self.sources };
        let hashes: Vec<_> = (step.kernels.iter())
            .filter_map(|name| hashes.get(*name))
            .collect();
        match hashes.is_empty() {
            true => None,
            false => Some(hash(hashes.into_iter().map(String::as_bytes))),
        }
    }
}

/// The hash of a peer's program, its arguments and its version; nothing if the program has no file under `benches`.
pub fn peer_source(
    root: &Path,
    program: &str,
    arguments: &[String],
    version: &str,
) -> Option<String> {
    let in_benches = |word: &&String| word.ends_with(".py") || word.ends_with(".cu");
    let path = match program.strip_prefix("target/bench/") {
        Some(compiled) => format!("benches/peers/{compiled}.cu"),
        None => arguments.iter().find(in_benches)?.clone(),
    };
    let text = fs::read(root.join(path)).ok()?;
    let of_cuda = program == "nvcc" || program.starts_with("target/bench/");
    let arguments = arguments.iter().filter(|_| !of_cuda).map(String::as_bytes);
    let parts = [text.as_slice(), version.as_bytes()];
    Some(hash(parts.into_iter().chain(arguments)))
}

/// The hash of what the record says of a kernel crate's PTX.
fn ptx_hash(record: &Path, name: &str) -> Result<String> {
    let text = fs::read_to_string(record)
        .map_err(|error| format!("cannot read {}: {error}", record.display()))?;
    let record: toml::Table = toml::from_str(&text)?;
    let architectures = record
        .get(name)
        .and_then(|kernels| kernels.get("ptx")?.as_table());
    let architectures = architectures.ok_or_else(|| format!("the record has no PTX of {name}"))?;
    let hashes = architectures
        .values()
        .filter_map(|ptx| ptx.get("sha256")?.as_str());
    Ok(hash(hashes.map(str::as_bytes)))
}

/// The hash of all files below a folder, in the order of their names.
fn folder_hash(folder: &Path) -> Result<String> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder)
            .map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
        for entry in entries {
            let path: PathBuf = entry?.path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    files.sort();
    let texts: std::io::Result<Vec<_>> = files.iter().map(fs::read).collect();
    Ok(hash(texts?.iter().map(Vec::as_slice)))
}

/// Twelve digits, which are enough to tell versions from each other.
fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        // With lengths, so that parts cannot be cut elsewhere.
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let digits = hasher.finalize();
    digits
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_steps_exist() {
        let origin = Origin::of_workspace().unwrap();
        for step in STEPS.iter() {
            for name in &step.kernels {
                assert!(
                    origin.sources.contains_key(*name),
                    "{name} in {}",
                    step.name
                );
                assert!(origin.ptx.contains_key(*name) || *name == "files", "{name}");
            }
        }
        let [gpu, cpu] = [true, false].map(|is_on_gpu| origin.source("matmul", is_on_gpu));
        assert!(gpu.is_some() && cpu.is_some() && gpu != cpu);
        assert_eq!(origin.source("copies", true), None);
    }

    #[test]
    fn peers_are_known_by_their_file_and_arguments() {
        let of = |program: &str, arguments: &[&str]| {
            let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
            peer_source(&workspace(), program, &arguments, "1.0")
        };
        let peer = "benches/peers/nearest_torch.py";
        assert!(of("python3", &[peer]).is_some());
        assert_ne!(of("python3", &[peer]), of("python3", &[peer, "1"]));
        let cub = "benches/peers/primitives_cub.cu";
        assert_eq!(
            of("nvcc", &["-O3", cub]),
            of("target/bench/primitives_cub", &[])
        );
        assert_eq!(of("cargo", &["run"]), None);
    }

    #[test]
    fn parts_cannot_be_cut_elsewhere() {
        assert_ne!(hash([&b"ab"[..], b"c"]), hash([&b"a"[..], b"bc"]));
        assert_eq!(hash([&b"ab"[..]]).len(), 12);
    }
}
