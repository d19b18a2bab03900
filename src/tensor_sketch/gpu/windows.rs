//! Sliding windows: the matrices of the pieces between their ends, the products of those of whole
//! runs, then the windows of all runs.

use std::ops::Range;

use cuda_std::host::{Kernel, LaunchConfig};
use cuda_std::{DeviceSlice, DeviceSliceMut};
use tensor_sketch_kernels::fourier::compose::Run;
use tensor_sketch_kernels::fourier::number::{Pair32, Pair64};
use tensor_sketch_kernels::fourier::windows;

use super::fourier::{Engine, Lanes, Matrices, nothing};
use super::layout::{self, Layout, Part, batches};
use super::letters::PackedLetters;
use super::tuning::windows::Runs;
use crate::device::{Buffer, zeroed};
use crate::tensor_sketch::windows::Windows;
use crate::tensor_sketch::{Real, Rows, Tables};
use crate::{Device, Result, modules};

type WindowsKernel = Kernel<(
    windows::Parameters,
    DeviceSlice<Pair32>,
    DeviceSlice<Pair64>,
    DeviceSlice<Pair64>,
    DeviceSliceMut<Pair64>,
    DeviceSliceMut<Pair64>,
)>;

fn kernel(tuple: usize) -> &'static WindowsKernel {
    match tuple {
        1 => &windows::windows_1,
        2 => &windows::windows_2,
        3 => &windows::windows_3,
        4 => &windows::windows_4,
        5 => &windows::windows_5,
        6 => &windows::windows_6,
        7 => &windows::windows_7,
        8 => &windows::windows_8,
        _ => unreachable!("tables have tuples of 1 to 8"),
    }
}

/// Windows, and letters that they begin in, that are worked on together at most, unless one window
/// has more strides.
const MAX_WINDOWS: usize = 1 << 16;
const MAX_LETTERS: usize = 1 << 27;

/// The sketches of all windows of `codes`, which are below the alphabet's size and as many as the
/// windows need.
pub(in crate::tensor_sketch) fn sketch<T: Real>(
    device: &Device,
    tables: &Tables,
    normalize: bool,
    codes: &[u8],
    of: Windows,
) -> Result<Vec<T>> {
    if of.count == 0 {
        return Ok(Vec::new());
    }
    let engine = Engine::<T>::new(device, tables)?;
    let letters = PackedLetters::upload(device, codes, tables.alphabet_size())?;
    let strides = of.width / of.stride;
    if strides == 0 {
        // They have no letter in common.
        return engine.separate(normalize, &letters, of);
    }
    let runs = Runs::new(strides as u64);
    let length = runs.length as usize;
    let together = MAX_WINDOWS.min(MAX_LETTERS / of.stride).max(strides);
    let together = together.next_multiple_of(length);
    let mut sketches = zeroed(of.count * tables.dim());
    let mut places = sketches.chunks_mut(together * tables.dim());
    let mut begun: Option<Buffer<T>> = None;
    for first in (0..of.count).step_by(together) {
        let count = together.min(of.count - first);
        // The host prepares a batch while the device computes the one before.
        let next = engine.windows(normalize, &letters, of, &runs, first..first + count)?;
        if let Some(done) = begun.replace(next) {
            done.copy_to(places.next().expect("one for each batch"))?;
        }
    }
    if let Some(last) = begun {
        last.copy_to(places.next().expect("one for each batch"))?;
    }
    Ok(sketches)
}

impl<T: Real> Engine<T> {
    fn separate(&self, normalize: bool, letters: &PackedLetters, of: Windows) -> Result<Vec<T>> {
        let window = |i: usize| ((i * of.stride) as u64, of.width as u64);
        let batches = batches((0..of.count).map(window), layout::MAX_LETTERS)
            .iter()
            .map(|batch| Layout::upload(&self.device, batch))
            .collect::<Result<Vec<_>>>()?;
        let lengths = vec![of.width as u64; of.count];
        self.sketch(Rows::Last, normalize, letters, &batches, &lengths)?
            .to_vec()
    }

    /// Some neighbouring windows.
    fn windows(
        &self,
        normalize: bool,
        letters: &PackedLetters,
        of: Windows,
        runs: &Runs,
        batch: Range<usize>,
    ) -> Result<Buffer<T>> {
        let count = batch.len();
        let strides = count - 1 + of.width / of.stride;
        let head = of.width % of.stride;
        let pieces = if head > 0 { 2 } else { 1 };
        let layout = Layout::of_matrices(&self.device, parts(of, batch.start, strides))?;
        let units = self.words(letters, &layout)?;
        let tuple = self.tables.tuple_length();
        let mut spectra = self.spectra(count, true)?;
        spectra.products = runs.depth(pieces as u64) as usize;
        for groups in self.slices(layout.chunks.len()) {
            let lanes = groups.lanes(&self.policy);
            let chunks = self.chunks(&units, &layout, groups)?;
            let matrices = self.compose(chunks, &layout.levels, lanes, None)?;
            let middles = self.middles(&matrices, runs, pieces as u32, count, lanes)?;
            let (singles, doubles) = matrices.slices();
            let mut suffixes = self.device.alloc(count * lanes.count as usize * tuple)?;
            let parameters = windows::Parameters {
                lanes: lanes.count,
                first_lane: lanes.first,
                from_singles: matrices.are_singles(),
                pieces: pieces as u32,
                run: runs.length as u32,
                whole_runs: runs.whole() as u32,
                rest: runs.rest as u32,
                windows: count as u32,
                out_lanes: self.lanes(),
                out_lane: lanes.first,
            };
            let threads = count.div_ceil(runs.length as usize) * lanes.count as usize;
            let config = LaunchConfig::for_len(threads, windows::BLOCK);
            let arguments = (
                parameters,
                singles,
                doubles,
                middles
                    .as_ref()
                    .map_or(nothing(), |middles| middles.slices().1),
                suffixes.slice_mut(),
                spectra.buffer.slice_mut(),
            );
            // SAFETY: the matrices are those of the pieces from the first window's begin to the last
            // one's end, the products those of the runs that windows begin in, with room for what is
            // made of them.
            unsafe {
                self.device
                    .launch(&modules::TENSOR_SKETCH, kernel(tuple), config, arguments)?
            };
        }
        let mut out = self.device.alloc(count * self.tables.dim())?;
        let lengths = vec![of.width as u64; count];
        self.finish(Rows::Last, normalize, &spectra, &lengths, &mut out, 0)?;
        Ok(out)
    }

    /// For each run in which windows begin, of so many, the product of the whole runs behind it, if
    /// there are any.
    fn middles(
        &self,
        pieces: &Matrices<T>,
        runs: &Runs,
        pieces_of_stride: u32,
        windows: usize,
        lanes: Lanes,
    ) -> Result<Option<Matrices<T>>> {
        if runs.whole() == 0 {
            return Ok(None);
        }
        let beginnings = windows.div_ceil(runs.length as usize) as u32;
        let whole = runs.whole() as u32;
        let in_run = runs.length as u32 * pieces_of_stride;
        // Of the runs from the second one on.
        let second_on = neighbours(beginnings + whole - 1, |run| (run + 1) * in_run, in_run);
        let second_on = self.device.buffer_from(&second_on)?;
        let mut products = self.products(pieces, &second_on, 1, lanes)?;
        let mut multiplied = 1;
        for &factor in runs.factors.iter().filter(|&&factor| factor > 1) {
            let factor = factor as u32;
            let count = beginnings + whole - multiplied * factor;
            let factors = self
                .device
                .buffer_from(&neighbours(count, |run| run, factor))?;
            products = self.products(&products, &factors, multiplied, lanes)?;
            multiplied *= factor;
        }
        Ok(Some(products))
    }
}

/// The pieces of so many strides from window `first` on, and of the head after them.
fn parts(of: Windows, first: usize, strides: usize) -> Vec<Part> {
    let head = of.width % of.stride;
    let part = |first_letter: usize, letters: usize| Part {
        first_letter: first_letter as u64,
        letters: letters as u64,
        continued: false,
        long: false,
    };
    let begins = (first..first + strides).map(|stride| stride * of.stride);
    if head == 0 {
        return begins.map(|begin| part(begin, of.stride)).collect();
    }
    let whole = begins.flat_map(|begin| [part(begin, head), part(begin + head, of.stride - head)]);
    let last = part((first + strides) * of.stride, head);
    whole.chain([last]).collect()
}

/// Products of so many matrices from the `first` one on for each of `count` results.
fn neighbours(count: u32, first: impl Fn(u32) -> u32, factors: u32) -> Vec<Run> {
    let product = |result| Run {
        first: first(result),
        count: factors,
        result,
        append: 0,
    };
    (0..count).map(product).collect()
}
