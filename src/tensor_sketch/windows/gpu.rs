//! Sliding windows on GPUs and in the simulator: the matrices of the segments, the products of
//! whole runs, then the windows of all runs. [`windows`](super) defines these words.

use std::ops::Range;

use tensor_sketch_kernels::fourier::compose::Run;
use tensor_sketch_kernels::fourier::windows;

use crate::device::{Buffer, LaunchConfig, collected, reserve};
use crate::sequences::{PackedLetters, SequenceBuffers};
use crate::tensor_sketch::gpu::HasKernels;
use crate::tensor_sketch::gpu::fourier::{Engine, Spectra};
use crate::tensor_sketch::gpu::kernels::{WINDOWS, nothing};
use crate::tensor_sketch::gpu::layout::{Capacity, HostLayout, Layout, Segment};
use crate::tensor_sketch::gpu::tuning::Runs;
use crate::tensor_sketch::gpu::workspace::Workspace;
use crate::tensor_sketch::input::{Job, Windows};
use crate::tensor_sketch::tables::Tables;
use crate::{Device, Error, Result};

/// The limits of a batch: its windows, and the letters in which these windows begin. A batch always
/// has room for one window for each stride of a window, also beyond these limits.
const MAX_WINDOWS: usize = 1 << 16;
const MAX_LETTERS: usize = 1 << 27;

/// The most strides in a window. Kernels count the segments of a batch in 32 bits. A batch of such
/// windows has up to about twice as many strides, with up to two segments each.
const MAX_STRIDES: usize = 1 << 29;

/// Writes the sketches of all windows of `codes` to a row each. There is at least one window, the
/// codes are below the alphabet's size, and they end with the last window.
pub fn host<T: HasKernels>(
    device: &Device,
    job: &Job,
    codes: &[u8],
    of: Windows,
    sketches: &mut [T],
) -> Result<()> {
    let engine = Engine::<T>::new(device, job)?;
    let letters = PackedLetters::upload(device, codes, job.tables.alphabet_size())?;
    let Some(runs) = runs(job, of)? else {
        let layouts = engine.separate(of)?;
        let mut out = engine.allocate_sketches(of.count, 1)?;
        engine.sketch(&letters, &layouts, &lengths(of, of.count)?, &mut out)?;
        return out.copy_to(sketches);
    };
    for batch in batches_of_runs(of, &runs) {
        let place = batch.start * job.tables.dim()..batch.end * job.tables.dim();
        let spectra = engine.windows(&letters, of, &runs, batch.clone())?;
        let mut out = engine.allocate_sketches(batch.len(), 1)?;
        engine.finish(&spectra, &lengths(of, batch.len())?, &mut out, 0)?;
        out.copy_to(&mut sketches[place])?;
    }
    Ok(())
}

/// Writes the sketches of all windows, at least one, of the only sequence to a row each.
pub fn device<T: HasKernels>(
    device: &Device,
    job: &Job,
    text: &SequenceBuffers,
    of: Windows,
    out: &mut Buffer<T>,
) -> Result<()> {
    let engine = Engine::<T>::new(device, job)?;
    let Some(runs) = runs(job, of)? else {
        let layouts = engine.separate(of)?;
        return engine.sketch(&text.letters, &layouts, &lengths(of, of.count)?, out);
    };
    for batch in batches_of_runs(of, &runs) {
        let spectra = engine.windows(&text.letters, of, &runs, batch.clone())?;
        engine.finish(&spectra, &lengths(of, batch.len())?, out, batch.start)?;
    }
    Ok(())
}

/// Returns how the strides of windows form runs, or `None` if windows have no letter in common.
fn runs(job: &Job, of: Windows) -> Result<Option<Runs>> {
    let strides = of.width / of.stride;
    if strides > MAX_STRIDES {
        let message = format!(
            "windows of {} letters at every {}-th are more than {MAX_STRIDES} strides long: \
             take a larger stride, or sketch them on the CPU",
            of.width, of.stride
        );
        return Err(Error::input(job.operation, message));
    }
    Ok((strides > 0).then(|| Runs::new(strides as u64)))
}

/// Returns the windows of each batch, which ends with a run.
fn batches_of_runs(of: Windows, runs: &Runs) -> impl Iterator<Item = Range<usize>> {
    let together = together(of).next_multiple_of(runs.length as usize);
    let firsts = (0..of.count).step_by(together);
    firsts.map(move |first| first..of.count.min(first + together))
}

fn lengths(of: Windows, count: usize) -> Result<Vec<u64>> {
    collected((0..count).map(|_| of.width as u64))
}

/// Returns the number of neighbouring windows that begin in a run. Partitions that begin at
/// multiples of this number compute the same products as the whole.
pub fn run(of: Windows) -> usize {
    match of.width / of.stride {
        0 => 1,
        strides => Runs::new(strides as u64).length as usize,
    }
}

/// Returns the number of windows in a batch, before it is rounded up to whole runs.
fn together(of: Windows) -> usize {
    let most = MAX_WINDOWS.min(MAX_LETTERS / of.stride);
    most.max(of.width / of.stride)
}

/// Estimates the bytes of a device's memory for the windows of a text of `letters` letters.
pub fn bytes<T: HasKernels>(tables: &Tables, of: Windows, letters: usize) -> u64 {
    let strides = of.width / of.stride;
    let windows = match strides {
        0 => of.count,
        _ => of.count.min(together(of)),
    };
    Workspace::<T>::new(tables).window_bytes(letters, windows, strides, segments_per_stride(of))
}

/// Returns the segments of a stride: a head and a tail, or one if windows end where others begin.
fn segments_per_stride(of: Windows) -> usize {
    match of.width.is_multiple_of(of.stride) {
        true => 1,
        false => 2,
    }
}

/// Products of matrices that are a distance apart.
type Products = (u32, Buffer<Run>);

impl<T: HasKernels> Engine<T> {
    /// Lays out windows without letters in common.
    fn separate(&self, of: Windows) -> Result<Vec<Layout>> {
        let window = |i: usize| Segment::whole((i * of.stride) as u64, of.width as u64);
        let capacity = self.capacity(Capacity::LARGEST);
        Layout::of_batches(&self.uploads, (0..of.count).map(window), capacity)
    }

    /// Computes the last rows of a batch of windows.
    fn windows(
        &self,
        letters: &PackedLetters,
        of: Windows,
        runs: &Runs,
        batch: Range<usize>,
    ) -> Result<Spectra> {
        let count = batch.len();
        let strides = count - 1 + of.width / of.stride;
        let per_stride = segments_per_stride(of);
        let layout = HostLayout::of_matrices(segments(of, batch.start, strides)?)?;
        let layout = layout.upload(&self.uploads)?;
        let units = self.words(letters, &layout)?;
        let mut spectra = self.spectra(count, 1)?;
        spectra.products = runs.depth(per_stride as u64) as usize;
        let plan = self.plan_middles(runs, per_stride as u32, count)?;
        for lanes in self.lane_ranges(layout.chunks.len(), count) {
            let chunks = self.chunks(&units, &layout, lanes)?;
            let matrices = self.compose(chunks, &layout.levels, lanes, None)?;
            let mut middles = None;
            for (distance, products) in &plan {
                let factors = middles.as_ref().unwrap_or(&matrices);
                middles = Some(self.products(factors, products, *distance, lanes)?);
            }
            let (from_singles, singles, doubles) = matrices.stored();
            let suffixes = self.workspace.suffixes(count, lanes.count as usize);
            let mut suffixes = self.device.alloc(suffixes)?;
            let parameters = windows::Parameters {
                lanes: lanes.count,
                first_lane: lanes.first,
                from_singles,
                pieces: per_stride as u32,
                run: runs.length as u32,
                whole_runs: runs.whole() as u32,
                rest: runs.rest as u32,
                windows: count as u32,
                out_lanes: self.lanes(),
                out_lane: lanes.first,
            };
            let threads = count.div_ceil(runs.length as usize) * lanes.count as usize;
            let config = LaunchConfig::for_len(threads, windows::BLOCK);
            let arrays = windows::Arrays {
                singles,
                doubles,
                // Borrowed, because the kernel reads the buffer.
                middles: middles
                    .as_ref()
                    .map_or(nothing(), |middles| middles.stored().2),
                suffixes: suffixes.slice_mut(),
                out: spectra.buffer.slice_mut(),
            };
            let kernel = WINDOWS[self.tables.tuple_length() - 1];
            // SAFETY: the matrices are those of the segments from the first window's start to the
            // last window's end, the middles those of the whole runs after each run that windows
            // begin in, which is no longer than a window, and suffixes and rows have a place for
            // each window.
            unsafe { self.launch(kernel, config, (parameters, arrays))? };
        }
        Ok(spectra)
    }

    /// Plans the product of the whole runs after each run in which windows begin: first the runs'
    /// own matrices from segments, then products of runs, then products of products.
    fn plan_middles(&self, runs: &Runs, per_stride: u32, windows: usize) -> Result<Vec<Products>> {
        let whole = runs.whole() as u32;
        if whole == 0 {
            return Ok(Vec::new());
        }
        let beginnings = windows.div_ceil(runs.length as usize) as u32;
        let in_run = runs.length as u32 * per_stride;
        // The runs from the second one on.
        let second_on = neighbours(beginnings + whole - 1, |run| (run + 1) * in_run, in_run)?;
        let mut plan = vec![(1, self.uploads.buffer_from(&second_on)?)];
        let mut multiplied = 1;
        for &factor in runs.factors.iter().filter(|&&factor| factor > 1) {
            let factor = factor as u32;
            let count = beginnings + whole - multiplied * factor;
            let products = neighbours(count, |run| run, factor)?;
            plan.push((multiplied, self.uploads.buffer_from(&products)?));
            multiplied *= factor;
        }
        Ok(plan)
    }
}

/// Returns the segments of `strides` strides from window `first` on, and of the head after them.
fn segments(of: Windows, first: usize, strides: usize) -> Result<Vec<Segment>> {
    let head = of.width % of.stride;
    let segment = |begin: usize, letters: usize| Segment::whole(begin as u64, letters as u64);
    let mut segments = Vec::new();
    reserve(&mut segments, segments_per_stride(of) * strides + 1)?;
    for begin in (first..first + strides).map(|stride| stride * of.stride) {
        if head > 0 {
            segments.push(segment(begin, head));
        }
        segments.push(segment(begin + head, of.stride - head));
    }
    if head > 0 {
        segments.push(segment((first + strides) * of.stride, head));
    }
    Ok(segments)
}

/// Returns `count` products of `factors` matrices each, the first of which `first` returns.
fn neighbours(count: u32, first: impl Fn(u32) -> u32, factors: u32) -> Result<Vec<Run>> {
    let product = |result| Run {
        first: first(result),
        count: factors,
        result,
        append: 0,
    };
    collected((0..count).map(product))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If the estimate counted more than a group of lanes at a time, no partition would ever fit.
    #[test]
    fn wide_windows_need_little_memory() {
        let windows = |width, count| Windows {
            width,
            stride: 1,
            count,
        };
        let narrow = Tables::from_seed(4, 4, 96, 0).unwrap();
        let all = bytes::<f32>(&narrow, windows(99_000, 901_001), 1_000_000);
        assert!((200 << 20..400 << 20).contains(&all), "{all}");
        let few = bytes::<f32>(&narrow, windows(99_000, 100), 99_099);
        assert!(few < 70 << 20, "{few}");
        let wide = Tables::from_seed(4, 4, 4096, 0).unwrap();
        let all = bytes::<f64>(&wide, windows(200_000, 800_001), 1_000_000);
        assert!((10 << 30..20 << 30).contains(&all), "{all}");
    }
}
