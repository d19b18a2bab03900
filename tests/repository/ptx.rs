//! Checks that the checked-in PTX matches its sources, and has the barriers of the sources.
//! This needs no device compiler; CI also rebuilds the PTX.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cuda_builder::{PtxSummary, Record, source_hash};

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels-gpu")
}

/// The examples of kernel crates outside of kernels-gpu, which carry their PTX themselves.
const CUSTOM: [&str; 3] = ["custom_aggregate", "own_kernel", "rust_cuda_style"];

fn custom(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples")
        .join(name)
}

/// Returns the folder of a kernel crate and the folder of its PTX.
fn folders(name: &str) -> [PathBuf; 2] {
    if CUSTOM.contains(&name) {
        return [custom(name).join("kernels"), custom(name).join("ptx")];
    }
    // Beside the crate that launches the kernels, if there is one.
    let host = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("crates")
        .join(name);
    let ptx = [host.join("ptx"), kernels().join("ptx")];
    let ptx = ptx.into_iter().find(|folder| folder.exists()).unwrap();
    [kernels().join(name), ptx]
}

fn record(name: &str) -> Record {
    let [_, ptx] = folders(name);
    Record::load(&ptx.join("record.toml")).unwrap()
}

/// The names in the record that has this kernel crate.
fn recorded_beside(name: &str) -> BTreeSet<String> {
    let record = record(name);
    record.crates().map(|(name, _)| name.to_owned()).collect()
}

/// The kernel crates under kernels-gpu.
fn workspace_crates() -> BTreeSet<String> {
    fs::read_dir(kernels())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("Cargo.toml").exists())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

#[test]
fn the_ptx_is_not_older_than_its_sources() {
    let names = workspace_crates();
    for name in names.iter().map(String::as_str).chain(CUSTOM) {
        let record = record(name);
        let (_, recorded) = record.crates().find(|(known, _)| *known == name).unwrap();
        let [folder, ptx] = folders(name);
        assert_eq!(
            source_hash(&folder).unwrap().hash,
            recorded.sources,
            "run `cargo xtask ptx`: {name} has changed"
        );
        record.check_files(name, &ptx).unwrap();
    }
}

#[test]
fn every_kernel_crate_has_its_ptx() {
    let recorded = (workspace_crates().iter())
        .flat_map(|name| recorded_beside(name))
        .collect();
    assert_eq!(workspace_crates(), recorded);
    for name in CUSTOM {
        assert_eq!(BTreeSet::from([name.to_owned()]), recorded_beside(name));
    }
}

/// Returns the PTX of a kernel crate for each of its architectures.
fn images(name: &str) -> Vec<String> {
    architectures(name)
        .iter()
        .map(|architecture| image(name, architecture))
        .collect()
}

/// Returns the architectures of the PTX of a kernel crate.
fn architectures(name: &str) -> Vec<String> {
    let record = record(name);
    let (_, recorded) = record.crates().find(|(known, _)| *known == name).unwrap();
    recorded.ptx.keys().cloned().collect()
}

/// Returns the PTX of a kernel crate for an architecture.
fn image(name: &str, architecture: &str) -> String {
    let file = format!("{name}.{architecture}.ptx");
    let [_, ptx] = folders(name);
    fs::read_to_string(ptx.join(file)).unwrap()
}

/// Counts the barriers in a source file of a kernel crate.
fn written(file: &str) -> usize {
    let source = fs::read_to_string(kernels().join(file)).unwrap();
    source.matches("thread::sync_threads()").count()
}

/// Kernels whose names begin so, their number, and the barriers of each.
type Family<'a> = (&'a str, usize, usize);

/// A compiler that does not know barriers may copy a barrier into both arms of a branch.
fn check_barriers(name: &str, families: &[Family]) {
    for ptx in images(name) {
        let summary = PtxSummary::of(&ptx);
        let counted: usize = families.iter().map(|(_, count, _)| count).sum();
        assert_eq!(
            summary.entries.len(),
            counted,
            "a family of {name} is missing"
        );
        check_families(&summary, families);
    }
}

fn check_families(summary: &PtxSummary, families: &[Family]) {
    for &(family, count, written) in families {
        let entries = summary.entries.iter();
        let entries: Vec<_> = entries.filter(|entry| entry.starts_with(family)).collect();
        assert_eq!(entries.len(), count, "{family}");
        for entry in entries {
            assert_eq!(summary.barriers[entry], written, "{entry}");
        }
    }
}

#[test]
fn barriers_of_the_matrix_products_are_neither_copied_nor_lost() {
    let written = |file: &str| written(&format!("matmul/src/{file}"));
    // Stages wait in one place, which is inlined twice: for the first stage and for the others.
    let of_stages = 2 * written("stages.rs");
    // Both forms for thin factors have two barriers each. Across, sums pass through shared memory
    // once for every four columns.
    let along = 2;
    let adding = written("skinny.rs") - 2 * along;
    let across = |columns: usize| along + columns.div_ceil(4) * adding;
    let mut families: Vec<(String, usize, usize)> = [
        ("fma_", 10, of_stages),
        ("add_parts_", 4, 0),
        ("cast_", 6, 0),
        ("pack_", 2, 1),
        ("widen_", 2, 1),
        ("skinny_f32_along_", 9, along),
        ("skinny_f64_along_", 9, along),
    ]
    .map(|(family, count, barriers)| (family.to_owned(), count, barriers))
    .into();
    for number in ["f32", "f64", "f16", "bf16"] {
        families.push((format!("vector_{number}_along"), 1, written("vector.rs")));
        families.push((format!("vector_{number}_across"), 1, 0));
    }
    for number in ["f32", "f64"] {
        for columns in [1, 2, 4, 8, 12, 16] {
            // `_1` begins `_12` and `_16` too.
            if columns != 1 {
                let family = format!("skinny_{number}_across_{columns}");
                families.push((family, 1, across(columns)));
            }
        }
        families.push((format!("skinny_{number}_across_any_4"), 1, across(4)));
        families.push((format!("skinny_{number}_across_any_16"), 1, across(16)));
    }
    for architecture in architectures("matmul") {
        let ptx = image("matmul", &architecture);
        // Names that begin other names are checked separately.
        let summary = PtxSummary::of(&ptx);
        let mut of_image: Vec<Family> = families
            .iter()
            .map(|(family, count, barriers)| (family.as_str(), *count, *barriers))
            .collect();
        if architecture != "sm_70" {
            of_image.push(("mma_", 19, of_stages));
            of_image.push(("half_", 8, written("half.rs")));
            of_image.push(("split_", 1, 0));
            of_image.push(("tiny_f64_", 5, of_stages));
            for (number, count) in [("small_f16_", 8), ("small_bf16_", 8), ("small_tf32_", 4)] {
                of_image.push((number, count, written("small.rs")));
            }
        }
        if architecture == "sm_90a" {
            of_image.push(("wgmma_tf32_", 1, written("wgmma.rs")));
            of_image.push(("persistent_", 32, written("ring.rs")));
            of_image.push(("mixed_", 4, written("ring.rs")));
            of_image.push(("thin_", 4, written("thin.rs")));
        }
        for number in ["f32", "f64"] {
            for name in ["across_1", "across_any_1"] {
                assert_eq!(
                    summary.barriers[&format!("skinny_{number}_{name}")],
                    across(1),
                    "{name}"
                );
            }
        }
        let counted: usize = of_image.iter().map(|(_, count, _)| count).sum();
        assert_eq!(summary.entries.len(), counted + 4, "a family is missing");
        check_families(&summary, &of_image);
    }
}

/// Operands of the matrix instructions of warp groups begin at multiples of 1024 bytes, and tensor
/// maps at multiples of 64.
#[test]
fn shared_memory_and_tensor_maps_are_aligned() {
    let ptx = image("matmul", "sm_90a");
    let (shared, map) = (
        ".extern .shared .align 1024 .b8 __dynamic_smem[]",
        ".param .align 64 .b8",
    );
    assert!(
        ptx.contains(shared),
        "dynamic shared memory has another alignment"
    );
    let entries: Vec<_> = ptx.split(".entry persistent_").skip(1).collect();
    assert_eq!(entries.len(), 32);
    for entry in entries {
        let (name, _) = entry.split_once('(').unwrap();
        for number in 0..2 {
            let parameter = format!("{map} persistent_{name}_param_{number}[128]");
            assert!(entry.contains(&parameter), "{name} has no {parameter}");
        }
    }
}

/// Else the assembler does not know with how many registers a block starts, and leaves out what
/// gives and takes them.
#[test]
fn kernels_that_give_registers_away_have_a_least_number_of_blocks() {
    for name in ["matmul", "cuda_std_tests"] {
        let ptx = image(name, "sm_90a");
        let giving = ptx.split(".visible .entry ").skip(1);
        let giving: Vec<_> = giving
            .filter(|entry| entry.contains("setmaxnreg"))
            .collect();
        assert!(!giving.is_empty(), "{name}");
        for entry in giving {
            let (kernel, _) = entry.split_once('(').unwrap();
            assert!(
                entry.contains(".minnctapersm"),
                "add min_blocks = 1 to {kernel}"
            );
        }
    }
}

#[test]
fn kernels_have_their_clusters() {
    let ptx = image("cuda_std_tests", "sm_90a");
    let mut entries = ptx.split(".visible .entry ");
    let entry = entries.find(|entry| entry.starts_with("shared_tiles("));
    assert!(entry.unwrap().contains(".reqnctapercluster 2"));
}

#[test]
fn barriers_of_the_tensor_sketch_are_neither_copied_nor_lost() {
    let written = |file: &str| written(&format!("tensor_sketch/src/{file}"));
    check_barriers(
        "tensor_sketch",
        &[
            ("direct_", 10, written("direct.rs")),
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
fn barriers_of_the_distances_are_neither_copied_nor_lost() {
    let of_sums = written("distances/src/sums.rs");
    // Of all pairs, and of each with its index.
    let of_paired = 1;
    let of_slides = written("distances/src/slide.rs") - of_paired;
    // A sort has two. Lists are shortened in two places, by a sort and one more, besides a barrier
    // before the first tile and one with a predicate behind each. Two sorts and one more merge them.
    let of_sort = 2;
    let (of_search, of_merge) = (2 + 2 * (of_sort + 1) + of_sums, 2 * of_sort + 1);
    assert_eq!(written("distances/src/nearest.rs"), 1 + 1 + of_sort + 1);
    // Before the first distances and behind a sort; besides, one with a predicate behind each step.
    // There are two sorts.
    assert_eq!(written("distances/src/select.rs"), 1 + 1);
    let of_select = 2 + 2 * (of_sort + 1);
    let of_largest = written("distances/src/largest.rs");
    check_barriers(
        "distances",
        &[
            ("distances_", 2, of_sums),
            ("pairwise_", 2, of_sums),
            ("few_distances_", 2, 2 * of_largest + of_sums),
            ("few_pairwise_", 2, of_largest + of_sums),
            // The barrier of their sums has a predicate.
            ("slide_f", 2, of_slides + of_sums),
            ("slide_paired_", 2, of_paired),
            ("nearest_", 2, of_search),
            ("merge_nearest", 1, of_merge),
            ("select_nearest", 1, of_select),
            ("largest_", 2, of_largest),
        ],
    );
}

#[test]
fn barriers_of_the_edit_distance_are_neither_copied_nor_lost() {
    let of_long = written("edit_distance/src/long.rs");
    check_barriers("edit_distance", &[("short_", 9, 0), ("long_", 3, of_long)]);
}

#[test]
fn barriers_of_the_box_overlap_are_neither_copied_nor_lost() {
    let written = |file: &str| written(&format!("box_overlap/src/{file}"));
    let of_tree = written("tree.rs");
    check_barriers(
        "box_overlap",
        &[
            ("start", 1, 0),
            ("examine_", 3, written("examine.rs")),
            ("keys_", 3, 0),
            ("leaves_", 3, written("build.rs")),
            ("levels", 1, written("build.rs")),
            ("find_", 3, of_tree),
            ("append_rows", 1, 0),
            ("write_rows", 1, 0),
            ("sample_rows_", 3, of_tree),
            ("count_rows_", 3, of_tree),
            ("fill_rows_", 3, of_tree),
            ("row_counts", 1, 0),
            ("place_rows", 1, 0),
            ("codes_", 3, 0),
            ("brute_count_", 3, written("brute.rs")),
            ("brute_fill_", 3, 0),
            ("row_offsets", 1, 0),
            ("few_", 3, written("few.rs")),
            ("pair_list", 1, 0),
            ("matrix", 1, 0),
        ],
    );
}

#[test]
fn barriers_of_the_ladders_are_neither_copied_nor_lost() {
    let written = |file: &str| written(&format!("ladder/src/{file}"));
    let in_sketches = |file: &str| written(&format!("tensor_sketch/{file}"));
    // All three kernels that bring tiles of boxes, and V6 and the function for V7 and V8, are
    // written out.
    let of_several = in_sketches("several_places.rs");
    let of_staged = of_several + in_sketches("staged.rs");
    check_barriers(
        "ladder",
        &[
            ("matmul_naive", 1, 0),
            ("matmul_tiled", 1, written("matmul.rs")),
            ("block_shape", 1, 0),
            ("overlaps_plain", 1, 0),
            ("overlaps_shared", 2, written("box_overlap.rs") / 3),
            ("overlaps_half", 1, written("box_overlap.rs") / 3),
            ("vector_add", 2, 0),
            ("sum_neighbours", 1, 0),
            ("sum_staged_neighbours", 1, written("timestamps.rs")),
            ("sum_runs", 1, 0),
            ("count_runs", 1, 0),
            ("round_timestamps", 1, 0),
            ("sketch_sequence", 1, in_sketches("wide.rs")),
            ("sketch_all", 1, in_sketches("wide.rs")),
            ("sketch_32_bits", 1, 3),
            ("sketch_one_barrier", 1, in_sketches("one_place.rs") - 3),
            ("sketch_along_places", 1, in_sketches("one_place.rs") - 3),
            ("sketch_consecutive_", 11, of_several),
            ("sketch_strided_", 11, of_several),
            ("sketch_staged_", 2, of_staged),
            ("sketch_constant_tables", 1, of_staged),
            ("sketch_pointers", 1, of_staged),
            ("sketch_run_time_sizes", 1, in_sketches("run_time.rs")),
        ],
    );
}

#[test]
fn barriers_of_the_primitives_are_neither_copied_nor_lost() {
    let of_sum = written("primitives/src/block.rs");
    // A pass sums the totals in the lowest tile, and the counts of a tile in all.
    let of_pass = written("primitives/src/tile.rs") + 2 * of_sum;
    check_barriers(
        "primitives",
        &[
            ("totals_u32", 1, of_sum),
            ("sums_u32", 1, 2 * of_sum),
            ("digit_totals", 1, written("primitives/src/sort.rs")),
            ("sort_", 4, of_pass),
        ],
    );
}

#[test]
fn the_pipeline_has_no_barriers() {
    check_barriers("stream", &[("add", 1, 0)]);
}

#[test]
fn barriers_of_the_time_series_are_neither_copied_nor_lost() {
    let written = |file: &str| written(&format!("time_series/src/{file}"));
    let of_join = written("segments.rs");
    let of_sum = self::written("primitives/src/block.rs");
    let of_short = written("reduce.rs") + written("short.rs");
    let of_reduce = of_short + written("long.rs") + of_join;
    // Barriers of the functions in percentiles/block.rs, in the order of the file.
    let (cleared, extent, chosen) = (1, 2, of_sum + 1);
    let narrowed = 1 + chosen;
    let selected = narrowed + 2 * extent;
    assert_eq!(written("percentiles/block.rs"), cleared + extent + 1 + 1);
    check_barriers(
        "time_series",
        &[
            ("sums_", 4, of_reduce),
            ("statistics_", 4, of_reduce),
            ("moments_", 4, of_reduce),
            ("states_of_moments_reduce", 1, of_reduce),
            ("states_of_moments_join", 1, of_join),
            ("join_moments", 1, of_join),
            ("counts", 1, of_reduce),
            ("summaries_reduce", 1, of_reduce),
            ("summaries_join", 1, of_join),
            ("join_s", 2, of_join),
            ("short_join_s", 2, 0),
            ("mark_series", 1, 0),
            ("bound_tiles", 1, 0),
            ("bucket", 1, 0),
            ("prepare_", 2, 0),
            ("round", 1, 0),
            ("short_f", 2, 0),
            ("short_s", 8, of_short),
            ("sorted_", 2, 0),
            ("middle_", 8, 0),
            ("long_", 2, cleared + 2 * extent + 1 + narrowed + selected),
            ("huge_begin", 1, 0),
            ("huge_tiles", 1, 0),
            ("huge_extents_", 2, extent),
            ("huge_histogram_", 2, cleared + 1),
            ("huge_choose", 1, chosen),
            ("huge_gather_", 2, extent),
            ("huge_finish", 1, cleared + 1 + selected),
            ("keep_", 2, 0),
            ("kept_indices", 1, 0),
            ("pick_", 3, 0),
            ("reorder_", 3, 0),
            ("time_keys", 1, 0),
            ("series_keys", 1, 0),
            ("fill", 2, 0),
        ],
    );
    check_barriers(
        "custom_aggregate",
        &[
            ("geometric_mean_reduce", 1, of_reduce),
            ("geometric_mean_join", 1, of_join),
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
        // One in a loop, which is unrolled.
        ("block_sums_f32_64", 6),
        ("block_sums_f64_32", 5),
        ("block_sums_of_integers", 7),
        // Six that reduce.
        ("counting_barriers", 6),
        ("dynamic_ring", 1),
        ("mallocs", 1),
        ("mirrored_16", 1),
        ("mirrored_4", 1),
        ("mirrored_8", 1),
        ("shared_arrays", 1),
        ("shared_count", 2),
        // It inlines a function with two barriers twice.
        ("shared_in_a_helper", 4),
        ("shared_statics", 2),
        ("static_and_dynamic", 1),
        ("summed_16", 1),
        ("summed_4", 1),
        ("summed_8", 1),
    ]);
    // Kernels whose instructions are the same everywhere are in the first image alone.
    let of_all = |name: &str| {
        !["mallocs", "shared_count"].contains(&name) && !name.starts_with("block_sums_")
    };
    for (image, summary) in images("cuda_std_tests")
        .iter()
        .map(|ptx| PtxSummary::of(ptx))
        .enumerate()
    {
        for entry in &summary.entries {
            // Barriers of warp groups and of tiles, which not every architecture has.
            let in_some = |entry: &str| match entry {
                "copied_tile" | "summed_tiles" => 1,
                // Two of the cluster, of an arrival and a wait each.
                "shared_tiles" => 4,
                _ => usize::from(entry.starts_with("wide_")),
            };
            let expected = match written.get(entry.as_str()) {
                Some(&count) => count,
                None => in_some(entry),
            };
            assert_eq!(summary.barriers[entry], expected, "{entry}");
        }
        assert!(
            written
                .keys()
                .filter(|name| image == 0 || of_all(name))
                .all(|&name| summary.entries.iter().any(|entry| entry == name))
        );
        // `shared_in_a_call` calls the function with the two barriers.
        let mut called = summary.barriers.iter().filter(|(name, count)| {
            **count > 0 && !summary.entries.contains(name) && name.contains("from_neighbour_called")
        });
        assert_eq!(called.next().map(|(_, &count)| count), Some(2));
    }
}

/// The host can set a constant only if it has its own name, and if no kernel has its initial value
/// instead.
#[test]
fn constants_are_visible_and_read() {
    for ptx in images("cuda_std_tests") {
        for name in ["COEFFICIENTS", "SETTINGS", "UNTOUCHED", "VISIBLE"] {
            let mut lines = ptx.lines();
            let is_definition = |line: &str| {
                line.starts_with(".visible .const .align ") && line.contains(&format!(" {name}["))
            };
            assert!(lines.any(is_definition), "{name}");
            let is_read = |line: &str| {
                line.trim_start().starts_with("ld.const") && line.contains(&format!("[{name}"))
                    || line.contains(&format!(", {name};"))
            };
            assert!(ptx.lines().any(is_read), "{name}");
        }
    }
}

/// LLVM 22 drops the order of operations that read, modify and write, which `cuda_builder` gives
/// back by fences. Of several blocks that pass messages on, a GPU would show a missing one rarely.
#[test]
fn orders_of_atomic_operations_are_kept() {
    let ptx = &images("cuda_std_tests")[0];
    for (kernel, acquiring, releasing) in [
        ("messages_exchanged", ".or.", ".exch."),
        ("messages_compared", ".cas.", ".cas."),
    ] {
        let instructions = instructions_of(ptx, kernel);
        let is_fence = |at: Option<usize>| {
            let text = at.and_then(|at| instructions.get(at));
            text.is_some_and(|text| text.starts_with("fence."))
        };
        // The addition that counts the blocks is relaxed.
        let is_ordered = |text: &str| text.starts_with("atom.") && !text.contains(".add.");
        let (mut acquired, mut released) = (0, 0);
        for (at, text) in instructions.iter().enumerate() {
            if !is_ordered(text) {
                continue;
            }
            let has = |order: &str| text.contains(order) || text.contains(".acq_rel.");
            let acquires = has(".acquire.") || is_fence(Some(at + 1));
            let releases = has(".release.") || is_fence(at.checked_sub(1));
            assert!(acquires || releases, "{kernel}: {text} is relaxed");
            acquired += usize::from(acquires && text.contains(acquiring));
            released += usize::from(releases && text.contains(releasing));
        }
        assert!(acquired > 0, "{kernel}: nothing acquires");
        assert!(released > 0, "{kernel}: nothing releases");
    }
}

/// Atomic operations of the library's kernels are of device scope, as `cuda_std::atomic` says:
/// those of system scope are atomic towards the host too, and wait for it.
#[test]
fn atomic_operations_are_of_device_scope() {
    let crates = workspace_crates();
    for name in crates.iter().filter(|name| *name != "cuda_std_tests") {
        for ptx in images(name) {
            let is_wide = |line: &&str| line.contains(".sys.");
            let wide: Vec<_> = ptx.lines().filter(is_wide).collect();
            assert!(wide.is_empty(), "{name}: {wide:?}");
        }
    }
    // The tests of cuda_std have both. Those of system scope are written in assembly, which does not
    // name the memory.
    for ptx in images("cuda_std_tests") {
        let is_wide = |line: &&str| line.contains(".sys.global.") || line.contains(".sys.shared.");
        let wide: Vec<_> = ptx.lines().filter(is_wide).collect();
        assert!(wide.is_empty(), "{wide:?}");
    }
}

/// Returns the instructions and labels of a kernel.
fn instructions_of<'a>(ptx: &'a str, kernel: &str) -> Vec<&'a str> {
    let start = format!(".entry {kernel}(");
    let lines = ptx.lines().skip_while(|line| !line.contains(&start));
    let lines = lines.take_while(|line| *line != "}").map(str::trim);
    let is_text = |line: &&str| !line.is_empty() && !line.starts_with("//");
    let instructions: Vec<_> = lines.filter(is_text).collect();
    assert!(!instructions.is_empty(), "no kernel {kernel}");
    instructions
}

/// Finds accidental generic accesses and local memory, which are slow. The kernels of [`CUSTOM`]
/// have both, from the table in the `exp` of libm and from slices of the hash functions.
#[test]
fn accesses_know_their_memory() {
    let of_library = |name: &String| !["cuda_std_tests", "ladder"].contains(&name.as_str());
    for name in workspace_crates().into_iter().filter(of_library) {
        let [local, generic] = slow_accesses(&images(&name).join("\n"));
        assert_eq!((local, generic), Default::default(), "{name}");
    }
    // The first image of the tests has `libm`, `alloc` and text too, which have tables and buffers
    // in local memory.
    let of_names = |names: &[&str]| -> BTreeSet<String> {
        let is_slow = names.iter().map(|name| name.to_string());
        is_slow.collect()
    };
    for image in &images("cuda_std_tests")[1..] {
        let [local, generic] = slow_accesses(image).map(|functions| {
            // Generators of `rand_xoshiro` make their states of bytes, in a function with a long
            // name.
            let short = |name: String| match name.contains("rand_xoshiro") {
                true => "rand_xoshiro".to_owned(),
                false => name,
            };
            functions.into_iter().map(short).collect::<BTreeSet<_>>()
        });
        // These look up a place of a parameter that only the thread knows, take addresses of
        // variables, or have both as their topic.
        let expected = of_names(&[
            "arrays",
            "clocks",
            "converted_addresses",
            "memories",
            "rand_xoshiro",
            "random_others",
            "table",
            "vectors",
        ]);
        assert_eq!(local, expected);
        // `memcmp` compares any memory, and methods of atomic floats have a reference to any.
        let expected = of_names(&[
            "converted_addresses",
            "memcmp",
            "rand_xoshiro",
            "shared_statics",
        ]);
        assert_eq!(generic, expected);
    }
}

/// Returns the functions that use local memory, and those with accesses to memory that only the
/// hardware knows.
fn slow_accesses(ptx: &str) -> [BTreeSet<String>; 2] {
    let [mut local, mut generic] = [BTreeSet::new(), BTreeSet::new()];
    let mut function = String::new();
    for line in ptx.lines().map(str::trim) {
        let head = line
            .split_once(".entry ")
            .or_else(|| line.split_once(".func "));
        if let Some((_, head)) = head {
            // A function that returns something has the result, in brackets, before its name.
            let head = head.trim().trim_end_matches(['(', ')']);
            let name = head.rsplit([' ', ')']).next().unwrap_or_default();
            function = name.to_owned();
        }
        if line.contains("__local_depot") {
            local.insert(function.clone());
        }
        let operation = line.split_whitespace().next().unwrap_or_default();
        let is_access = ["ld.", "st.", "atom.", "red."]
            .iter()
            .any(|start| operation.starts_with(start));
        let is_known = ["global", "shared", "param", "local", "const"]
            .iter()
            .any(|memory| operation.split('.').any(|part| part == *memory));
        if is_access && !is_known {
            generic.insert(function.clone());
        }
    }
    [local, generic]
}
