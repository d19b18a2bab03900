//! Golden outputs: see `program_tests::golden`.

use program_tests::golden::{Case, On, check_all};

/// The unit roundoff of each type.
const U32: f64 = f32::EPSILON as f64 / 2.0;
const U64: f64 = f64::EPSILON / 2.0;

/// Up to 38 letters have at most C(38, 3) = 8436 tuples: in `f64` the error of the Fourier form is far
/// below 1/2, so that sketches are rounded to whole numbers, whose squared differences are whole too.
/// Square roots of `f64` have one right rounding, and trees and pictures are made by the host.
#[test]
fn tensor_sketch() {
    Case::new(
        "tensor_sketch",
        "tensor-sketch tests/golden/inputs/animals.fa --tables tests/golden/inputs/tables.json \
         --f64 --dim 8 --out OUT/sketches.npy --distances OUT/distances.tsv --tree OUT/tree.nwk \
         --plot OUT/heat.svg --plot-tree OUT/tree.svg",
    )
    .check();
}

/// In the Fourier form, `f32`, divided by the number of tuples.
///
/// The bound E in `crates/test_support/src/sketch.rs` for n = 38 letters and t = 3: r = 2n + 6t = 94 roundings,
/// E = √2·γ_94(2⁻²⁴)·C(n, k) ≈ 133·2⁻²⁴·C(n, k), which is divided by C(n, k), with three more
/// roundings of a number below 1. The part in `f64` is less than one rounding of `f32`. So a number
/// is at most 137·2⁻²⁴ off, the distance of two sketches of D = 8 numbers 2·√8·137·2⁻²⁴, and its
/// computation adds γ_12(2⁻²⁴) of at most 2·√8: together 843·2⁻²⁴. Two devices differ by at most
/// twice as much.
#[test]
fn tensor_sketch_normalized() {
    Case::new(
        "tensor_sketch_normalized",
        "tensor-sketch tests/golden/inputs/animals.fa --tables tests/golden/inputs/tables.json \
         --normalize --dim 8 --out OUT/sketches.npy --distances OUT/distances.tsv",
    )
    .bound(2.0 * 843.0 * U32)
    .check();
}

/// A window of 12 letters has C(12, 2) = 66 tuples: E is below 1/2, so that its sketch is rounded to
/// whole numbers. The host divides the sums of windows.
#[test]
fn tensor_sketch_windows() {
    Case::new(
        "tensor_sketch_windows",
        "tensor-sketch tests/golden/inputs/animals.fa --windows 12:4 --mean --dim 8 --tuple 2 \
         --out OUT/means.npy",
    )
    .check();
}

/// `whole.npy` has the sketches of the first case: whole numbers, as there.
#[test]
fn distances() {
    Case::new(
        "distances",
        "distances tests/golden/inputs/whole.npy --names tests/golden/inputs/names.txt \
         --out OUT/distances.tsv",
    )
    .check();
}

/// `fractions.npy` has the sketches of the second case: D = 8 numbers below 1 in `f32`, whose squared distances are below
/// 32. The error is at most γ_12(2⁻²⁴) of that, and two devices differ by at most twice as much. The
/// mean in `f64` adds less than a hundredth of a rounding of `f32`.
#[test]
fn distances_of_two_files() {
    Case::new(
        "distances_of_two_files",
        "distances tests/golden/inputs/fractions.npy \
         tests/golden/inputs/fractions.npy --metric squared-l2 \
         --out OUT/distances.npy",
    )
    .bound(2.0 * 12.1 * U32 * 32.0)
    .check();
}

/// Distances of whole numbers, and of each row those of the other rows alone.
#[test]
fn nearest_rows() {
    Case::new(
        "nearest_rows",
        "distances tests/golden/inputs/whole.npy --names tests/golden/inputs/names.txt \
         --nearest 2 --out OUT/nearest.tsv",
    )
    .check();
}

/// Edit distances are whole numbers. Up to 34 letters have at most C(34, 2) = 561 tuples, so that
/// sketches are whole numbers until they are divided by the number of tuples: a number, at most 1,
/// has one rounding. With 8 numbers in each of up to 6 windows, n = 48, a distance is at most 2·√n
/// and wrong by 2·√n roundings, and its computation adds γ_(n + 4)(2⁻²⁴) of it: together
/// 2·√48·(1 + 1.01·52) < 742 roundings. Two devices differ by at most twice as much.
#[test]
fn edit_distance() {
    Case::new(
        "edit_distance",
        "edit-distance tests/golden/inputs/first.fa tests/golden/inputs/second.fa --tuple 2 --dim 8 \
         --windows 12:4 --out OUT/distances.tsv",
    )
    .bound(2.0 * 742.0 * U32)
    .check();
}

/// Distances of sketches alone, of fewer numbers than above.
#[test]
fn edit_distance_within_groups() {
    Case::new(
        "edit_distance_within_groups",
        "edit-distance tests/golden/inputs/first.fa --group 3 --tuple 2 --dim 8 --out OUT/distances.tsv",
    )
    .bound(2.0 * 742.0 * U32)
    .check();
}

/// The correlations have the order of the distances alone, which differ by more than their errors.
#[test]
fn edit_distance_grid() {
    Case::new(
        "edit_distance_grid",
        "edit-distance tests/golden/inputs/first.fa tests/golden/inputs/second.fa --grid --tuple 1,2 \
         --dim 4,8 --windows 12:4 --seeds 2 --out OUT/grid.tsv",
    )
    .check();
}

/// Comparisons alone, as in all cases of boxes.
#[test]
fn box_overlap() {
    check_all([
        Case::new(
            "box_overlap",
            "box-overlap tests/golden/inputs/set1.csv tests/golden/inputs/set2.csv --out OUT/pairs.csv \
         --matrix OUT/matrix.npy --limit 2 --plot OUT/boxes.svg",
        ),
        Case::new(
            "box_overlap_of_one_set",
            "box-overlap tests/golden/inputs/set1.csv --type f64 --out OUT/pairs.csv",
        ),
    ]);
}

#[test]
fn box_overlap_joined() {
    check_all([
        Case::new(
            "box_overlap_left_join",
            "box-overlap tests/golden/inputs/set1.csv tests/golden/inputs/set2.csv --join id,minX \
         --out OUT/joined.csv",
        ),
        Case::new(
            "box_overlap_inner_join",
            "box-overlap tests/golden/inputs/set1.csv tests/golden/inputs/set2.csv --join id \
         --join-kind inner --out OUT/joined.csv",
        ),
        Case::new(
            "box_overlap_pairs_join",
            "box-overlap tests/golden/inputs/set1.csv tests/golden/inputs/set2.csv --join id \
         --join-kind pairs --out OUT/joined.csv",
        ),
    ]);
}

/// Integers, which are written as thousandths.
#[test]
fn box_overlap_generated() {
    Case::new(
        "box_overlap_generated",
        "box-overlap --generate 25 OUT/pipes",
    )
    .on(On::NoDevice)
    .check();
}

/// The sketches of the first case times their transpose: whole numbers below 8·C(38, 3)² < 2⁵³.
#[test]
fn matmul() {
    Case::new(
        "matmul",
        "matmul --a tests/golden/inputs/whole.npy \
         --b tests/golden/inputs/whole.npy --trans-b --type f64 --repeat 1 \
         --out OUT/product.npy",
    )
    .check();
}

/// Random numbers in [-1, 1), k = 7: a sum is at most γ_7(2⁻²⁴)·7 off, and two devices differ by at
/// most twice as much.
#[test]
fn matmul_of_random_numbers() {
    Case::new(
        "matmul_of_random_numbers",
        "matmul --m 5 --k 7 --n 3 --seed 1 --repeat 1 --out OUT/product.npy",
    )
    .bound(2.0 * 7.1 * U32 * 7.0)
    .check();
}

/// Values are multiples of 1/4 up to 10³: sums, differences and the middle between two are exact, and
/// counts, extremes and percentiles are documented to be the same on every device.
#[test]
fn time_series() {
    check_all([
        Case::new(
            "time_series",
            "time-series tests/golden/inputs/rooms.csv --every 1h --fill null \
         --aggregate count,sum,min,max,first,last,median,p75,rate:max --out OUT/buckets.csv",
        ),
        Case::new(
            "time_series_plot",
            "time-series tests/golden/inputs/rooms.csv --every 1h --aggregate min,max \
         --plot OUT/rooms.svg",
        ),
    ]);
}

/// The bounds in the documentation of `gridstride::time_series`, u = 2⁻⁵³. Sums are exact here, so a
/// mean has one rounding, of at most 10³. With n ≤ 4 and k = n + 65, 50·n·k²·u² is below 10⁶·u², so a
/// variance V < 10⁶ is at most 3.1·u·V off, and a deviation less. Two devices differ by at most twice
/// as much.
#[test]
fn time_series_deviations() {
    Case::new(
        "time_series_deviations",
        "time-series tests/golden/inputs/rooms.csv --every 90m --origin 2026-03-02T00:30:00Z \
         --aggregate mean,std,var",
    )
    .bound(2.0 * 3.1 * U64 * 1e6)
    .check();
}

#[test]
fn time_series_generated() {
    Case::new(
        "time_series_generated",
        "time-series --generate 12 --out OUT/rooms.csv",
    )
    .on(On::NoDevice)
    .check();
}

/// The program compares every sum itself.
#[test]
fn vector_add() {
    Case::new(
        "vector_add",
        "vector-add --elements 1000 --streams 1,3 --repeat 1",
    )
    .check();
}

/// The CPU and the simulator: GPUs and the driver are other ones on every machine.
#[test]
fn devices() {
    Case::new("devices", "devices").on(On::NoDevice).check();
}
