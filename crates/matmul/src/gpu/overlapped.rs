//! Products of page-locked host arrays, whose copies overlap with kernels.
//!
//! The handle's stream copies B, and then A in panels of rows. Each panel of C is computed on one of
//! several streams as soon as its panel of A has arrived, and another stream copies it back. Several
//! streams compute, since a panel has too few tiles for all multiprocessors. k is not cut, and the
//! kernel is that of the whole, so the results are the same bit for bit.
//!
//! Order of the streams:
//! - A stream that computes waits for the copies of B, of its panel of A and, if C is read, of its
//!   panel of C.
//! - The stream that copies back waits for the kernels of the panel.
//! - No copy waits for memory to become free: panels of C share no memory, on the device or on the
//!   host, and what is copied to the device is copied once. Temporary memory of kernels is allocated
//!   and freed in the order of their stream.
//! - The buffers are allocated on the handle's stream, which the others wait for. They are freed, and
//!   the caller's arrays returned, after the host has waited for all streams, also after an error:
//!   see [`Device::side_streams`].
//! - Copies back start after everything else has been started. Kernels that need temporary memory
//!   may fail for lack of it until then; the partition is then split and computed again, and C must
//!   be unchanged if it is read. Starting takes less time than the copies before the first result.

use gridstride_runtime::device::Element;
use gridstride_runtime::partition::equal_ranges;
use gridstride_runtime::{Device, Result};
use num_traits::Zero;

use super::host::{OnDevice, without_gaps};
use super::kernels::{HasKernels, OutputOf};
use super::run;
use super::tuning::{self, COMPUTE_STREAMS, PANEL_ROWS};
use crate::element::{HostProduct, Scalar};
use crate::input::{DeviceProduct, Sizes};
use crate::options::MatMul;

/// The stream that copies from the device, and the first of those that compute.
const FROM: usize = 0;
const COMPUTE: usize = 1;

/// How to compute a product in panels.
pub struct Panels<'a, T> {
    /// The elements of A and B in the order of the host's memory, and their strides.
    a: (&'a [T], [usize; 3]),
    b: (&'a [T], [usize; 3]),
    /// The number of panels, if there are enough rows.
    count: usize,
}

impl<'a, T: Scalar> Panels<'a, T> {
    /// Returns the panels of a product, unless its copies are too small or cannot overlap with
    /// kernels.
    pub fn new<C: Element>(device: &Device, product: &HostProduct<'a, T, C>) -> Option<Self> {
        // First, since this asks nothing of the driver.
        let count = tuning::panels(product.sizes(), [size_of::<T>(), size_of::<C>()])?;
        let panels = Panels::with_count(product, count)?;
        let can_overlap = device.copies_beside_kernels(panels.a.0)
            && device.copies_beside_kernels(panels.b.0)
            && device.copies_beside_kernels(product.c.as_slice()?);
        can_overlap.then_some(panels)
    }

    /// Returns this number of panels. A and B must have no gaps, and C must be in row-major
    /// order: its panels are then contiguous.
    fn with_count<C>(product: &HostProduct<'a, T, C>, count: usize) -> Option<Self> {
        product.c.as_slice()?;
        Some(Panels {
            a: without_gaps(&product.a)?,
            b: without_gaps(&product.b)?,
            count,
        })
    }
}

/// Computes a partition of a product as [`host`](super::host), in panels of the same product.
pub fn in_panels<T: HasKernels, C: OutputOf<T>>(
    options: MatMul,
    device: &Device,
    whole: Sizes,
    mut product: HostProduct<T, C>,
    panels: &Panels<T>,
) -> Result<()> {
    let (sizes, reads_c) = (product.sizes(), !product.beta.is_zero());
    let ((a_elements, a_strides), (b_elements, b_strides)) = (panels.a, panels.b);
    // Else the rows of A have gaps, and all of A is copied first.
    let has_contiguous_rows = a_strides[1] >= a_strides[2];
    let ranges: Vec<_> = equal_ranges(sizes.m, panels.count, PANEL_ROWS).collect();

    let mut a = OnDevice::allocate(device, &product.a, a_strides)?;
    let mut b = OnDevice::allocate(device, &product.b, b_strides)?;
    let mut result = device.alloc::<C>(product.c.len())?;
    let mut c = product
        .c
        .as_slice_mut()
        .expect("C is row-major, since it has panels");
    // Declared after the buffers: dropped, and waited for, before them.
    let mut streams = device.side_streams();
    // SAFETY: the arrays are borrowed until `streams` has waited, and no kernel reads what a copy
    // here and below writes before it has arrived.
    unsafe {
        b.start_copy_of_all(device, b_elements)?;
        if !has_contiguous_rows {
            a.start_copy_of_all(device, a_elements)?;
        }
    }
    // The rest is prepared beside these copies, which all kernels wait for.
    streams.open(COMPUTE + COMPUTE_STREAMS)?;
    let from = streams.on(FROM);
    let arrived = device.event()?;
    let mut computed = Vec::with_capacity(ranges.len());
    for (index, rows) in ranges.iter().enumerate() {
        let elements = rows.start * sizes.n..rows.end * sizes.n;
        // SAFETY: the arrays are borrowed until `streams` has waited, and no kernel reads what a
        // copy writes before it has arrived. The panel of C on the host is written by its copy back
        // alone, after the kernels that wait for this copy.
        unsafe {
            if has_contiguous_rows {
                a.start_copy_of_rows(device, rows, a_elements)?;
            }
            if reads_c {
                result.start_copy_from(device, elements.start, &c[elements.clone()])?;
            }
        }
        // A wait is for the last record before it, so one event serves all panels.
        device.record(&arrived)?;
        let stream = streams.on(COMPUTE + index % COMPUTE_STREAMS);
        stream.wait(&arrived)?;
        let on_device = DeviceProduct {
            operation: product.operation,
            device: stream,
            alpha: product.alpha,
            a: a.rows(rows),
            b: b.matrices(),
            beta: product.beta,
            c: &mut result,
            start_of_c: elements.start,
            sizes: Sizes {
                m: rows.len(),
                ..sizes
            },
        };
        run(options, on_device, whole)?;
        let event = device.event()?;
        stream.record(&event)?;
        computed.push((elements, event));
    }
    for (elements, event) in &computed {
        let target = c.split_off_mut(..elements.len()).expect("C has all panels");
        from.wait(event)?;
        // SAFETY: C is borrowed until `streams` has waited, and no other panel has these elements.
        unsafe { result.start_copy_to(from, elements.start, target)? };
    }
    streams.finish()
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use half::{bf16, f16};
    use ndarray::{Array2, ArrayView2, Axis};

    use super::*;
    use crate::gpu::host::host;
    use crate::input::Product;
    use crate::options::{Instructions, Precision};
    use gridstride_runtime::device::device_for_tests;
    use gridstride_runtime::random::random;
    use gridstride_runtime::{Error, Number};

    /// The rows fill no pieces of 16 bytes, but those of the first panels do.
    const SIZES: [usize; 3] = [603, 40, 70];

    fn numbers<T: Scalar>(shape: [usize; 2], seed: u64) -> Array2<T> {
        let mut bits = random(seed);
        Array2::from_shape_simple_fn(shape, || T::from_f64((bits() >> 40) as f64 / 1e7 - 0.8))
    }

    /// Returns C = 0.5·A·B + beta·C, or how its computation failed and what is then in C.
    fn product<T: HasKernels, C: OutputOf<T> + Scalar>(
        options: MatMul,
        device: &Device,
        (a, b): (ArrayView2<T>, ArrayView2<T>),
        beta: f64,
        panels: Option<usize>,
    ) -> (Result<()>, Array2<C>) {
        let mut c = numbers::<C>([a.nrows(), b.ncols()], 3);
        let product = Product {
            operation: "test",
            alpha: T::Sum::from_f64(0.5),
            a: a.insert_axis(Axis(0)),
            b: b.insert_axis(Axis(0)),
            beta: T::Sum::from_f64(beta),
            c: c.view_mut().insert_axis(Axis(0)),
        };
        let whole = product.sizes();
        let done = match panels {
            None => host(options, device, whole, product),
            Some(count) => {
                let panels = Panels::with_count(&product, count).unwrap();
                in_panels(options, device, whole, product, &panels)
            }
        };
        (done, c)
    }

    fn check<T: HasKernels, C: OutputOf<T> + Scalar + PartialEq + Debug>(options: MatMul) {
        let device = device_for_tests();
        let [m, k, n] = SIZES;
        let (a, b) = (numbers::<T>([m, k], 1), numbers::<T>([k, n], 2));
        let (a_across, b_across) = (a.t().to_owned(), b.t().to_owned());
        for (a, b, beta) in [
            (a.view(), b.view(), 0.0),
            (a.view(), b_across.t(), 0.25),
            (a_across.t(), b.view(), 0.25),
        ] {
            let [expected, found] = [None, Some(3)].map(|panels| {
                let (done, c) = product::<T, C>(options, &device, (a, b), beta, panels);
                done.unwrap();
                c
            });
            assert_eq!(
                found,
                expected,
                "{options:?}, {:?} {:?}",
                a.strides(),
                b.strides()
            );
        }
    }

    #[test]
    fn panels_are_those_of_the_whole() {
        let options = MatMul::new();
        check::<f32, f32>(options);
        check::<f32, f32>(options.precision(Precision::Tf32));
        let emulated = options.precision(Precision::F32ByBf16x6);
        check::<f32, f32>(emulated);
        check::<f32, f32>(emulated.instructions(Instructions::WarpGroup));
        check::<f64, f64>(options);
        check::<f16, f32>(options);
        check::<bf16, bf16>(options);
    }

    #[test]
    fn c_is_unchanged_if_memory_runs_out() {
        let [m, k, n] = SIZES;
        let (a, b) = (numbers::<f32>([m, k], 1), numbers::<f32>([k, n], 2));
        // Enough for the arrays, but not for the terms of the emulation.
        let bytes = 4 * (m * k + k * n + m * n) as u64;
        let device = Device::simulator().unwrap().with_memory_limit(bytes);
        let options = MatMul::new().precision(Precision::F32ByBf16x6);
        let (done, c) = product::<f32, f32>(options, &device, (a.view(), b.view()), 1.0, Some(3));
        assert!(matches!(done, Err(Error::Allocation { .. })), "{done:?}");
        assert_eq!(c, numbers::<f32>([m, n], 3));
    }
}
