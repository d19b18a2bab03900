//! Sequences whose distance is known without a table, of lengths around words, warps and the change
//! to long pairs: equal letters carry through all words of the addition of a column.

use gridstride::edit_distance::{ABOVE_LIMIT, EditDistance, edit_distances};

use super::sides;
use test_support::{devices, is_slow, small};

type Pair = (Vec<u8>, Vec<u8>);

/// Lengths around 32 and 64 letters, and around the 4096 of short pairs.
fn lengths(is_slow: bool) -> &'static [usize] {
    match (small(), is_slow) {
        (true, _) => &[1, 31, 32, 33],
        (_, true) => &[1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1025],
        _ => &[
            1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1025, 4095, 4096, 4097, 9000,
        ],
    }
}

/// Pairs of m and n letters, and their distances.
fn pairs(m: usize, n: usize) -> Vec<(Pair, u32)> {
    let distance = |number: usize| u32::try_from(number).unwrap();
    let (same, other) = (vec![0u8; m], vec![255u8; n]);
    let alternating = |first: usize| (first..first + m).map(|i| (i % 2) as u8).collect();
    let at_end = |letter: u8, is_first: bool| {
        let mut text = vec![0; n];
        let place = if is_first { 0 } else { n - 1 };
        text[place] = letter;
        text
    };
    let distinct = |length: usize| (0..length).map(|i| (i % 251) as u8).collect::<Vec<u8>>();
    // Of m ≥ n equal letters, m − n are deleted and one substituted; of fewer, the other letter is
    // among those inserted.
    let one_other = distance(if m >= n { m - n + 1 } else { n - m });
    vec![
        // Equal letters: what is longer is inserted.
        ((same.clone(), vec![0; n]), distance(m.abs_diff(n))),
        // No letter in common: all are substituted or inserted.
        ((same.clone(), other), distance(m.max(n))),
        ((same.clone(), vec![]), distance(m)),
        ((vec![], same.clone()), distance(m)),
        // One other letter at either end.
        ((same.clone(), at_end(7, true)), one_other),
        ((same, at_end(7, false)), one_other),
        // One letter is deleted at the front and one inserted at the end, unless that is one.
        ((alternating(0), alternating(1)), distance(m.min(2))),
        // The longer one begins with the shorter one.
        ((distinct(m), distinct(n)), distance(m.abs_diff(n))),
    ]
}

/// Pairs so long that a band around the diagonal is computed first, of which some have larger
/// distances and are computed again.
#[test]
fn a_band_does_not_suffice_for_all_pairs() {
    let n = 33_000;
    let letters = |letter: u8, count| vec![letter; count];
    let alternating = |first: usize| {
        (first..first + n)
            .map(|i| (i % 2) as u8)
            .collect::<Vec<_>>()
    };
    let pairs = [
        (letters(0, n), letters(0, n)),
        (letters(0, n), letters(255, n)),
        (letters(0, n - 3), letters(0, n)),
        (letters(1, n + 1), letters(2, n)),
        (alternating(0), alternating(1)),
    ];
    let expected = [0, n, 3, n + 1, 2].map(|distance| distance as u32);
    let (a, b) = sides(&pairs);
    for device in devices().into_iter().filter(|device| !is_slow(device)) {
        assert_eq!(edit_distances(&device, &a, &b).unwrap().to_vec(), expected);
        for limit in [n as u32, 3] {
            let within = EditDistance::new().with_limit(limit);
            let found = within.edit_distances(&device, &a, &b).unwrap();
            let cut = |distance| {
                if distance > limit {
                    ABOVE_LIMIT
                } else {
                    distance
                }
            };
            assert_eq!(found.to_vec(), expected.map(cut), "{device}, {limit}");
        }
    }
}

#[test]
fn distances_that_are_known() {
    for device in devices() {
        let lengths = lengths(is_slow(&device));
        for &m in lengths {
            let all: Vec<_> = lengths.iter().flat_map(|&n| pairs(m, n)).collect();
            let (texts, expected): (Vec<Pair>, Vec<u32>) = all.into_iter().unzip();
            let (a, b) = sides(&texts);
            let found = edit_distances(&device, &a, &b).unwrap().to_vec();
            let turned = edit_distances(&device, &b, &a).unwrap().to_vec();
            for (index, &expected) in expected.iter().enumerate() {
                let (a, b) = &texts[index];
                let what = format!(
                    "{device}, pair {index}: {} and {} letters",
                    a.len(),
                    b.len()
                );
                assert_eq!([found[index], turned[index]], [expected; 2], "{what}");
            }
            // Limits at the distance and just below it.
            let limits = expected.iter().copied().filter(|&distance| distance > 0);
            for limit in limits.take(4).flat_map(|distance| [distance, distance - 1]) {
                let within = EditDistance::new().with_limit(limit);
                let found = within.edit_distances(&device, &a, &b).unwrap();
                let is_right = |(&found, &expected): (&u32, &u32)| {
                    found
                        == if expected <= limit {
                            expected
                        } else {
                            ABOVE_LIMIT
                        }
                };
                assert!(
                    found.iter().zip(&expected).all(is_right),
                    "{device}, {m}, {limit}"
                );
            }
        }
    }
}
