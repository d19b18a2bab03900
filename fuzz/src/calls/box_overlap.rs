//! Overlapping boxes.

use arbitrary::{Result, Unstructured};
use gridstride::Device;
use gridstride::box_overlap::{Algorithm, BoxOverlap, Coordinate, reference};
use ndarray::{Array1, ArrayView2};

use super::most;
use crate::inputs::{Strided, size};

/// Searches among boxes of any type.
pub fn box_overlap(device: &Device, u: &mut Unstructured) -> Result<()> {
    match u.int_in_range(0..=2)? {
        0 => search::<f32>(device, u, f32::from_bits),
        1 => search::<f64>(device, u, |bits| f64::from(f32::from_bits(bits))),
        _ => search::<i32>(device, u, |bits| bits as i32),
    }
}

/// Draws a coordinate: a small whole number, or any bits of a number.
fn coordinate<T: Coordinate>(
    u: &mut Unstructured,
    any: bool,
    of_bits: impl Fn(u32) -> T,
) -> Result<T> {
    if any && u.ratio(1, 8)? {
        return Ok(of_bits(u.arbitrary()?));
    }
    Ok(T::from_f64(f64::from(u.int_in_range(-8..=8i8)?)))
}

/// Draws boxes, of which few are the wrong way round unless `any`.
fn boxes<T: Coordinate>(
    u: &mut Unstructured,
    (rows, columns): (usize, usize),
    any: bool,
    of_bits: impl Fn(u32) -> T + Copy,
) -> Result<Strided<T>> {
    let mut set = Strided::new(u, (rows, columns), of_bits(u32::MAX), |u| {
        coordinate(u, any, of_bits)
    })?;
    if !u.ratio(1, 16)? {
        for mut row in set.view_mut().outer_iter_mut() {
            for axis in 0..columns / 2 {
                let (min, max) = (row[axis], row[axis + columns / 2]);
                if max < min {
                    (row[axis], row[axis + columns / 2]) = (max, min);
                }
            }
        }
    }
    Ok(set)
}

fn search<T: Coordinate>(
    device: &Device,
    u: &mut Unstructured,
    of_bits: impl Fn(u32) -> T + Copy,
) -> Result<()> {
    let most = most(device, 150, 70);
    let widths = [4, 4, 6, 6, 6, 6, 4, 4, 5, 0];
    let columns = *u.choose(&widths)?;
    let others = if u.ratio(1, 16)? {
        *u.choose(&widths)?
    } else {
        columns
    };
    let any = u.arbitrary()?;
    let set1 = (size(u, most)?, columns);
    let set1 = boxes(u, set1, any, of_bits)?;
    let set2 = (size(u, most)?, others);
    let set2 = boxes(u, set2, any, of_bits)?;
    let algorithms = [Algorithm::Auto, Algorithm::BruteForce, Algorithm::Indexed];
    let with = BoxOverlap::new().algorithm(*u.choose(&algorithms)?);
    pairs(device, with, set1.view(), set2.view(), u)?;
    let found = with.self_overlaps(device, set1.view());
    let there = with.self_overlaps_device(&device.upload(&set1.view()).unwrap());
    match reference::self_overlaps(set1.view()) {
        Ok(expected) => {
            assert_eq!(found.unwrap(), expected);
            assert_eq!(there.unwrap().download().unwrap(), expected);
        }
        Err(expected) => {
            assert_eq!(found.unwrap_err().to_string(), expected.to_string());
            assert!(there.is_err());
        }
    }
    Ok(())
}

fn pairs<T: Coordinate>(
    device: &Device,
    with: BoxOverlap,
    set1: ArrayView2<T>,
    set2: ArrayView2<T>,
    u: &mut Unstructured,
) -> Result<()> {
    let found = with.overlaps(device, set1, set2);
    let there = [set1, set2].map(|set| device.upload(&set).unwrap());
    let found_there = with.overlaps_device(&there[0], &there[1]);
    let expected = match reference::overlaps(set1, set2) {
        Ok(expected) => expected,
        Err(expected) => {
            assert_eq!(found.unwrap_err().to_string(), expected.to_string());
            assert!(with.counts(device, set1, set2).is_err());
            assert!(with.matrix(device, set1, set2, 3).is_err());
            assert!(found_there.is_err());
            return Ok(());
        }
    };
    assert_eq!(found.unwrap(), expected);
    assert_eq!(found_there.unwrap().download().unwrap(), expected);
    let counts: Array1<u32> = (0..expected.len())
        .map(|i| expected.row(i).len() as u32)
        .collect();
    assert_eq!(with.counts(device, set1, set2).unwrap(), counts);
    let counted_there = with.counts_device(&there[0], &there[1]).unwrap();
    assert_eq!(counted_there.download().unwrap(), counts);

    let budget = size(u, 100)?;
    let mut next = 0;
    for slice in with.slices(device, set1, set2, budget).unwrap() {
        let slice = slice.unwrap();
        assert_eq!(slice.rows.start, next);
        for (row, i) in slice.rows.clone().enumerate() {
            assert_eq!(slice.overlaps.row(row), expected.row(i));
        }
        next = slice.rows.end;
    }
    assert_eq!(next, expected.len());
    Ok(())
}
