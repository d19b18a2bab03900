//! Sliding windows on GPUs and in the simulator: the matrices of the segments, the products of
//! whole runs, then the windows of all runs. [`windows`](crate::windows) defines these words.

use std::ops::Range;

use gridstride_runtime::Result;
use gridstride_runtime::device::{Buffer, LaunchConfig, collected, reserve};
use gridstride_sequences::PackedLetters;
use tensor_sketch_kernels::fourier::compose::Run;
use tensor_sketch_kernels::fourier::windows;

use super::fourier::{Engine, Spectra};
use super::kernels::{HasKernels, WINDOWS, nothing};
use super::layout::{Capacity, HostLayout, Layout, Segment};
use crate::input::{HostSketch, Windows};
use crate::tuning::Runs;

/// Writes the sketches of all windows, at least one, to a row each.
pub fn host<T: HasKernels>(
    engine: &Engine<T>,
    whole: &mut HostSketch<T>,
    of: Windows,
) -> Result<()> {
    let tables = whole.job.tables;
    let codes = whole.codes_of(of);
    let letters = PackedLetters::upload(&engine.device, codes, tables.alphabet_size())?;
    let Some(runs) = runs(of) else {
        let mut out = engine.allocate_sketches(of.count, 1)?;
        engine.separate(&letters, of, &mut out)?;
        return out.copy_to(whole.out);
    };
    for batch in batches_of_runs(of, &runs) {
        let place = batch.start * tables.dim()..batch.end * tables.dim();
        let spectra = engine.windows(&letters, of, &runs, batch.clone())?;
        let mut out = engine.allocate_sketches(batch.len(), 1)?;
        engine.finish(&spectra, &lengths(of, batch.len())?, &mut out, 0)?;
        out.copy_to(&mut whole.out[place])?;
    }
    Ok(())
}

/// Writes the sketches of all windows, at least one, of letters on the device to a row each.
pub fn device<T: HasKernels>(
    engine: &Engine<T>,
    letters: &PackedLetters,
    of: Windows,
    out: &mut Buffer<T>,
) -> Result<()> {
    let Some(runs) = runs(of) else {
        return engine.separate(letters, of, out);
    };
    for batch in batches_of_runs(of, &runs) {
        let spectra = engine.windows(letters, of, &runs, batch.clone())?;
        engine.finish(&spectra, &lengths(of, batch.len())?, out, batch.start)?;
    }
    Ok(())
}

/// Returns how the strides of windows form runs, or `None` if windows have no letter in common.
fn runs(of: Windows) -> Option<Runs> {
    (of.strides() > 0).then(|| Runs::new(of.strides() as u64))
}

/// Returns the windows of each batch, which ends with a run.
fn batches_of_runs(of: Windows, runs: &Runs) -> impl Iterator<Item = Range<usize>> {
    let together = of.together().next_multiple_of(runs.length as usize);
    let firsts = (0..of.count).step_by(together);
    firsts.map(move |first| first..of.count.min(first + together))
}

fn lengths(of: Windows, count: usize) -> Result<Vec<u64>> {
    collected((0..count).map(|_| of.width as u64))
}

/// Products of matrices that are a distance apart.
type Products = (u32, Buffer<Run>);

impl<T: HasKernels> Engine<T> {
    /// Sketches windows without letters in common.
    fn separate(&self, letters: &PackedLetters, of: Windows, out: &mut Buffer<T>) -> Result<()> {
        let window = |i: usize| Segment::whole((i * of.stride) as u64, of.width as u64);
        let capacity = self.capacity(Capacity::LARGEST);
        let layouts = (0..of.count).map(window);
        let layouts = Layout::of_batches(&self.uploads, layouts, capacity)?;
        self.sketch(letters, &layouts, &lengths(of, of.count)?, out)
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
        let strides = count - 1 + of.strides();
        let per_stride = of.segments_per_stride();
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
    reserve(&mut segments, of.segments_per_stride() * strides + 1)?;
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
