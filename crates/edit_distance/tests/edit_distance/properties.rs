//! Properties of edit distances, on random sequences, on every device.

use gridstride::edit_distance::{ABOVE_LIMIT, EditDistance, edit_distances};
use gridstride::sequences::Sequences;
use proptest::collection::vec;
use proptest::prelude::*;

use super::{expected, sides};
use test_support::cases;
use test_support::devices;

/// Sequences over an alphabet of up to 256 letters, some of which are equal or similar.
fn texts(count: usize, longest: usize) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let sizes = prop_oneof![Just(1u16), Just(2), Just(4), Just(20), Just(256)];
    sizes.prop_flat_map(move |size| {
        let letter = (0..size).prop_map(|letter| letter as u8);
        let random = vec(letter.clone(), 0..longest);
        let edits = vec((any::<prop::sample::Index>(), letter, 0..3u8), 0..20);
        (vec((random, edits, any::<bool>()), count)).prop_map(|drafts| {
            let mut texts: Vec<Vec<u8>> = Vec::new();
            for (random, edits, is_similar) in drafts {
                let mut text = match texts.last() {
                    Some(last) if is_similar => last.clone(),
                    _ => random,
                };
                for (place, letter, kind) in edits {
                    let place = place.index(text.len() + 1);
                    match kind {
                        0 if place < text.len() => text[place] = letter,
                        1 if place < text.len() => drop(text.remove(place)),
                        _ => text.insert(place, letter),
                    }
                }
                texts.push(text);
            }
            texts
        })
    })
}

proptest! {
    #![proptest_config(cases(48, 8))]

    #[test]
    fn distances_are_those_of_the_definition(texts in texts(6, 200), limit in 0..150u32) {
        let pairs: Vec<_> = texts.chunks(2).map(|two| (two[0].clone(), two[1].clone())).collect();
        let (a, b) = sides(&pairs);
        let expected = expected(&pairs);
        for device in devices() {
            prop_assert_eq!(&edit_distances(&device, &a, &b).unwrap().to_vec(), &expected);
            let limited = EditDistance::new().with_limit(limit);
            let found = limited.edit_distances(&device, &a, &b).unwrap();
            for (&found, &expected) in found.iter().zip(&expected) {
                let limited = if expected <= limit { expected } else { ABOVE_LIMIT };
                prop_assert_eq!(found, limited);
            }
        }
    }

    #[test]
    fn distances_are_a_metric(texts in texts(3, 300)) {
        let [x, y, z] = &texts[..] else { unreachable!("three texts") };
        let a = Sequences::from(vec![x, y, z, y, z, x, x]);
        let b = Sequences::from(vec![y, z, x, x, y, z, x]);
        for device in devices() {
            let d = edit_distances(&device, &a, &b).unwrap().to_vec();
            prop_assert_eq!(&d[..3], &d[3..6]);
            prop_assert_eq!(d[6], 0);
            for (i, (one, other)) in [(x, y), (y, z), (z, x)].into_iter().enumerate() {
                prop_assert_eq!(d[i] == 0, one == other);
                prop_assert!(d[i] <= d[(i + 1) % 3] + d[(i + 2) % 3]);
                let (least, most) = (one.len().min(other.len()), one.len().max(other.len()));
                prop_assert!(((most - least) as u32..=most as u32).contains(&d[i]));
            }
        }
    }

    /// A common beginning and a common end cost nothing.
    #[test]
    fn common_ends_do_not_matter(texts in texts(4, 90)) {
        let [x, y, before, after] = &texts[..] else { unreachable!("four texts") };
        let within = |text: &[u8]| [before, text, after].concat();
        let a = Sequences::from(vec![x.clone(), within(x)]);
        let b = Sequences::from(vec![y.clone(), within(y)]);
        for device in devices() {
            let d = edit_distances(&device, &a, &b).unwrap();
            prop_assert_eq!(d[0], d[1]);
        }
    }
}
