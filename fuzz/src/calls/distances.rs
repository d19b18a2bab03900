//! Distances and nearest rows.

use arbitrary::{Result, Unstructured};
use gridstride::Device;
use gridstride::distances::{Distances, Metric};
use ndarray::Array2;

use super::most;
use crate::inputs::{Strided, size};
use test_support::rows::{Number, check, expected, numbers, sorted};

/// Compares rows of either type.
pub fn distances(device: &Device, u: &mut Unstructured) -> Result<()> {
    match u.arbitrary()? {
        true => rows::<f32>(device, u),
        false => rows::<f64>(device, u),
    }
}

/// Draws whole numbers of up to `digits` binary digits, and a sign.
fn whole(u: &mut Unstructured, shape: (usize, usize), digits: u32) -> Result<Array2<i64>> {
    let mut numbers = Array2::zeros(shape);
    for number in &mut numbers {
        let any: i64 = match digits {
            ..8 => u.arbitrary::<i8>()?.into(),
            _ => u.arbitrary()?,
        };
        *number = any % (1 << digits);
    }
    Ok(numbers)
}

fn rows<T: Number + std::ops::Neg<Output = T>>(
    device: &Device,
    u: &mut Unstructured,
) -> Result<()> {
    let most = most(device, 40, 20);
    let (n, m, dim) = (size(u, most)?, size(u, most)?, size(u, most)?);
    let metric = *u.choose(&[Metric::L2, Metric::SquaredL2])?;
    let search = Distances::new().metric(metric);
    // Few digits make many distances equal.
    let digits = *u.choose(&[2, 5, T::DIGITS])?;
    // Squares stay in the range of `f64`, and numbers in that of `T`.
    let exponent = *u.choose(&[0, -7, 60, -90])?;
    let (a, b) = (whole(u, (n, dim), digits)?, whole(u, (m, dim), digits)?);
    let expected = expected(&a, &b, exponent, metric);
    let (mut a, b) = (numbers::<T>(&a, exponent), numbers::<T>(&b, exponent));
    if !a.is_empty() && u.ratio(1, 16)? {
        let special = *u.choose(&[T::NAN, T::INFINITY, -T::INFINITY])?;
        let place = u.choose_index(a.len())?;
        a[[place / dim, place % dim]] = special;
        assert!(search.distances(device, a.view(), b.view()).is_err());
        assert!(search.pairwise(device, a.view()).is_err());
        assert!(search.nearest(device, a.view(), b.view(), m).is_err());
        return Ok(());
    }
    let (a, b) = (Strided::copy(u, &a, T::NAN)?, Strided::copy(u, &b, T::NAN)?);
    let (a, b) = (a.view(), b.view());
    let found = search.distances(device, a, b).unwrap();
    check::<T>(device, dim, &found, &expected);

    let mut out = Strided::new(u, (n, m), f64::NAN, |_| Ok(f64::NAN))?;
    search.distances_into(device, a, b, out.view_mut()).unwrap();
    assert_eq!(out.view(), found);
    let [there_a, there_b] = [device.upload(&a).unwrap(), device.upload(&b).unwrap()];
    let there = search.distances_device(&there_a, &there_b).unwrap();
    assert_eq!(there.download().unwrap(), found);
    let itself = search.pairwise(device, a).unwrap();
    assert_eq!(itself, search.distances(device, a, a).unwrap());
    let there = search.pairwise_device(&there_a).unwrap();
    assert_eq!(there.download().unwrap(), itself);

    let k = size(u, m + 1)?;
    let there = search.nearest_device(&there_a, &there_b, k);
    match search.nearest(device, a, b, k) {
        Ok(nearest) => {
            assert_eq!(nearest, sorted(&found, k));
            assert_eq!(there.unwrap().download().unwrap(), nearest);
        }
        Err(_) => assert!(k > m && there.is_err()),
    }
    if dim > 0 {
        let shorter = b.slice(ndarray::s![.., 1..]);
        assert!(search.distances(device, a, shorter).is_err());
        assert!(search.nearest(device, a, shorter, 0).is_err());
    }
    Ok(())
}
