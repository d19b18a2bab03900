//! Slide distances on GPUs and in the simulator.

use distances_kernels::{Parameters, THREADS, Windows as KernelWindows};

use super::input::{DeviceSlides, HostSlides, Pairing, Slides};
use super::windows::{DeviceWindows, Windows};
use crate::device::{Buffer, DeviceArray, LaunchConfig, assign, collected};
use crate::distances::element::Component;
use crate::distances::gpu::kernels::HasKernels;
use crate::distances::gpu::{largest, tuning};
use crate::distances::input;
use crate::distances::options::Metric;
use crate::distances::scale::Scale;
use crate::{Device, Result, modules};

pub fn host<T: HasKernels>(device: &Device, slides: &mut HostSlides<T>) -> Result<()> {
    let (a_rows, b_rows) = (
        device.upload(&slides.a.rows())?,
        device.upload(&slides.b.rows())?,
    );
    let (a_offsets, b_offsets) = (
        collected(slides.a.offsets())?,
        collected(slides.b.offsets())?,
    );
    let mut out = device.alloc(slides.out.len())?;
    self::device(Slides {
        operation: slides.operation,
        metric: slides.metric,
        a: DeviceWindows {
            rows: &a_rows,
            offsets: &a_offsets,
        },
        b: DeviceWindows {
            rows: &b_rows,
            offsets: &b_offsets,
        },
        pairs: slides.pairs,
        out: &mut out,
    })?;
    match slides.out.as_slice_mut() {
        Some(places) => out.copy_to(places),
        None => {
            let result = DeviceArray::from_buffer(out, slides.out.raw_dim())?;
            assign(slides.out.view_mut(), &result.download()?);
            Ok(())
        }
    }
}

pub fn device<T: HasKernels>(slides: DeviceSlides<T>) -> Result<()> {
    let (operation, metric, out) = (slides.operation, slides.metric, slides.out);
    let (a, b) = (slides.a, slides.b);
    let largest = largest(operation, ["a", "b"], a.rows, Some(b.rows))?;
    if out.is_empty() {
        return Ok(());
    }
    let (device, dim) = (a.rows.device(), a.dim());
    let longest = longest(a.offsets).max(self::longest(b.offsets));
    let numbers = longest.saturating_mul(dim);
    input::require_dim(operation, numbers.max(dim), tuning::MAX_DIM)?;
    let Scale { scale, unscale } = Scale::new(largest, numbers, metric, T::KERNELS.max_exponent);
    let parameters = Parameters {
        rows: a.len() as u64,
        columns: b.len() as u64,
        dim: dim as u32,
        root: u32::from(metric == Metric::L2),
        scale,
        unscale,
    };
    let (blocks, kernel) = match slides.pairs {
        Pairing::All => (
            tuning::tiles(a.len(), b.len(), T::KERNELS.tile_columns),
            T::KERNELS.slide,
        ),
        Pairing::Each => (tuning::in_grid(a.len()), T::KERNELS.slide_paired),
    };
    let shape = (a.len(), out.len() / a.len());
    let blocks = blocks.ok_or_else(|| input::too_many(operation, shape))?;
    let (a_offsets, b_offsets) = (upload(device, a.offsets)?, upload(device, b.offsets)?);
    let windows = |windows: DeviceWindows<T>, offsets: &Buffer<u64>| KernelWindows {
        values: windows.rows.buffer().slice(),
        offsets: offsets.slice(),
    };
    let arguments = (
        parameters,
        windows(a, &a_offsets),
        windows(b, &b_offsets),
        out.slice_mut(),
    );
    let config = LaunchConfig::new(blocks, THREADS);
    // SAFETY: a block per tile, or per pair; the sequences are of this device, as many as the
    // parameters say, and have at most 2³¹ − 1 numbers each; the result has an element for each
    // pair; buffers are aligned to 256 bytes and freed after the kernel has run.
    unsafe { device.launch(&modules::DISTANCES, kernel, config, arguments) }
}

fn upload(device: &Device, offsets: &[usize]) -> Result<Buffer<u64>> {
    let offsets: Vec<u64> = collected(offsets.iter().map(|&offset| offset as u64))?;
    device.buffer_from(&offsets)
}

fn longest(offsets: &[usize]) -> usize {
    let lengths = offsets.windows(2).map(|pair| pair[1] - pair[0]);
    lengths.max().unwrap_or(0)
}

impl<T: Component> HostSlides<'_, T> {
    /// Returns the most windows of a sequence.
    pub fn longest(&self) -> usize {
        let of = |windows: Windows<T>| {
            let starts = windows.offsets();
            let ends = windows.offsets().skip(1);
            let lengths = starts.zip(ends).map(|(start, end)| end - start);
            lengths.max().unwrap_or(0)
        };
        of(self.a).max(of(self.b))
    }
}
