//! The PTX that is checked in is what its sources gave, and its barriers are those of the sources.
//! No device compiler is needed for this; CI also rebuilds it.

use std::collections::{BTreeMap, BTreeSet};
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

fn summary(name: &str) -> PtxSummary {
    let file = kernels().join("ptx").join(format!("{name}.sm_70.ptx"));
    PtxSummary::of(&fs::read_to_string(file).unwrap())
}

/// How often barriers are written in a source file of a kernel crate.
fn written(file: &str) -> usize {
    let source = fs::read_to_string(kernels().join(file)).unwrap();
    source.matches("thread::sync_threads()").count()
}

/// Kernels whose names begin so, their number, and the barriers of each.
type Family<'a> = (&'a str, usize, usize);

/// A compiler that knows nothing of barriers may copy one into both arms of a branch.
fn check_barriers(name: &str, families: &[Family]) {
    let summary = summary(name);
    for &(family, count, written) in families {
        let entries = summary.entries.iter();
        let entries: Vec<_> = entries.filter(|entry| entry.starts_with(family)).collect();
        assert_eq!(entries.len(), count, "{family}");
        for entry in entries {
            assert_eq!(summary.barriers[entry], written, "{entry}");
        }
    }
    let counted: usize = families.iter().map(|(_, count, _)| count).sum();
    assert_eq!(
        summary.entries.len(),
        counted,
        "a family of {name} is missing"
    );
}

#[test]
fn barriers_of_the_tensor_sketch_are_neither_copied_nor_lost() {
    let written = |file: &str| written(&format!("tensor_sketch/src/{file}"));
    check_barriers(
        "tensor_sketch",
        &[
            ("direct_", 10, written("direct.rs")),
            ("distances_", 2, written("distances.rs")),
            ("pairwise_", 2, written("distances.rs")),
            ("largest_", 2, 0),
            ("operators_", 2, 0),
            ("words", 1, 0),
            ("chunks_", 39, written("fourier/chunks.rs")),
            ("compose_", 8, 0),
            ("windows_", 8, 0),
            ("inverse_", 2, written("fourier/inverse.rs")),
        ],
    );
}

#[test]
fn barriers_of_the_box_overlap_are_neither_copied_nor_lost() {
    let written = |file: &str| written(&format!("box_overlap/src/{file}"));
    let of_tree = written("tree.rs");
    check_barriers(
        "box_overlap",
        &[
            ("start", 1, 0),
            ("examine_", 3, written("domain.rs")),
            ("keys_", 3, 0),
            ("leaves_", 3, written("build.rs")),
            ("levels", 1, written("build.rs")),
            ("find_", 3, of_tree),
            ("write_rows", 1, 0),
            ("count_rows_", 3, of_tree),
            ("fill_rows_", 3, of_tree),
            ("row_counts", 1, 0),
            ("place_rows", 1, 0),
            ("codes_", 3, 0),
            ("brute_count_", 3, written("brute.rs")),
            ("brute_fill_", 3, 0),
            ("row_offsets", 1, 0),
            ("pair_list", 1, 0),
            ("matrix", 1, 0),
        ],
    );
}

#[test]
fn barriers_of_the_primitives_are_neither_copied_nor_lost() {
    let of_sum = written("primitives/src/block.rs");
    let in_sort = written("primitives/src/sort.rs");
    // The counts have two of those in the file; moves have the others, and two sums.
    let of_move = in_sort - 2 + 2 * of_sum;
    check_barriers(
        "primitives",
        &[
            ("totals_u32", 1, of_sum),
            ("sums_u32", 1, 2 * of_sum),
            ("digit_counts", 1, 2),
            ("digit_places", 1, 0),
            ("move_", 2, of_move),
        ],
    );
}

#[test]
fn barriers_of_the_tests_of_cuda_std_are_those_of_the_source() {
    // As written in the source, that of a loop once; all others have none.
    let written = BTreeMap::from([
        ("add_shared_f32", 2),
        ("add_shared_f64", 2),
        ("atomics_shared_i32", 2),
        ("atomics_shared_i64", 2),
        ("atomics_shared_u32", 2),
        ("atomics_shared_u64", 2),
        ("block_sums", 1),
        ("dynamic_ring", 1),
        ("shared_arrays", 1),
        // It inlines a function with two barriers twice.
        ("shared_in_a_helper", 4),
        ("static_and_dynamic", 1),
    ]);
    let summary = summary("cuda_std_tests");
    for entry in &summary.entries {
        let expected = written.get(entry.as_str()).copied().unwrap_or(0);
        assert_eq!(summary.barriers[entry], expected, "{entry}");
    }
    assert!(
        written
            .keys()
            .all(|&name| summary.entries.iter().any(|entry| entry == name))
    );
    // `shared_in_a_call` calls the function with the two barriers.
    let mut called = summary.barriers.iter().filter(|(name, count)| {
        **count > 0 && !summary.entries.contains(name) && name.contains("from_neighbour_called")
    });
    assert_eq!(called.next().map(|(_, &count)| count), Some(2));
}

/// What is slow where it is not meant: generic accesses and local memory.
#[test]
fn accesses_know_their_memory() {
    for (name, local) in [
        ("box_overlap", vec![]),
        ("primitives", vec![]),
        ("tensor_sketch", vec![]),
        // It looks up a place of its parameter that only the thread knows.
        ("cuda_std_tests", vec!["table"]),
    ] {
        let file = kernels().join("ptx").join(format!("{name}.sm_70.ptx"));
        let ptx = fs::read_to_string(file).unwrap();
        let mut entry = "";
        for line in ptx.lines().map(str::trim) {
            if let Some((_, rest)) = line.split_once(".entry ") {
                entry = rest.trim_end_matches(['(', ')']);
            }
            if line.contains("__local_depot") {
                assert!(local.contains(&entry), "{name}: {entry} uses local memory");
            }
            let operation = line.split_whitespace().next().unwrap_or_default();
            let is_access = ["ld.", "st.", "atom.", "red."]
                .iter()
                .any(|start| operation.starts_with(start));
            let is_known = ["global", "shared", "param", "local"]
                .iter()
                .any(|memory| operation.split('.').any(|part| part == *memory));
            assert!(!is_access || is_known, "{name}, {entry}: {line}");
        }
    }
}
