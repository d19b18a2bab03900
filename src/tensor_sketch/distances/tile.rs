//! Distances in parts, for several devices and for little memory.

use ndarray::{ArrayView2, ArrayViewMut2, Axis};

use super::gpu;
use super::value::Scale;
use super::{Metric, cpu, finish, largest, rows, scaled};
use crate::device::{DeviceKind, assign, zeroed};
use crate::partition::{Partition, bytes_of, equal_ranges, split_at_ranges};
use crate::tensor_sketch::Real;
use crate::{Device, Result};

/// Distances of some rows to some others, or to each other.
pub struct Tile<'a, T> {
    pub a: ArrayView2<'a, T>,
    /// None for those of `a` to each other.
    pub b: Option<ArrayView2<'a, T>>,
    pub out: ArrayViewMut2<'a, f64>,
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
            DeviceKind::Cpu => self.on_cpu(operation, metric),
            _ => self.by_kernels(operation, device, metric),
        }
    }

    fn on_cpu(&mut self, operation: &'static str, metric: Metric) -> Result<()> {
        let (a, b) = (self.a, self.b);
        let mut most = largest(operation, "a", a)?;
        if let Some(b) = b {
            most = most.max(largest(operation, "b", b)?);
        }
        let scale = Scale::new(most, a.ncols(), metric, f64::MAX_EXP - 1);
        let finish = finish(metric, scale);
        let a_values = scaled(a, scale)?;
        let compute = |distances: &mut [f64]| match b {
            Some(b) => {
                let b_values = scaled(b, scale)?;
                cpu::distances(rows(a, &a_values), rows(b, &b_values), finish, distances);
                Ok(())
            }
            None => cpu::pairwise(rows(a, &a_values), finish, distances),
        };
        if let Some(places) = self.out.as_slice_mut() {
            return compute(places);
        }
        let mut distances = zeroed(self.out.len())?;
        compute(&mut distances)?;
        let distances = ArrayView2::from_shape(self.out.raw_dim(), &distances);
        assign(self.out.view_mut(), &distances.expect("as many"));
        Ok(())
    }

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
            (Axis(1), Some(b)) => {
                let (b, behind) = b.split_at(Axis(0), index);
                ((self.a, self.a), (Some(b), Some(behind)))
            }
            (_, b) => (self.a.split_at(Axis(0), index), (b, b)),
        };
        let (out, out_behind) = self.out.split_at(axis, index);
        let behind = Tile {
            a: a_behind,
            b: b_behind,
            out: out_behind,
        };
        (Tile { a, b, out }, behind)
    }
}

impl<T: Real> Partition for Tile<'_, T> {
    fn bytes(&self) -> u64 {
        let of_b = self.b.map_or(0, |b| b.len());
        bytes_of(self.a.len(), size_of::<T>())
            .saturating_add(bytes_of(of_b, size_of::<T>()))
            .saturating_add(bytes_of(self.out.len(), size_of::<f64>()))
    }

    /// In slices of rows or columns, whichever there are more of. Of one set each pair is then computed twice, and the host
    /// does not copy it to its other place.
    fn split(self, parts: usize) -> Vec<Self> {
        let b = self.b.unwrap_or(self.a);
        let whole = Tile { b: Some(b), ..self };
        let (rows, columns) = whole.out.dim();
        let (axis, length) = match rows >= columns {
            true => (Axis(0), rows),
            false => (Axis(1), columns),
        };
        split_at_ranges(whole, equal_ranges(length, parts, 1), |tile, index| {
            tile.split_at(axis, index)
        })
    }
}
