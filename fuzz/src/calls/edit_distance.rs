//! Edit distances.

use arbitrary::{Result, Unstructured};
use gridstride::Device;
use gridstride::edit_distance::{ABOVE_LIMIT, EditDistance, reference};
use gridstride::sequences::Sequences;
use ndarray::{Array1, ArrayView1};

use super::most;
use crate::inputs::size;

/// Compares pairs of sequences, of which some are alike.
pub fn edit_distance(device: &Device, u: &mut Unstructured) -> Result<()> {
    let most = most(device, 200, 60);
    let letters = *u.choose(&[1u8, 2, 4, 20, 255])?;
    let count = size(u, 5)?;
    let mut pairs = Vec::new();
    for _ in 0..count {
        let a = sequence(u, most, letters)?;
        let b = match u.arbitrary()? {
            true => sequence(u, most, letters)?,
            false => edited(u, &a, letters)?,
        };
        pairs.push((a, b));
    }
    let distance = |(a, b): &(Vec<u8>, Vec<u8>)| {
        reference::edit_distance(ArrayView1::from(a), ArrayView1::from(b))
    };
    let mut expected: Array1<u32> = pairs.iter().map(distance).collect();
    let a: Sequences = pairs.iter().map(|(a, _)| a).collect();
    let b: Sequences = pairs.iter().map(|(_, b)| b).collect();
    let found = EditDistance::new().edit_distances(device, &a, &b).unwrap();
    assert_eq!(found, expected);

    let [there_a, there_b] = [&a, &b].map(|sequences| sequences.upload(device).unwrap());
    let there = EditDistance::new().edit_distances_device(&there_a, &there_b);
    assert_eq!(there.unwrap().download().unwrap(), expected);

    let limit = u32::from(u.arbitrary::<u8>()?);
    let limited = EditDistance::new().with_limit(limit);
    expected.mapv_inplace(|distance| {
        if distance > limit {
            ABOVE_LIMIT
        } else {
            distance
        }
    });
    // In reverse order, with gaps.
    let mut out = Array1::from_elem(2 * count, 7);
    let view = out.slice_mut(ndarray::s![..;-2]);
    limited.edit_distances_into(device, &a, &b, view).unwrap();
    assert_eq!(out.slice(ndarray::s![..;-2]), expected);
    assert!(
        out.slice(ndarray::s![..;2])
            .iter()
            .all(|&number| number == 7)
    );

    let there = limited.edit_distances_device(&there_a, &there_b);
    assert_eq!(there.unwrap().download().unwrap(), expected);

    let shorter: Sequences = pairs.iter().skip(1).map(|(_, b)| b).collect();
    assert!(count == 0 || limited.edit_distances(device, &a, &shorter).is_err());
    Ok(())
}

fn sequence(u: &mut Unstructured, most: usize, letters: u8) -> Result<Vec<u8>> {
    (0..size(u, most)?)
        .map(|_| Ok(u.arbitrary::<u8>()? % letters))
        .collect()
}

/// Replaces, removes or inserts up to 20 letters.
fn edited(u: &mut Unstructured, text: &[u8], letters: u8) -> Result<Vec<u8>> {
    let mut text = text.to_vec();
    for _ in 0..u.int_in_range(0..=20)? {
        let place = u.int_in_range(0..=text.len())?;
        let letter = u.arbitrary::<u8>()? % letters;
        match u.int_in_range(0..=2)? {
            0 if place < text.len() => text[place] = letter,
            1 if place < text.len() => drop(text.remove(place)),
            _ => text.insert(place, letter),
        }
    }
    Ok(text)
}
