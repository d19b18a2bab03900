//! Edit distances over several devices, and within little memory: the same as on one device.

use gridstride::edit_distance::{EditDistance, edit_distances};
use gridstride::sequences::Sequences;
use gridstride::{Device, Error};

use super::{expected, mutated, sequence, sides};
use test_support::{
    NO_DEVICE, assert_error, devices, fails_with, is_slow, least_memory, several, with_kernels,
};

/// Long and short pairs, mixed.
fn pairs() -> Vec<(Vec<u8>, Vec<u8>)> {
    let lengths = [3, 700, 0, 40, 40, 900, 5, 5, 130, 64, 1];
    let pairs = lengths.into_iter().zip(0..).map(|(length, seed)| {
        let text = sequence(length, 4, seed);
        (mutated(&text, 7, 4, seed + 3), text)
    });
    pairs.collect()
}

#[test]
fn distances_over_several_devices() {
    let pairs = pairs();
    let (a, b) = sides(&pairs);
    let expected = expected(&pairs);
    for device in devices() {
        for count in [1, 2, 3, 5, 20] {
            let set = several(&device, count);
            let found = edit_distances(&set, &a, &b).unwrap();
            assert_eq!(found.to_vec(), expected, "{count} times {device}");
            let one = |side: &Sequences| Sequences::from(vec![side.get(1).unwrap()]);
            let found = edit_distances(&set, &one(&a), &one(&b)).unwrap();
            assert_eq!(found.to_vec(), expected[1..2]);
        }
    }
    let none: &[Device] = &[];
    fails_with(
        edit_distances(none, &a, &b),
        format!("edit_distances: {NO_DEVICE}"),
    );
}

#[test]
fn distances_within_little_memory() {
    let pairs = pairs();
    let (a, b) = sides(&pairs);
    let longest = sides(&pairs[5..6]);
    let expected = expected(&pairs);
    for device in with_kernels() {
        let of_longest = |limited: &Device| edit_distances(limited, &longest.0, &longest.1);
        let least = least_memory(&device, of_longest);
        eprintln!("{least} bytes for the longest pair on {device}");
        for limit in [least, 2 * least, 5 * least] {
            let limited = device.with_memory_limit(limit);
            let found = edit_distances(&limited, &a, &b).unwrap();
            assert_eq!(found.to_vec(), expected, "{limit} bytes of {device}");
        }
        let error = edit_distances(&device.with_memory_limit(8), &a, &b);
        assert_error!(error, Error::Allocation { .. });
    }
}

/// The same warps as on a GPU with other numbers of multiprocessors: long pairs take more warps
/// each if there are few pairs.
#[test]
fn long_pairs_alone_and_together() {
    for device in devices() {
        // Strips of 4096 rows: four and two, or three and two.
        let (length, other) = match is_slow(&device) {
            true => (8400, 5000),
            false => (12_500, 9000),
        };
        let text = sequence(length, 4, 1);
        let pairs = [
            (text.clone(), mutated(&text, 20, 4, 2)[..other].to_vec()),
            (text[..4500].to_vec(), text[400..5000].to_vec()),
        ];
        let expected = expected(&pairs);
        for chosen in [0..1, 1..2, 0..2] {
            let (a, b) = sides(&pairs[chosen.clone()]);
            let [a, b] = [&a, &b].map(|side| side.upload(&device).unwrap());
            let found = EditDistance::new().edit_distances_device(&a, &b).unwrap();
            let found = found.download().unwrap().to_vec();
            assert_eq!(found, expected[chosen], "{device}");
        }
    }
}
