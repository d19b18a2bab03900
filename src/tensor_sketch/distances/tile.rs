//! Distances in parts, for several devices and for little memory.

use ndarray::{ArrayView2, ArrayViewMut2, Axis};

#[cfg(feature = "kernels")]
use super::gpu;
use super::value::Scale;
use super::{Metric, cpu, finish, largest, rows, scaled};
use crate::device::{DeviceKind, assign, zeroed};
use crate::spread::{Part, equal_ranges};
use crate::tensor_sketch::Real;
use crate::{Device, Result};

/// Distances of some rows to some others, or to each other.
pub struct Tile<'a, T> {
    pub a: ArrayView2<'a, T>,
    /// None for those of `a` to each other.
    pub b: Option<ArrayView2<'a, T>>,
    pub out: ArrayViewMut2<'a, f64>,
    /// Where they are to stand too, transposed.
    pub mirrored: Option<ArrayViewMut2<'a, f64>>,
}

impl<'a, T: Real> Tile<'a, T> {
    /// Computes them on a device.
    pub fn compute(
        &mut self,
        operation: &'static str,
        device: &Device,
        metric: Metric,
    ) -> Result<()> {
        match device.kind() {
            DeviceKind::Cpu => self.on_cpu(operation, metric)?,
            #[cfg(feature = "kernels")]
            _ => self.by_kernels(operation, device, metric)?,
            #[cfg(not(feature = "kernels"))]
            _ => unreachable!("this build has the CPU alone"),
        }
        if let Some(mirrored) = &mut self.mirrored {
            assign(mirrored.view_mut(), &self.out.t());
        }
        Ok(())
    }

    fn on_cpu(&mut self, operation: &'static str, metric: Metric) -> Result<()> {
        let (a, b) = (self.a, self.b);
        let mut most = largest(operation, "a", a)?;
        if let Some(b) = b {
            most = most.max(largest(operation, "b", b)?);
        }
        let scale = Scale::new(most, a.ncols(), metric, f64::MAX_EXP - 1);
        let finish = finish(metric, scale);
        let a_values = scaled(a, scale);
        let compute = |distances: &mut [f64]| match b {
            Some(b) => {
                let b_values = scaled(b, scale);
                cpu::distances(rows(a, &a_values), rows(b, &b_values), finish, distances);
            }
            None => cpu::pairwise(rows(a, &a_values), finish, distances),
        };
        if let Some(places) = self.out.as_slice_mut() {
            compute(places);
            return Ok(());
        }
        let mut distances = zeroed(self.out.len())?;
        compute(&mut distances);
        let distances = ArrayView2::from_shape(self.out.raw_dim(), &distances);
        assign(self.out.view_mut(), &distances.expect("as many"));
        Ok(())
    }

    #[cfg(feature = "kernels")]
    fn by_kernels(
        &mut self,
        operation: &'static str,
        device: &Device,
        metric: Metric,
    ) -> Result<()> {
        let a = device.upload(&self.a)?;
        let distances = match self.b {
            Some(b) => gpu::distances(operation, &a, &device.upload(&b)?, metric)?,
            None => gpu::pairwise(operation, &a, metric)?,
        };
        match self.out.as_slice_mut() {
            Some(places) => distances.buffer().copy_to(places),
            None => {
                assign(self.out.view_mut(), &distances.download()?);
                Ok(())
            }
        }
    }

    /// Those up to a row, or a column if the axis is 1, and the rest.
    fn split_at(self, axis: Axis, index: usize) -> (Self, Self) {
        let ((a, a_behind), (b, b_behind)) = match (axis, self.b) {
            (Axis(0), b) => (self.a.split_at(Axis(0), index), (b, b)),
            (_, b) => {
                let (b, behind) = b.expect("of two sets").split_at(Axis(0), index);
                ((self.a, self.a), (Some(b), Some(behind)))
            }
        };
        let (out, out_behind) = self.out.split_at(axis, index);
        let (mirrored, mirrored_behind) = match self.mirrored {
            Some(mirrored) => {
                let (mirrored, behind) = mirrored.split_at(Axis(1 - axis.index()), index);
                (Some(mirrored), Some(behind))
            }
            None => (None, None),
        };
        let tile = |a, b, out, mirrored| Tile {
            a,
            b,
            out,
            mirrored,
        };
        (
            tile(a, b, out, mirrored),
            tile(a_behind, b_behind, out_behind, mirrored_behind),
        )
    }

    /// In slices of rows or columns, whichever there are more of.
    fn slices(self, parts: usize) -> Vec<Self> {
        let (rows, columns) = self.out.dim();
        let (axis, length) = match rows >= columns {
            true => (Axis(0), rows),
            false => (Axis(1), columns),
        };
        if length == 0 {
            // The rows are to be looked at all the same.
            return vec![self];
        }
        let mut rest = self;
        let mut slices = Vec::new();
        for range in equal_ranges(length, parts, 1) {
            let (tile, behind) = rest.split_at(axis, range.len());
            slices.push(tile);
            rest = behind;
        }
        slices
    }

    /// Of one set: the distances within each of some groups of rows, and those between two groups.
    fn groups(self, groups: usize) -> Vec<Self> {
        let ranges: Vec<_> = equal_ranges(self.a.nrows(), groups, 1).collect();
        let of_group = |group: usize| self.a.slice_move(ndarray::s![ranges[group].clone(), ..]);
        let mut below = self.out;
        let mut tiles = Vec::new();
        // The places of each later group in the rows of those before.
        let mut above: Vec<Vec<ArrayViewMut2<f64>>> = ranges.iter().map(|_| Vec::new()).collect();
        for (i, range) in ranges.iter().enumerate() {
            let (mut band, behind) = below.split_at(Axis(0), range.len());
            below = behind;
            for (j, columns) in ranges.iter().enumerate() {
                let (out, behind) = band.split_at(Axis(1), columns.len());
                band = behind;
                if j > i {
                    above[j].push(out);
                    continue;
                }
                tiles.push(Tile {
                    a: of_group(i),
                    b: (j < i).then(|| of_group(j)),
                    out,
                    mirrored: (j < i).then(|| above[i].remove(0)),
                });
            }
        }
        tiles
    }
}

impl<T: Real> Part for Tile<'_, T> {
    fn bytes(&self) -> u64 {
        let numbers = self.a.len() + self.b.map_or(0, |b| b.len());
        (numbers as u64 * size_of::<T>() as u64)
            .saturating_add((self.out.len() as u64).saturating_mul(size_of::<f64>() as u64))
    }

    fn cut(self, parts: usize) -> Vec<Self> {
        if self.b.is_some() {
            return self.slices(parts);
        }
        let tiles = |groups: usize| groups * (groups + 1) / 2;
        let groups = (1..=self.a.nrows()).find(|&groups| tiles(groups) >= parts);
        match groups.unwrap_or(self.a.nrows()) {
            0 | 1 => vec![self],
            groups => self.groups(groups),
        }
    }
}
