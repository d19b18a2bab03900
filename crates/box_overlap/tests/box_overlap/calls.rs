//! Box overlap on every device, with every algorithm and in every type, against the reference.
//!
//! Results are exact: nothing is compared with a tolerance.

use gridstride::box_overlap::{
    Algorithm, BoxOverlap, Coordinate, OverlapSlice, Overlaps, overlaps, reference, self_overlaps,
};
use gridstride::{Device, Error};
use ndarray::{Array1, Array2, ArrayView2, Axis, array, concatenate, s};

use super::{
    ALGORITHMS, Number, Random, algorithms, assert_same, check, check_on, check_self, flat,
    is_slow, numbers, pipes, set, uniform,
};
use test_support::in_every_type;
use test_support::{self, devices, fails, message};

in_every_type! { in_f32 f32, in_f64 f64, in_i32 i32: {
    every_size
    one_block_and_more
    kinds_of_sets
    any_strides
    no_boxes_and_few
    many_pairs_in_a_row
    counts_and_matrices
    slices
    hard_numbers
    self_overlaps_are_the_pairs_above_the_diagonal
    the_first_bad_row_is_named
    shapes_that_do_not_fit
} }

/// Sizes around nodes, warps, blocks and tiles: trees have 4 or 8 children a node, sorting takes
/// tiles of 2048.
fn sizes(device: &Device) -> impl Iterator<Item = usize> {
    let powers: &[usize] = match is_slow(device) {
        true => &[4, 32, 256],
        false => &[4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096],
    };
    powers.iter().flat_map(|power| power - 1..=power + 1)
}

/// Much larger sizes, on fast devices.
fn large_sizes(device: &Device) -> impl Iterator<Item = usize> {
    let powers: &[usize] = match is_slow(device) {
        true => &[2048],
        false => &[1 << 15, 1 << 16],
    };
    powers.iter().flat_map(|power| power - 1..=power + 1)
}

/// Sizes around those among which one block of threads searches, with few pairs and with so many
/// that it searches twice.
fn one_block_and_more<T: Number>() {
    let sizes = [
        (512, 512),
        (513, 512),
        (1024, 256),
        (256, 1024),
        (1025, 2),
        (2, 1025),
        (1024, 1),
        (1, 1024),
    ];
    for device in test_support::with_kernels() {
        for (rows1, rows2) in sizes {
            for extent in [30, 1000] {
                let [set1, set2] = [(rows1, 3), (rows2, 4)]
                    .map(|(rows, seed)| numbers::<T>(&uniform(rows, 1000, extent, seed)));
                let (set1, set2) = (set1.view(), set2.view());
                let expected = overlaps(&Device::cpu(), set1, set2).unwrap();
                let found = overlaps(&device, set1, set2).unwrap();
                let what = format!("{rows1} × {rows2} boxes of up to {extent} on {device}");
                assert_same::<T>(&found, &expected, &what);
                let counts = BoxOverlap::new().counts(&device, set1, set2).unwrap();
                assert_eq!(counts, expected.counts(), "{what}");
                let expected = self_overlaps(&Device::cpu(), set1).unwrap();
                let found = self_overlaps(&device, set1).unwrap();
                assert_same::<T>(&found, &expected, &format!("{what}, with itself"));
            }
        }
    }
}

fn every_size<T: Number>() {
    for device in devices() {
        let few = pipes(50, 1).map(|set| numbers::<T>(&set));
        for size in sizes(&device) {
            let sets = pipes(size, 2).map(|set| numbers::<T>(&set));
            let what = format!("50 and {size} boxes");
            check_on(&device, &few[0], &sets[1], &what);
            check_on(&device, &flat(&sets[0]), &flat(&few[1]), &what);
            if size <= 1025 {
                check_self(&device, &sets[1], &format!("{size} boxes"));
            }
        }
        // Another set, as few boxes of a large set of pipes are near the first ones.
        for size in large_sizes(&device) {
            let set = numbers::<T>(&uniform(size, 20_000, 2000, 3));
            let few = set.slice(s![..;size / 10, ..]).to_owned();
            check_on(&device, &few, &set, &format!("few and {size} boxes"));
            let what = format!("{size} and few");
            check_on(&device, &flat(&set), &flat(&few), &what);
        }
    }
}

/// Sets of all kinds that trees, curves and counters may stumble over.
fn kinds(n: usize) -> Vec<(&'static str, [Array2<i64>; 2])> {
    let m = n * 3 / 4;
    let n_numbers = n as i64;
    let mut random = Random(10);
    let giants = |seed| {
        let mut set = uniform(n, 10_000, 100, seed);
        for row in [0, n / 2, n - 1] {
            set.row_mut(row)
                .assign(&array![-1, -1, -1, 20_000, 20_000, 20_000]);
        }
        set
    };
    let clustered = |seed| {
        let mut random = Random(seed);
        set(n, |_| {
            let centre = random.within(0, 3) * 1_000_000;
            let min = [0; 3].map(|_| centre + random.within(0, 60));
            (min, min.map(|x| x + random.within(0, 10)))
        })
    };
    let stick = |axis: usize| {
        let mut random = Random(axis as u64);
        set(m, |_| {
            let min = [0; 3].map(|_| random.within(0, 10_000));
            let (mut min, mut max) = (min, min.map(|x| x + 20));
            (min[axis], max[axis]) = (0, 10_000);
            (min, max)
        })
    };
    let edge = (n as f64).cbrt() as usize;
    let grid = |shift: i64| {
        set(edge.pow(3), |i| {
            let min = [i % edge, i / edge % edge, i / edge / edge];
            let min = min.map(|x| 10 * x as i64 + shift);
            (min, min.map(|x| x + 10))
        })
    };
    let nested = |shift: i64| {
        set(m, |i| {
            let min = 2 * i as i64 + shift;
            ([min; 3], [4 * n_numbers - min; 3])
        })
    };
    let points = |seed| uniform(n, 8, 1, seed);
    let same = |count| set(count, |_| ([5; 3], [7; 3]));
    vec![
        ("pipes", pipes(n, 4)),
        (
            "uniform",
            [(n, 5), (m, 6)].map(|(n, seed)| uniform(n, 10_000, 1000, seed)),
        ),
        ("giants in set1", [giants(7), uniform(m, 10_000, 100, 8)]),
        ("giants in set2", [uniform(m, 10_000, 100, 8), giants(7)]),
        ("all equal", [same(n / 4), same(m / 3)]),
        ("equal beside others", [same(m), uniform(n, 20, 5, 9)]),
        ("clusters", [clustered(10), clustered(11)]),
        ("crossing sticks", [stick(0), stick(1)]),
        ("sticks along z", [stick(2), stick(0)]),
        ("points", [points(12), points(13)]),
        ("points in boxes", [points(14), uniform(m, 8, 3, 15)]),
        ("touching cubes", [grid(0), grid(0)]),
        (
            "cubes that touch at corners",
            [grid(0), grid(10 * edge as i64)],
        ),
        ("cubes one apart", [grid(0), grid(10 * edge as i64 + 1)]),
        ("nested", [nested(0), nested(1)]),
        (
            "negative",
            [(n, 16), (m, 17)].map(|(n, seed)| uniform(n, 1000, 100, seed) - 500),
        ),
        (
            "on a line",
            [
                set(n, |_| ([random.within(0, 5000), 0, 0], [5000, 0, 0])),
                set(m, |i| ([i as i64, 0, -1], [i as i64 + 3, 0, 1])),
            ],
        ),
    ]
}

fn kinds_of_sets<T: Number>() {
    for device in devices() {
        let n = if is_slow(&device) { 130 } else { 600 };
        for (i, (name, sets)) in kinds(n).into_iter().enumerate() {
            let [set1, set2] = sets.map(|set| numbers::<T>(&set));
            let pairs = check_on(&device, &set1, &set2, name);
            assert_eq!(pairs == 0, name == "cubes one apart", "{name}");
            if i % 2 == 0 || !is_slow(&device) {
                check_self(&device, &set1, name);
            }
            if i % 2 == 1 || !is_slow(&device) {
                let what = format!("{name} without Z");
                check_on(&device, &flat(&set1), &flat(&set2), &what);
            }
        }
    }
}

fn any_strides<T: Number>() {
    let [set1, set2] = pipes(90, 20).map(|set| numbers::<T>(&set));
    let (flat1, flat2) = (flat(&set1), flat(&set2));
    for device in devices() {
        for (set1, set2) in [(&set1, &set2), (&flat1, &flat2)] {
            let expected = reference::overlaps(set1.view(), set2.view()).unwrap();
            let width = set1.ncols();

            let check = |set1: ArrayView2<T>, set2: ArrayView2<T>, what: &str| {
                check(&device, set1, set2, &expected, what);
            };
            let pair = [set1, set2];
            let columns = pair.map(|set| set.t().as_standard_layout().into_owned());
            check(columns[0].t(), columns[1].t(), "by columns");

            let turned = s![..;-1, ..;-1];
            let backwards = pair.map(|set| set.slice(turned).as_standard_layout().into_owned());
            let reversed = backwards.each_ref().map(|set| set.slice(turned));
            check(reversed[0], reversed[1], "backwards");

            // Other columns between, and other rows.
            let among = s![2..;3, 1..;2];
            let spread = pair.map(|set| {
                let mut wide = Array2::from_elem((3 * set.nrows() + 2, 2 * width + 1), T::zeroed());
                wide.slice_mut(among).assign(set);
                wide
            });
            let strided = spread.each_ref().map(|set| set.slice(among));
            check(strided[0], strided[1], "among others");
            check(set1.view(), strided[1], "the second among others");
            check(reversed[0], set2.view(), "the first backwards");

            let every_third = [set1.slice(s![..;3, ..]), set2.slice(s![1..;3, ..])];
            let [owned1, owned2] = every_third.map(|set| set.to_owned());
            let expected = reference::overlaps(owned1.view(), owned2.view()).unwrap();
            let [set3, set4] = every_third;
            super::check(&device, set3, set4, &expected, "every third");

            // One box many times.
            let repeated = set1.row(7);
            let repeated = repeated.broadcast((70, width)).unwrap();
            let owned = repeated.to_owned();
            let expected = reference::overlaps(owned.view(), set2.view()).unwrap();
            assert_eq!(expected.row(0), expected.row(69));
            super::check(&device, repeated, set2.view(), &expected, "one many times");
            let found = self_overlaps(&device, repeated).unwrap();
            assert_eq!(found.pair_count(), 70 * 69 / 2);
        }
    }
}

fn no_boxes_and_few<T: Number>() {
    for device in devices() {
        for axes in [2, 3] {
            let some = numbers::<T>(&uniform(40, 10, 5, 21));
            let some = if axes == 3 { some } else { flat(&some) };
            let none = some.slice(s![..0, ..]).to_owned();
            for (set1, set2) in [(&none, &some), (&some, &none), (&none, &none)] {
                let what = format!("{} and {} boxes", set1.nrows(), set2.nrows());
                check_on(&device, set1, set2, &what);
                for &algorithm in algorithms(&device, set1.nrows()) {
                    let search = BoxOverlap::new().algorithm(algorithm);
                    let (set1, set2) = (set1.view(), set2.view());
                    let zeros = Array1::<u32>::zeros(set1.nrows());
                    assert_eq!(search.counts(&device, set1, set2).unwrap(), zeros);
                    let matrix = search.matrix(&device, set1, set2, 2).unwrap();
                    assert_eq!(matrix.indices, Array2::from_elem((set1.nrows(), 2), -1));
                    let slices = search.slices(&device, set1, set2, 0).unwrap();
                    let slices: Vec<_> = slices.map(Result::unwrap).collect();
                    assert_slices(&slices, set1.nrows(), 0);
                }
            }
            check_self(&device, &none, "no boxes");
            let (counts1, counts2) = ([1, 1, 2, 2, 1, 40, 3, 2], [1, 2, 1, 2, 40, 1, 3, 5]);
            for (n, m) in counts1.into_iter().zip(counts2) {
                let (set1, set2) = (some.slice(s![..n, ..]), some.slice(s![40 - m.., ..]));
                let (set1, set2) = (set1.to_owned(), set2.to_owned());
                check_on(&device, &set1, &set2, &format!("{n} and {m} boxes"));
                check_self(&device, &set1, &format!("{n} boxes"));
            }
        }
    }
    let (one, none) = (array![[0, 0, 0, 0]], Array2::zeros((0, 4)));
    let found = overlaps(&Device::cpu(), one.view(), none.view()).unwrap();
    assert!(found.len() == 1 && !found.is_empty() && found.pair_count() == 0);
    assert_eq!(found.pairs().unwrap().dim(), (0, 2));
}

/// Rows of any length beside each other: none, 1, 17, 65 and more pairs than any buffer has places.
fn many_pairs_in_a_row<T: Number>() {
    for device in devices() {
        let count = if test_support::small() { 300 } else { 4200 };
        let set2 = set(count, |i| ([i as i64, 0, 0], [i as i64, 10, 10]));
        let most = count as i64;
        let lengths = [0, 17, 1, 65, most, 0, 16, 64, 257, 15, 0, most - 1, 63];
        let set1 = set(lengths.len(), |i| match lengths[i] {
            0 => ([0, 11, 0], [9000, 12, 10]),
            length => ([most - length, 5, 5], [9000, 5, 5]),
        });
        let (set1, set2) = (numbers::<T>(&set1), numbers::<T>(&set2));
        let expected = reference::overlaps(set1.view(), set2.view()).unwrap();
        let mut counts = expected.counts().into_iter().zip(lengths);
        assert!(counts.all(|(count, length)| i64::from(count) == length.min(most)));
        check(&device, set1.view(), set2.view(), &expected, "long rows");
        check_on(&device, &set2, &set1, "long rows, transposed");
        check_on(&device, &flat(&set1), &flat(&set2), "long rows without Z");
        // Row i has count − 1 − i pairs.
        let stairs = set(count.min(400), |i| ([i as i64, 0, 0], [9000, 0, 0]));
        check_self(&device, &numbers::<T>(&stairs), "stairs");
    }
}

/// Checks that each slice has all rows that fit, and returns the rows of all slices.
#[track_caller]
fn assert_slices(slices: &[OverlapSlice], rows: usize, budget: usize) -> Vec<Vec<u32>> {
    let mut found = Vec::new();
    for (i, slice) in slices.iter().enumerate() {
        assert_eq!(slice.rows.start, found.len());
        assert_eq!(slice.rows.len(), slice.overlaps.len());
        assert!(!slice.rows.is_empty());
        let pairs = slice.overlaps.pair_count();
        let is_within = pairs <= budget || slice.rows.len() == 1;
        assert!(is_within, "{pairs} pairs for {budget}");
        if let Some(next) = slices.get(i + 1) {
            let with_next = pairs + next.overlaps.row(0).len();
            assert!(with_next > budget, "one more row would fit");
        }
        found.extend((0..slice.overlaps.len()).map(|i| slice.overlaps.row(i).to_vec()));
    }
    assert_eq!(found.len(), rows);
    found
}

/// Two sets whose rows have from no pairs to many.
fn uneven<T: Number>() -> [Array2<T>; 2] {
    let set1 = concatenate![
        Axis(0),
        uniform(60, 300, 20, 22),
        set(2, |i| ([-1; 3], [290 * i as i64; 3])),
        set(3, |_| ([-9; 3], [-8; 3])),
        uniform(60, 300, 60, 23)
    ];
    [set1, uniform(150, 300, 40, 24)].map(|set| numbers(&set))
}

fn rows_of(expected: &Overlaps) -> Vec<Vec<u32>> {
    let rows = 0..expected.len();
    rows.map(|i| expected.row(i).to_vec()).collect()
}

fn slices<T: Number>() {
    let [set1, set2] = uneven::<T>();
    let expected = reference::overlaps(set1.view(), set2.view()).unwrap();
    let of_itself = reference::self_overlaps(set1.view()).unwrap();
    let all = expected.pair_count();
    let longest = expected.counts().iter().copied().max().unwrap() as usize;
    for device in devices() {
        for &algorithm in algorithms(&device, set1.nrows()) {
            let search = BoxOverlap::new().algorithm(algorithm);
            // One row at a time where that is no burden.
            let small: &[usize] = if is_slow(&device) { &[] } else { &[0, 1, 5] };
            let budgets = [
                longest - 1,
                longest,
                all / 3,
                all - 1,
                all,
                all + 1,
                usize::MAX,
            ];
            for budget in budgets.into_iter().chain(small.iter().copied()) {
                let what = format!("{budget} of {all}, {algorithm:?} on {device}");
                let slices = search.slices(&device, set1.view(), set2.view(), budget);
                let of_one = search.self_slices(&device, set1.view(), budget);
                assert_eq!(slices.as_ref().unwrap().pair_count(), all as u64);
                for (slices, expected) in [(slices, &expected), (of_one, &of_itself)] {
                    let slices = slices.unwrap();
                    assert_eq!(slices.counts(), expected.counts().to_vec());
                    let slices: Vec<_> = slices.map(Result::unwrap).collect();
                    let rows = assert_slices(&slices, set1.nrows(), budget);
                    assert_eq!(rows, rows_of(expected), "{what}");
                }
            }
            let few = set1.slice(s![58..66, ..]);
            for budget in [0, 1] {
                let slices = search.slices(&device, few, set2.view(), budget).unwrap();
                let slices: Vec<_> = slices.map(Result::unwrap).collect();
                let rows = assert_slices(&slices, 8, budget);
                assert_eq!(rows, rows_of(&expected)[58..66]);
            }
        }
    }
}

fn counts_and_matrices<T: Number>() {
    let [set1, set2] = uneven::<T>();
    for (set1, set2) in [(&flat(&set1), &flat(&set2)), (&set1, &set2)] {
        let expected = reference::overlaps(set1.view(), set2.view()).unwrap();
        let counts = expected.counts();
        let longest = counts.iter().copied().max().unwrap() as usize;
        assert!(longest > 100 && counts.iter().any(|&count| count == 0));
        for device in devices() {
            for &algorithm in algorithms(&device, set1.nrows()) {
                let what = format!("{algorithm:?} on {device}");
                let search = BoxOverlap::new().algorithm(algorithm);
                let (set1, set2) = (set1.view(), set2.view());
                let found = search.counts(&device, set1, set2).unwrap();
                assert_eq!(found, counts, "{what}");
                let of_itself = reference::self_overlaps(set1).unwrap().counts();
                let found = search.self_counts(&device, set1).unwrap();
                assert_eq!(found, of_itself, "{what}");
                let mut table = Array2::from_elem((2, set1.nrows()), 7);
                let (mut first, mut second) = table.view_mut().split_at(Axis(0), 1);
                let out = first.row_mut(0);
                search.counts_into(&device, set1, set2, out).unwrap();
                let out = second.slice_mut(s![0, ..;-1]);
                search.self_counts_into(&device, set1, out).unwrap();
                assert_eq!(table.row(0), counts, "{what}");
                assert_eq!(table.slice(s![1, ..;-1]), of_itself, "{what}");
                for limit in [0, 1, 6, longest - 1, longest, longest + 9] {
                    let matrix = search.matrix(&device, set1, set2, limit).unwrap();
                    assert_eq!(matrix.counts, counts, "{limit}, {what}");
                    let indices = Array2::from_shape_fn((set1.nrows(), limit), |(i, place)| {
                        expected.row(i).get(place).map_or(-1, |&index| index as i32)
                    });
                    assert_eq!(matrix.indices, indices, "{limit}, {what}");
                }
                let too_wide = search.matrix(&device, set1, set2, 1 << 31);
                fails(too_wide, &["matrix: ", "2147483648 columns"]);
            }
            let mut short = Array1::zeros(124);
            let found = BoxOverlap::new().self_counts_into(&device, set1.view(), short.view_mut());
            fails(found, &["self_counts_into: ", "125 counts", "124 elements"]);
        }
    }
}

/// All intervals between hard numbers, along each axis, and boxes of such intervals.
fn hard_numbers<T: Number>() {
    let hard = T::hard();
    assert!(hard.is_sorted());
    let intervals: Vec<[T; 2]> = (0..hard.len())
        .flat_map(|end| (0..=end).map(move |start| [start, end]))
        .map(|interval| interval.map(|place| hard[place]))
        .collect();
    for device in devices() {
        let count = if is_slow(&device) { 100 } else { 700 };
        for axis in 0..3 {
            let step = if is_slow(&device) { 5 - axis } else { 1 };
            let thin = |first: usize| {
                let chosen: Vec<_> = intervals.iter().skip(first).step_by(step).collect();
                let mut set = Array2::from_elem((chosen.len(), 6), T::from_whole(1));
                for (mut row, [min, max]) in set.outer_iter_mut().zip(chosen) {
                    (row[axis], row[axis + 3]) = (*min, *max);
                }
                set
            };
            check_on(&device, &thin(0), &thin(step / 2), &format!("axis {axis}"));
            let thin = flat(&thin(0));
            check_on(&device, &thin, &thin, &format!("axis {axis} of two"));
        }
        let random = |seed| {
            let mut random = Random(seed);
            let mut set = Array2::from_elem((count, 6), T::zeroed());
            for mut row in set.outer_iter_mut() {
                for axis in 0..3 {
                    let [min, max] = intervals[random.within(0, intervals.len() as i64) as usize];
                    (row[axis], row[axis + 3]) = (min, max);
                }
            }
            set
        };
        check_on(&device, &random(25), &random(26), "hard boxes");
        check_self(&device, &random(27), "hard boxes");
    }
}

#[test]
fn numbers_that_are_told_apart_or_not() {
    for device in devices() {
        let one = array![[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0 + f64::EPSILON, 1.0]];
        let next = array![[1.0 + f64::EPSILON, 0.0, 2.0, 1.0], [1.0, 0.0, 1.0, 0.0]];
        let found = overlaps(&device, one.view(), next.view()).unwrap();
        assert_eq!(found.pairs().unwrap(), array![[0, 1], [1, 0], [1, 1]]);
        for &algorithm in algorithms(&device, 2) {
            let search = BoxOverlap::new().algorithm(algorithm);
            let minus = array![[-1.0f32, -1.0, -0.0, -0.0]];
            let plus = array![
                [0.0f32, 0.0, 1.0, 1.0],
                [-0.0, 0.0, -0.0, 0.0],
                [0.0, -0.0, 0.0, -0.0]
            ];
            let found = search.overlaps(&device, minus.view(), plus.view()).unwrap();
            let row = found.row(0).to_vec();
            assert_eq!(row, [0, 1, 2], "{algorithm:?} on {device}");

            // Infinite in f32.
            let (one, two) = (1e300, 2e300);
            let huge = array![[one, one, two, two], [-two, -two, -one, -one]];
            // Zero in f32.
            let tiny = array![[1e-300, 0.0, 2e-300, 0.0], [3e-300, 0.0, 4e-300, 0.0]];
            for set in [huge, tiny] {
                let found = search.self_overlaps(&device, set.view()).unwrap();
                assert_eq!(found.pair_count(), 0);
            }

            let inf = f32::INFINITY;
            let all = array![[-inf, -inf, inf, inf]];
            let corners = array![[inf, inf, inf, inf], [-inf, 0.0, -inf, 0.0]];
            let found = search.overlaps(&device, all.view(), corners.view());
            let found = found.unwrap();
            assert_eq!(found.row(0).to_vec(), [0, 1]);

            let ends = array![
                [i32::MIN, i32::MIN, i32::MIN, i32::MAX],
                [i32::MIN + 1, 0, i32::MAX, 0],
                [i32::MAX, 0, i32::MAX, 0],
                [i32::MIN, i32::MIN, i32::MAX, i32::MAX]
            ];
            let found = search.self_overlaps(&device, ends.view()).unwrap();
            let pairs = found.pairs().unwrap();
            assert_eq!(pairs, array![[0, 3], [1, 2], [1, 3], [2, 3]]);
        }
    }
}

fn self_overlaps_are_the_pairs_above_the_diagonal<T: Number>() {
    for device in devices() {
        let n = if is_slow(&device) { 130 } else { 700 };
        for (name, [set, _]) in kinds(n).into_iter().take(5) {
            let set = numbers::<T>(&set);
            let all = overlaps(&device, set.view(), set.view()).unwrap();
            let pairs = all.pairs().unwrap();
            let above = |pair: &usize| pairs[[*pair, 0]] < pairs[[*pair, 1]];
            let above: Vec<_> = (0..pairs.nrows()).filter(above).collect();
            let expected = pairs.select(Axis(0), &above);
            let found = self_overlaps(&device, set.view()).unwrap();
            assert_eq!(found.pairs().unwrap(), expected, "{name} on {device}");
        }
    }
}

/// Returns the messages of all functions about two sets, and about the first set.
fn messages<T: Coordinate>(
    device: &Device,
    algorithm: Algorithm,
    set1: ArrayView2<T>,
    set2: ArrayView2<T>,
) -> [Vec<Option<String>>; 2] {
    /// The message, with `overlaps` in the place of the call that it must name.
    fn message<V>(call: &str, result: Result<V, Error>) -> Option<String> {
        let error = result.err()?;
        let is_expected = matches!(error, Error::Shape { .. } | Error::InvalidInput { .. });
        assert!(is_expected, "{error:?}");
        let message = error.to_string();
        let (operation, message) = message.split_once(": ").unwrap();
        assert_eq!(operation, call);
        let is_of_one = call.starts_with("self");
        let named = if is_of_one {
            "self_overlaps"
        } else {
            "overlaps"
        };
        Some(format!("{named}: {message}"))
    }
    let search = BoxOverlap::new().algorithm(algorithm);
    let mut of_two = vec![message("overlaps", search.overlaps(device, set1, set2))];
    let mut of_one = vec![message("self_overlaps", search.self_overlaps(device, set1))];
    if !is_slow(device) {
        // 2³¹ counts would take 8 GiB.
        let mut out = Array1::zeros(set1.nrows().min(1 << 20));
        let counts_into = search.counts_into(device, set1, set2, out.view_mut());
        of_two.extend([
            message("counts", search.counts(device, set1, set2)),
            message("counts_into", counts_into),
            message("matrix", search.matrix(device, set1, set2, 3)),
            message("slices", search.slices(device, set1, set2, 3)),
        ]);
        let counts_into = search.self_counts_into(device, set1, out.view_mut());
        of_one.extend([
            message("self_counts", search.self_counts(device, set1)),
            message("self_counts_into", counts_into),
            message("self_slices", search.self_slices(device, set1, 3)),
        ]);
    }
    [of_two, of_one]
}

/// Expects this message about two sets, and this one or none about the first set.
#[track_caller]
fn refuse<T: Coordinate>(
    device: &Device,
    set1: ArrayView2<T>,
    set2: ArrayView2<T>,
    of_two: &str,
    of_one: Option<&str>,
) {
    // Boxes are checked before an algorithm is chosen.
    let tried = if is_slow(device) { 1 } else { ALGORITHMS.len() };
    for algorithm in ALGORITHMS.into_iter().take(tried) {
        let [two, one] = messages(device, algorithm, set1, set2);
        for (messages, expected) in [(two, Some(of_two)), (one, of_one)] {
            for message in messages {
                assert_eq!(message.as_deref(), expected, "{algorithm:?} on {device}");
            }
        }
    }
    let by_reference = [
        message(reference::overlaps(set1, set2)),
        message(reference::self_overlaps(set1)),
    ];
    let expected = [Some(of_two), of_one].map(|message| message.map(String::from));
    assert_eq!(by_reference, expected);
}

fn the_first_bad_row_is_named<T: Number>() {
    let zero = T::from_whole(0);
    for device in devices() {
        let n = if is_slow(&device) { 700 } else { 40_000 };
        let good = Array2::from_elem((n, 6), zero);
        let one = good.slice(s![..1, ..]);
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            let mut bad = good.clone();
            let first = n / 2 + axis;
            for row in [first, first + 1, n - 1] {
                bad[[row, axis]] = T::from_whole(2);
                bad[[row, axis + 3]] = T::from_whole(1);
            }
            // An earlier row in set2 comes behind any of set1.
            let mut bad2 = bad.slice(s![first - 3.., ..]).to_owned();
            bad2[[1, 2]] = T::from_whole(1);
            let columns = "minX, minY, minZ, maxX, maxY, maxZ";
            let what = |name2: &str, set: &str, row: usize, axis: &str, limits: [i64; 2]| {
                let [min, max] = limits.map(T::from_whole);
                format!(
                    "{name2}: row {row} of {set} is no box: along {axis} the minimum {min:?} is above the maximum \
                     {max:?} (the columns are {columns})"
                )
            };
            let of_one = what("self_overlaps", "set", first, name, [2, 1]);
            let of_set1 = what("overlaps", "set1", first, name, [2, 1]);
            refuse(&device, bad.view(), one, &of_set1, Some(&of_one));
            refuse(&device, bad.view(), bad2.view(), &of_set1, Some(&of_one));
            let of_set2 = what("overlaps", "set2", 1, "z", [1, 0]);
            refuse(&device, one, bad2.view(), &of_set2, None);
            if axis < 2 {
                let (flat, one) = (flat(&bad), flat(&one.to_owned()));
                let in_two = |message: &str| message.replace(columns, "minX, minY, maxX, maxY");
                let (of_set1, of_one) = (in_two(&of_set1), in_two(&of_one));
                refuse(&device, flat.view(), one.view(), &of_set1, Some(&of_one));
            }
            // A row with two faults is named for the first axis.
            bad[[first, 2]] = T::from_whole(if axis == 2 { 2 } else { 3 });
            refuse(&device, bad.view(), one, &of_set1, Some(&of_one));
            // Also if the other set has no boxes.
            let none = good.slice(s![..0, ..]);
            refuse(&device, bad.view(), none, &of_set1, Some(&of_one));
            let of_set2 = what("overlaps", "set2", first, name, [2, 1]);
            refuse(&device, none, bad.view(), &of_set2, None);
        }
    }
}

#[test]
fn the_first_row_with_nan_is_named() {
    fn check<T: Number>(nan: T) {
        for device in devices() {
            let n = if is_slow(&device) { 300 } else { 20_000 };
            let good = Array2::from_elem((n, 6), T::from_whole(0));
            let one = good.slice(s![..1, ..]);
            for column in 0..6 {
                let mut bad = good.clone();
                bad[[n - 1, 5 - column]] = nan;
                bad[[n / 3, column]] = nan;
                let axis = ["x", "y", "z"][column % 3];
                let [min, max] = [0, 3].map(|shift| bad[[n / 3, column % 3 + shift]]);
                let what = |operation: &str, set: &str| {
                    format!(
                        "{operation}: row {} of {set} is no box: along {axis} the minimum is {min:?} and the maximum \
                         {max:?}, but NaN is no limit (the columns are minX, minY, minZ, maxX, maxY, maxZ)",
                        n / 3
                    )
                };
                let (of_set1, of_one) = (what("overlaps", "set1"), what("self_overlaps", "set"));
                refuse(&device, bad.view(), bad.view(), &of_set1, Some(&of_one));
                refuse(&device, one, bad.view(), &what("overlaps", "set2"), None);
                // Columns by themselves: another way to look.
                let columns = bad.t().as_standard_layout().into_owned();
                refuse(&device, columns.t(), one, &of_set1, Some(&of_one));
            }
        }
    }
    check(f32::NAN);
    check(-f64::NAN);
}

fn shapes_that_do_not_fit<T: Number>() {
    let zeros = |shape| Array2::from_elem(shape, T::from_whole(0));
    for device in devices() {
        let good = zeros((3, 6));
        for columns in [0, 1, 3, 5, 7, 12] {
            let bad = zeros((2, columns));
            let what = |set: &str| {
                format!(
                    "{set} is 2×{columns}: a box is a row of 6 numbers, minX, minY, minZ, maxX, maxY, maxZ, or \
                     of 4 without Z"
                )
            };
            let of_one = format!("self_overlaps: {}", what("set"));
            let of_two = format!("overlaps: {}", what("set1"));
            refuse(&device, bad.view(), good.view(), &of_two, Some(&of_one));
            let of_two = format!("overlaps: {}", what("set2"));
            refuse(&device, good.view(), bad.view(), &of_two, None);
        }
        let flat = zeros((2, 4));
        let of_two = "overlaps: set1 is 2×4, boxes in 2 dimensions, but set2 is 3×6, boxes in 3 dimensions: both sets must \
             have the same number of dimensions";
        refuse(&device, flat.view(), good.view(), of_two, None);

        // 2³¹ rows, all of them one: refused before they are copied or read.
        let one = zeros((1, 6));
        let rows = 1 << 31;
        let many = one.broadcast((rows, 6)).unwrap();
        let what = |set: &str| format!("{set} has 2147483648 rows, more than 2147483647");
        let of_one = format!("self_overlaps: {}", what("set"));
        let of_set1 = format!("overlaps: {}", what("set1"));
        refuse(&device, many, good.view(), &of_set1, Some(&of_one));
        let of_set2 = format!("overlaps: {}", what("set2"));
        refuse(&device, good.view(), many, &of_set2, None);
    }
}

/// Checks the accessors of a result on the host.
#[test]
fn parts_of_a_result() {
    let [set1, set2] = uneven::<f64>();
    let expected = reference::overlaps(set1.view(), set2.view()).unwrap();
    for device in devices() {
        let found = overlaps(&device, set1.view(), set2.view()).unwrap();
        assert_same::<f64>(&found, &expected, "uneven");
        let pairs = found.pairs().unwrap();
        assert_eq!(pairs.dim(), (found.pair_count(), 2));
        for (i, row) in rows_of(&found).into_iter().enumerate() {
            let (start, end) = (found.offsets()[i], found.offsets()[i + 1]);
            assert_eq!(found.indices().slice(s![start..end]).to_vec(), row);
            let of_row = pairs.slice(s![start..end, ..]);
            assert!(of_row.column(0).iter().all(|&first| first as usize == i));
            assert_eq!(of_row.column(1).to_vec(), row);
        }
        let (offsets, indices) = found.clone().into_parts();
        assert_eq!(offsets[..], *found.offsets());
        assert_eq!(indices, found.indices());
    }
}
