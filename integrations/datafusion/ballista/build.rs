//! Hashes the sources and the lock file, so that two programs with the same fingerprint come from
//! the same sources: they encode plans alike and their kernels follow the same rules.

use std::fs;
use std::path::{Path, PathBuf};

/// The sources of this package, of gridstride_datafusion and of gridstride with its kernels.
const SOURCES: [&str; 6] = [
    "src",
    "../src",
    "../../../Cargo.lock",
    "../../../src",
    "../../../crates",
    "../../../kernels-gpu",
];

fn main() {
    let mut files = Vec::new();
    for source in &SOURCES {
        println!("cargo:rerun-if-changed={source}");
        collect(Path::new(source), &mut files);
    }
    files.sort();
    // FNV-1a: the hash has to be the same on every machine, not to resist attacks.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in &files {
        let text = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let name = file.to_string_lossy();
        for byte in name.bytes().chain(text) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    println!("cargo:rustc-env=GRIDSTRIDE_SOURCES={hash:016x}");
}

/// Collects the sources below `path`: Rust, PTX, manifests and the lock file.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let entries =
            fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for entry in entries {
            let entry = entry.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            if entry.file_name() != "target" {
                collect(&entry.path(), files);
            }
        }
        return;
    }
    assert!(path.exists(), "{} is missing", path.display());
    let ending = path.extension().and_then(|ending| ending.to_str());
    if matches!(ending, Some("rs" | "ptx" | "toml" | "lock")) {
        files.push(path.to_owned());
    }
}
