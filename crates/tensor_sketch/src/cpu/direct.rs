//! The direct form on the CPU: one thread per sequence, with sums in `f64`.

use std::ops::RangeInclusive;

use gridstride_runtime::Result;
use gridstride_runtime::device::reserve;
use gridstride_runtime::parallel::{self, Scratch};

use super::vector::{Jobs, Vector};
use crate::options::divisor;
use crate::tables::Tables;

/// Writes the rows `kept` of each sequence's sketch to its view.
///
/// Every sum is in the order of the reference, so the result is the reference's, rounded once to
/// `T`.
pub fn sketch<T: Vector>(
    tables: &Tables,
    jobs: Jobs<T>,
    kept: RangeInclusive<usize>,
    normalize: bool,
) -> Result<()> {
    let (t, dim) = (tables.tuple_length(), tables.dim());
    let steps = (tables.hashes().iter())
        .zip(tables.signs())
        .map(|(&hash, &sign)| (hash as usize, f64::from(sign)))
        .collect::<Vec<_>>();
    let scratch = Scratch::new();
    parallel::try_each_in_order(jobs, |(codes, mut sketch)| {
        scratch.with(|rows: &mut Vec<f64>| {
            rows.clear();
            reserve(rows, (t + 1) * dim)?;
            rows.resize((t + 1) * dim, 0.0);
            rows[0] = 1.0;
            for &letter in codes {
                add_letter(rows, dim, &steps[usize::from(letter) * t..][..t]);
            }
            for (k, mut target) in kept.clone().zip(sketch.outer_iter_mut()) {
                let divisor = divisor(normalize, codes.len() as u64, k);
                for (target, value) in target.iter_mut().zip(&rows[k * dim..]) {
                    *target = T::from_f64(value / divisor);
                }
            }
            Ok(())
        })
    })
}

/// Appends a letter to all rows in place, given its (hash, sign) for each place of a tuple. The
/// last row comes first, since each row reads the old values of the row before it.
fn add_letter(rows: &mut [f64], dim: usize, steps: &[(usize, f64)]) {
    for k in (1..steps.len()).rev() {
        let (shift, sign) = steps[k];
        let (source, target) = rows[k * dim..(k + 2) * dim].split_at_mut(dim);
        let (front, back) = source.split_at(dim - shift);
        add(&mut target[shift..], front, sign);
        add(&mut target[..shift], back, sign);
    }
    // Row 0 is always (1, 0, …, 0).
    rows[dim + steps[0].0] += steps[0].1;
}

fn add(target: &mut [f64], source: &[f64], sign: f64) {
    for (target, value) in target.iter_mut().zip(source) {
        *target += sign * value;
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Axis, s};

    use crate::{Form, Sequences, Tables, TensorSketch, reference};
    use gridstride_runtime::Device;

    #[test]
    fn the_reference_rounded_once() {
        let tables = Tables::from_seed(5, 6, 37, 3).unwrap();
        let sequences: Sequences = [0u32, 1, 5, 6, 7, 300, 2000]
            .map(|n| (0..n).map(|i| (i * i % 97 % 5) as u8).collect::<Vec<_>>())
            .iter()
            .collect();
        let sketcher = TensorSketch::new(tables.clone()).form(Form::Direct);
        for normalize in [false, true] {
            let sketcher = sketcher.clone().normalize(normalize);
            let all = sketcher.sketch_rows(&Device::cpu(), &sequences).unwrap();
            for (i, codes) in sequences.slices().enumerate() {
                let mut expected = reference::tensor_sketch(codes.into(), &tables);
                if normalize {
                    reference::normalize(&mut expected, codes.len() as u64);
                }
                let expected = expected.mapv(|value| value as f32);
                assert_eq!(all.index_axis(Axis(0), i), expected);
            }
            let last = sketcher.sketch(&Device::cpu(), &sequences).unwrap();
            assert_eq!(last, all.slice(s![.., 6, ..]));
        }
    }

    /// C(300 000, 8) is 1.6e39, but the quotient is in the range of `f32`.
    #[test]
    fn sums_beyond_f32_can_be_normalised() {
        let tables = Tables::from_seed(1, 8, 3, 0).unwrap();
        let sequences = Sequences::from_iter([&vec![0; 300_000]]);
        let sketcher = TensorSketch::new(tables).form(Form::Direct).normalize(true);
        let sketches = sketcher.sketch(&Device::cpu(), &sequences).unwrap();
        let size: f32 = sketches.iter().map(|value| value.abs()).sum();
        assert!((size - 1.0).abs() < 1e-6, "{sketches}");
    }
}
