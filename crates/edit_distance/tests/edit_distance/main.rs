//! Edit distances: exact whole numbers, compared with the table of the definition.

mod adversarial;
mod calls;
mod devices;
mod properties;

use gridstride::edit_distance::reference;
use gridstride::sequences::Sequences;
use ndarray::ArrayView1;

use test_support::Random;

/// A sequence of `length` codes below `size` that look random.
fn sequence(length: usize, size: u8, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    (0..length)
        .map(|_| (random.bits() % u64::from(size)) as u8)
        .collect()
}

/// Replaces, deletes or inserts a letter at about one of `one_in` places.
fn mutated(sequence: &[u8], one_in: u64, size: u8, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let mut result = Vec::new();
    for &letter in sequence {
        let other = (random.bits() % u64::from(size)) as u8;
        if random.within(0, one_in as i64) != 0 {
            result.push(letter);
            continue;
        }
        match random.bits() % 3 {
            0 => result.push(other),
            1 => result.extend([other, letter]),
            _ => {}
        }
    }
    result
}

/// Returns the distances of pairs by their definition.
fn expected(pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<u32> {
    let distance =
        |(a, b): &(Vec<u8>, Vec<u8>)| reference::edit_distance(ArrayView1::from(a), b.into());
    pairs.iter().map(distance).collect()
}

/// Returns the sequences of both sides.
fn sides(pairs: &[(Vec<u8>, Vec<u8>)]) -> (Sequences, Sequences) {
    let a = pairs.iter().map(|(a, _)| a).collect();
    (a, pairs.iter().map(|(_, b)| b).collect())
}
