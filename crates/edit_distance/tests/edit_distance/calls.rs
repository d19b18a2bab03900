//! Results of edit distances, and refused arguments.

use gridstride::edit_distance::{ABOVE_LIMIT, EditDistance, edit_distances, edit_distances_within};
use gridstride::sequences::Sequences;
use gridstride::{Device, Error, Result};
use ndarray::{Array1, Array2, array};

use super::{expected, mutated, sequence, sides};
use test_support::{assert_error, devices, fails_with, is_slow, small};

/// Lengths around the words, lanes and chunks of columns of the kernels, and the strips of the CPU.
const LENGTHS: [usize; 22] = [
    0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025,
    2049,
];

#[test]
fn known_distances() {
    let texts = [
        ("kitten", "sitting", 3),
        ("Saturday", "Sunday", 3),
        ("GATTACA", "GATTACA", 0),
        ("", "", 0),
        ("", "abc", 3),
        ("abc", "", 3),
        ("a", "b", 1),
        ("aaaa", "bbbbbbb", 7),
        ("intention", "execution", 5),
    ];
    let a: Sequences = texts.iter().map(|(a, _, _)| a.as_bytes()).collect();
    let b: Sequences = texts.iter().map(|(_, b, _)| b.as_bytes()).collect();
    let distances: Array1<u32> = texts.iter().map(|&(_, _, distance)| distance).collect();
    for device in devices() {
        assert_eq!(edit_distances(&device, &a, &b).unwrap(), distances);
        assert_eq!(edit_distances(&device, &b, &a).unwrap(), distances);
    }
}

/// Pairs of all lengths, random and similar ones, in one call.
#[test]
fn every_edge_of_words_lanes_and_chunks() {
    for device in devices() {
        let lengths: Vec<usize> = match is_slow(&device) || small() {
            true => LENGTHS.into_iter().filter(|&length| length < 600).collect(),
            false => LENGTHS.to_vec(),
        };
        let mut pairs = Vec::new();
        for (i, &m) in lengths.iter().enumerate() {
            for (j, &n) in lengths.iter().enumerate() {
                let seed = (100 * i + j) as u64;
                pairs.push((sequence(m, 4, seed), sequence(n, 4, seed + 50)));
            }
            let text = sequence(m, 4, i as u64);
            pairs.push((mutated(&text, 9, 4, 7), text.clone()));
            pairs.push((text.clone(), mutated(&text, 50, 4, 8)));
            pairs.push((text.clone(), text));
        }
        let (a, b) = sides(&pairs);
        let found = edit_distances(&device, &a, &b).unwrap();
        for ((found, expected), (a, b)) in found.iter().zip(expected(&pairs)).zip(&pairs) {
            let lengths = (a.len(), b.len());
            assert_eq!(*found, expected, "{lengths:?} letters on {device}");
        }
    }
}

/// The first letters of a side tell in how many bits all its letters are packed. Here later letters
/// need more bits.
#[test]
fn larger_letters_behind_many_small_ones() {
    let mut pairs = vec![(sequence(90, 2, 0), sequence(100, 2, 1)); 60];
    for (size, seed) in [(4, 2), (16, 3), (255, 4)] {
        pairs.push((sequence(70, size, seed), sequence(90, size, seed + 9)));
        let (a, b) = sides(&pairs);
        let expected = Array1::from(expected(&pairs));
        for device in devices() {
            assert_eq!(edit_distances(&device, &a, &b).unwrap(), expected);
            assert_eq!(edit_distances(&device, &b, &a).unwrap(), expected);
        }
    }
}

/// Letters of 1, 2, 4 and 8 bits on both sides. Devices pack each side separately.
#[test]
fn every_size_of_an_alphabet() {
    const SIZES: [u8; 6] = [1, 2, 4, 5, 16, 255];
    for device in devices() {
        for size_a in SIZES {
            for size_b in SIZES {
                let pairs: Vec<_> = [(40, 50), (130, 70), (3, 300), (0, 5), (64, 64)]
                    .into_iter()
                    .zip(0..)
                    .map(|((m, n), seed)| {
                        let a = sequence(m, size_a, seed);
                        (a, sequence(n, size_b, seed + 9))
                    })
                    .collect();
                let (a, b) = sides(&pairs);
                let expected = Array1::from(expected(&pairs));
                assert_eq!(edit_distances(&device, &a, &b).unwrap(), expected);
                let [a, b] = [a, b].map(|side| side.upload(&device).unwrap());
                let found = EditDistance::new().edit_distances_device(&a, &b).unwrap();
                assert_eq!(found.download().unwrap(), expected);
            }
        }
    }
}

/// The codes 0 and 255 differ in every bit.
#[test]
fn all_bytes_are_letters() {
    let all: Vec<u8> = (0..=255).collect();
    let reversed: Vec<u8> = (0..=255).rev().collect();
    let pairs = [
        (all.clone(), all.clone()),
        (all.clone(), reversed),
        (vec![255; 40], vec![0; 40]),
        (vec![255; 40], vec![127; 40]),
        (all[..200].to_vec(), all[1..].to_vec()),
    ];
    let (a, b) = sides(&pairs);
    for device in devices() {
        let found = edit_distances(&device, &a, &b).unwrap();
        assert_eq!(found.to_vec(), expected(&pairs), "{device}");
    }
}

/// The shortest pair of more than one strip of 4096 rows, in letters of every width.
#[test]
fn pairs_just_beyond_a_strip() {
    for size in [4, 16, 200] {
        let text = sequence(4200, size, 1);
        let pairs = [(text[..4097].to_vec(), mutated(&text, 20, size, 2))];
        let (a, b) = sides(&pairs);
        for device in devices() {
            let found = edit_distances(&device, &a, &b).unwrap();
            assert_eq!(found.to_vec(), expected(&pairs), "{size} letters, {device}");
        }
    }
}

/// Pairs of more than one strip of 4096 rows.
#[test]
fn pairs_of_several_strips() {
    for device in devices() {
        let length = if is_slow(&device) { 5000 } else { 9000 };
        several_strips(&device, length);
    }
}

fn several_strips(device: &Device, length: usize) {
    let text = sequence(length, 4, 1);
    let other = sequence(4200, 4, 2);
    let pairs = [
        (text[..4097].to_vec(), text[..4097].to_vec()),
        (text[..4100].to_vec(), mutated(&text[..4300], 10, 4, 3)),
        (mutated(&text, 5, 4, 4), text.clone()),
        (other.clone(), text[..4097].to_vec()),
        (other, vec![0; 30]),
    ];
    let (a, b) = sides(&pairs);
    let expected = expected(&pairs);
    let count = match small() && is_slow(device) {
        true => 1,
        false => pairs.len(),
    };
    let first = |side: &Sequences| {
        let views = (0..count).map(|i| side.get(i).unwrap().to_owned());
        views.collect::<Sequences>()
    };
    let found = edit_distances(device, &first(&a), &first(&b)).unwrap();
    assert_eq!(found.to_vec(), expected[..count], "{device}");
}

#[test]
fn limits_below_at_and_above_the_distance() {
    let mut pairs = Vec::new();
    for (length, seed) in [(5, 1), (64, 2), (70, 3), (300, 4), (1100, 5)] {
        let text = sequence(length, 4, seed);
        for one_in in [2, 10, 100] {
            pairs.push((mutated(&text, one_in, 4, seed + 7), text.clone()));
        }
        pairs.push((text.clone(), sequence(length + 20, 4, seed + 8)));
        pairs.push((text, Vec::new()));
    }
    let distances = expected(&pairs);
    let (a, b) = sides(&pairs);
    let mut limits = vec![0, 1, 20, 64, 1000, u32::MAX - 1, u32::MAX];
    for distance in &distances {
        limits.extend([distance.saturating_sub(1), *distance, distance + 1]);
    }
    limits.sort_unstable();
    limits.dedup();
    for device in devices() {
        for &limit in &limits {
            let found = EditDistance::new().with_limit(limit);
            let found = found.edit_distances(&device, &a, &b).unwrap();
            let within = edit_distances_within(&device, &a, &b, limit).unwrap();
            for (i, &distance) in distances.iter().enumerate() {
                let is_within = distance <= limit;
                let expected = if is_within { distance } else { ABOVE_LIMIT };
                assert_eq!(found[i], expected, "pair {i}, limit {limit} on {device}");
                assert_eq!(within[i], is_within.then_some(distance));
            }
        }
    }
}

/// Bands of pairs of several strips: narrow and wide ones, and sequences of different lengths.
#[test]
fn limits_of_long_pairs() {
    for device in devices() {
        // Three strips of 4096 rows, or two.
        let length = if is_slow(&device) { 4300 } else { 9000 };
        let text = sequence(length, 4, 1);
        let pairs = [
            (mutated(&text, 60, 4, 2), text.clone()),
            (text[100..length - 100].to_vec(), text.clone()),
            (text.clone(), text.clone()),
        ];
        let distances = expected(&pairs);
        let (a, b) = sides(&pairs);
        let mut limits = vec![0, 31, 2000, 9000];
        for distance in &distances {
            limits.extend([distance.saturating_sub(1), *distance, distance + 1]);
        }
        for &limit in &limits {
            if small() && limit > 700 {
                continue;
            }
            let found = EditDistance::new().with_limit(limit);
            let found = found.edit_distances(&device, &a, &b).unwrap();
            for (i, &distance) in distances.iter().enumerate() {
                let expected = if distance <= limit {
                    distance
                } else {
                    ABOVE_LIMIT
                };
                assert_eq!(found[i], expected, "pair {i}, limit {limit} on {device}");
            }
        }
    }
}

#[test]
fn no_pairs() {
    let none = Sequences::new();
    for device in devices() {
        assert_eq!(edit_distances(&device, &none, &none).unwrap(), array![]);
        let there = none.upload(&device).unwrap();
        let found = EditDistance::new().edit_distances_device(&there, &there);
        assert_eq!(found.unwrap().download().unwrap(), array![]);
    }
}

#[test]
fn into_existing_memory() {
    let pairs = [(vec![1, 2, 3], vec![1, 3]), (vec![2; 70], vec![2; 65])];
    let (a, b) = sides(&pairs);
    for device in devices() {
        let mut table = Array2::from_elem((2, 3), 9);
        let of = EditDistance::new();
        of.edit_distances_into(&device, &a, &b, table.column_mut(1))
            .unwrap();
        assert_eq!(table, array![[9, 1, 9], [9, 5, 9]]);
        let error = of.edit_distances_into(&device, &a, &b, table.row_mut(0));
        fails_with(
            error,
            "edit_distances_into: there are 2 distances, but out has 3 elements",
        );
        let [a, b] = [&a, &b].map(|side| side.upload(&device).unwrap());
        let mut out = device.upload(&Array1::from_elem(1, 9)).unwrap();
        let error = of.edit_distances_device_into(&a, &b, &mut out);
        fails_with(
            error,
            "edit_distances_device_into: there are 2 distances, but out has 1 elements",
        );
    }
}

#[test]
fn sequences_without_a_partner_are_refused() {
    let (one, two) = (
        Sequences::from(vec![[1]]),
        Sequences::from(vec![vec![1], vec![2, 3]]),
    );
    fn check<T>(operation: &str, result: Result<T>) {
        fails_with(
            result,
            format!(
                "{operation}: a has 1 sequences and b has 2: each sequence of a is compared with \
                 the sequence of b that has the same index"
            ),
        );
    }
    for device in devices() {
        check("edit_distances", edit_distances(&device, &one, &two));
        let within = edit_distances_within(&device, &one, &two, 3);
        check("edit_distances_within", within);
        let mut out = Array1::zeros(1);
        let of = EditDistance::new();
        let into = of.edit_distances_into(&device, &one, &two, out.view_mut());
        check("edit_distances_into", into);
        let [a, b] = [&one, &two].map(|side| side.upload(&device).unwrap());
        check("edit_distances_device", of.edit_distances_device(&a, &b));
        let mut out = device.upload(&Array1::zeros(1)).unwrap();
        let into = of.edit_distances_device_into(&a, &b, &mut out);
        check("edit_distances_device_into", into);
    }
}

#[test]
fn sequences_on_different_devices_are_refused() {
    let pair = Sequences::from(vec![[1]]);
    let all = devices();
    let [first, second] = [0, 1].map(|i| pair.upload(&all[i % all.len()]).unwrap());
    if all.len() > 1 {
        let error = EditDistance::new().edit_distances_device(&first, &second);
        assert_error!(error, Error::DifferentDevices { .. });
    }
}
