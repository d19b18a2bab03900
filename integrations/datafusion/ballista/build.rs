//! Hashes the sources and the lock file, so that two programs with the same fingerprint come from
//! the same sources and encode plans alike.

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let mut files = vec![PathBuf::from("../Cargo.lock")];
    for folder in ["src", "../src"] {
        println!("cargo:rerun-if-changed={folder}");
        sources(Path::new(folder), &mut files);
    }
    files.sort();
    // FNV-1a: the hash has to be the same on every machine, not to resist attacks.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in &files {
        let text = fs::read(file).unwrap_or_default();
        let name = file.to_string_lossy();
        for byte in name.bytes().chain(text) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    println!("cargo:rerun-if-changed=../Cargo.lock");
    println!("cargo:rustc-env=GRIDSTRIDE_SOURCES={hash:016x}");
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}
