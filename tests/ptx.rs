//! The PTX that the crate embeds is what its sources gave, and its barriers are those of the
//! sources. No device compiler is needed for this; CI also rebuilds it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cuda_builder::{PtxSummary, Record, source_hash};

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels-gpu")
}

fn record() -> Record {
    Record::load(&kernels().join("ptx/record.toml")).unwrap()
}

#[test]
fn the_ptx_is_not_older_than_its_sources() {
    for (name, recorded) in record().crates() {
        let sources = source_hash(&kernels().join(name)).unwrap();
        assert_eq!(
            sources.hash, recorded.sources,
            "run `cargo xtask ptx`: {name} has changed"
        );
        record().check_files(name, &kernels().join("ptx")).unwrap();
    }
}

#[test]
fn every_kernel_crate_has_its_ptx() {
    let folders: BTreeSet<String> = fs::read_dir(kernels())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("Cargo.toml").exists())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    let recorded: BTreeSet<String> = record()
        .crates()
        .map(|(name, _)| name.to_string())
        .collect();
    assert_eq!(folders, recorded);
}

/// A compiler that knows nothing of barriers may copy one into both arms of a branch.
#[test]
fn barriers_are_neither_copied_nor_lost() {
    let source = fs::read_to_string(kernels().join("tensor_sketch/src/direct.rs")).unwrap();
    let written = source.matches("thread::sync_threads()").count();
    let ptx = fs::read_to_string(kernels().join("ptx/tensor_sketch.sm_70.ptx")).unwrap();
    let summary = PtxSummary::of(&ptx);
    assert_eq!(summary.entries.len(), 10);
    for entry in &summary.entries {
        assert_eq!(summary.barriers[entry], written, "{entry}");
    }
}
