//! Sliding windows: the matrices of the pieces between their ends, then the windows of some anchors
//! at a time.

use cuda_std::host::{Kernel, LaunchConfig};
use cuda_std::{DeviceSlice, DeviceSliceMut};
use tensor_sketch_kernels::fourier::number::{Pair32, Pair64};
use tensor_sketch_kernels::fourier::windows;

use super::fourier::Engine;
use super::layout::{self, Layout, Part, batches};
use super::letters::PackedLetters;
use crate::device::Buffer;
use crate::tensor_sketch::windows::Windows;
use crate::tensor_sketch::{Real, Rows, Tables};
use crate::{Device, Result, modules};

type WindowsKernel = Kernel<(
    windows::Parameters,
    DeviceSlice<Pair32>,
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

/// Windows, and letters, that are worked on together at most, unless one anchor has more.
const MAX_WINDOWS: u64 = 1 << 16;
const MAX_LETTERS: u64 = 1 << 27;

/// The same as [`Windows`], in the type of offsets.
#[derive(Clone, Copy)]
struct Range {
    width: u64,
    stride: u64,
    count: u64,
}

/// The sketches of all windows of `codes`, which are below the alphabet's size and as many as the
/// windows need.
pub(in crate::tensor_sketch) fn sketch<T: Real>(
    device: &Device,
    tables: &Tables,
    normalize: bool,
    codes: &[u8],
    of: Windows,
) -> Result<Vec<T>> {
    let of = Range {
        width: of.width as u64,
        stride: of.stride as u64,
        count: of.count as u64,
    };
    if of.count == 0 {
        return Ok(Vec::new());
    }
    let engine = Engine::<T>::new(device, tables)?;
    let letters = PackedLetters::upload(device, codes, tables.alphabet_size())?;
    let spacing = of.width / of.stride;
    if spacing == 0 {
        // They have no letter in common.
        return engine.separate(normalize, &letters, of);
    }
    let per_launch = MAX_WINDOWS.min(MAX_LETTERS / of.stride) / spacing;
    let mut sketches = Vec::new();
    let anchors = (of.count - 1).div_ceil(spacing) + 1;
    for first in (0..anchors).step_by(per_launch.max(1) as usize) {
        let here = per_launch.max(1).min(anchors - first);
        sketches.extend(
            engine
                .windows(normalize, &letters, of, first, here)?
                .to_vec()?,
        );
    }
    Ok(sketches)
}

impl<T: Real> Engine<T> {
    fn separate(&self, normalize: bool, letters: &PackedLetters, of: Range) -> Result<Vec<T>> {
        let sequences = (0..of.count).map(|window| (window * of.stride, of.width));
        let batches = batches(sequences, layout::MAX_LETTERS)
            .iter()
            .map(|batch| Layout::upload(&self.device, batch))
            .collect::<Result<Vec<_>>>()?;
        let lengths = vec![of.width; of.count as usize];
        self.sketch(Rows::Last, normalize, letters, &batches, &lengths)?
            .to_vec()
    }

    /// The windows of some anchors.
    fn windows(
        &self,
        normalize: bool,
        letters: &PackedLetters,
        of: Range,
        first_anchor: u64,
        anchors: u64,
    ) -> Result<Buffer<T>> {
        let spacing = of.width / of.stride;
        let head = of.width % of.stride;
        let pieces = if head > 0 { 2 } else { 1 };
        // Strides, counted from the first letter: those that the windows of these anchors begin in
        // and reach into.
        let (first, last) = (
            first_anchor * spacing,
            (first_anchor + anchors - 1) * spacing,
        );
        let first_window = (first + 1).saturating_sub(spacing);
        let windows = of.count.min(last + 1) - first_window;
        let end = (first_window + windows - 1) + spacing;
        let stride = |k: u64| {
            let begin = k * of.stride;
            // The last one is there with its head alone.
            let cuts = [begin, begin + head, begin + of.stride];
            let cuts = if head > 0 {
                &cuts[..]
            } else {
                &[begin, begin + of.stride][..]
            };
            let count = if k == end { pieces - 1 } else { pieces };
            (0..count)
                .map(|i| Part {
                    first_letter: cuts[i],
                    letters: cuts[i + 1] - cuts[i],
                    continued: false,
                    long: false,
                })
                .collect::<Vec<_>>()
        };
        let layout = Layout::of_matrices(
            &self.device,
            (first_window..=end).flat_map(stride).collect(),
        )?;
        let units = self.words(letters, &layout)?;
        let tuple = self.tables.tuple_length();
        let mut spectra = self.spectra(windows as usize, true)?;
        spectra.products = (spacing as usize).saturating_mul(2 * pieces) + 2;
        for groups in self.slices(layout.chunks.len()) {
            let lanes = groups.lanes(&self.policy);
            let chunks = self.chunks(&units, &layout, groups)?;
            let matrices = self.compose(chunks, &layout.levels, lanes, None)?;
            let (singles, doubles) = matrices.slices();
            let rows = (anchors * spacing) as usize * lanes.count as usize * tuple;
            let mut suffixes = self.device.alloc(rows)?;
            let parameters = windows::Parameters {
                lanes: lanes.count,
                first_lane: lanes.first,
                from_singles: matrices.are_singles(),
                pieces: pieces as u32,
                spacing: spacing as u32,
                anchors: anchors as u32,
                first_anchor: first,
                first_stride: first_window,
                matrices: u64::from(layout.sequences),
                windows: of.count,
                first_window,
                out_lanes: self.lanes(),
                out_lane: lanes.first,
            };
            let threads = anchors as usize * lanes.count as usize;
            let config = LaunchConfig::for_len(threads, windows::BLOCK);
            let arguments = (
                parameters,
                singles,
                doubles,
                suffixes.slice_mut(),
                spectra.buffer.slice_mut(),
            );
            // SAFETY: the matrices are those of the pieces from the first window's begin to the last
            // one's end, with room for what is made of them.
            unsafe {
                self.device
                    .launch(&modules::TENSOR_SKETCH, kernel(tuple), config, arguments)?
            };
        }
        let mut out = self.device.alloc(windows as usize * self.tables.dim())?;
        self.finish(
            Rows::Last,
            normalize,
            &spectra,
            &vec![of.width; windows as usize],
            &mut out,
            0,
        )?;
        Ok(out)
    }
}
