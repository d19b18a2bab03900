//! Sliding windows: the matrices of the pieces between their ends, the products of those of whole
//! runs, then the windows of all runs.

use std::ops::Range;

use tensor_sketch_kernels::fourier::compose::Run;
use tensor_sketch_kernels::fourier::windows;

use super::tuning::Runs;
use crate::device::{Buffer, LaunchConfig, collected, reserve};
use crate::tensor_sketch::gpu::HasKernels;
use crate::tensor_sketch::gpu::fourier::{Engine, Lanes, Matrices, Spectra};
use crate::tensor_sketch::gpu::kernels::{WINDOWS, nothing};
use crate::tensor_sketch::gpu::layout::{Layout, Part, Room, batches};
use crate::tensor_sketch::gpu::letters::{PackedLetters, SequenceBuffers};
use crate::tensor_sketch::gpu::workspace::Workspace;
use crate::tensor_sketch::input::{Job, Windows};
use crate::tensor_sketch::tables::Tables;
use crate::{Device, Error, Result, modules};

/// Windows, and letters that they begin in, that are worked on together at most, unless one window
/// has more strides.
const MAX_WINDOWS: usize = 1 << 16;
const MAX_LETTERS: usize = 1 << 27;

/// Strides in a window at most: those of a batch, up to twice as many, are counted in 32 bits, each with
/// up to two pieces.
const MAX_STRIDES: usize = 1 << 29;

/// Writes the sketches of all windows of `codes`, at least one, to a row each. The codes are below the alphabet's size
/// and as many as the windows need.
pub fn host<T: HasKernels>(
    device: &Device,
    job: &Job,
    codes: &[u8],
    of: Windows,
    sketches: &mut [T],
) -> Result<()> {
    let engine = Engine::<T>::new(device, job)?;
    let letters = PackedLetters::upload(device, codes, job.tables.alphabet_size())?;
    let allocate = |count| engine.workspace.allocate_sketches(device, count, 1);
    let Some(runs) = runs(job, of)? else {
        let layouts = engine.separate(of)?;
        let mut out = allocate(of.count)?;
        engine.sketch(&letters, &layouts, &lengths(of, of.count)?, &mut out)?;
        return out.copy_to(sketches);
    };
    for batch in runs_together(of, &runs) {
        let place = batch.start * job.tables.dim()..batch.end * job.tables.dim();
        let spectra = engine.windows(&letters, of, &runs, batch.clone())?;
        let mut out = allocate(batch.len())?;
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
    for batch in runs_together(of, &runs) {
        let spectra = engine.windows(&text.letters, of, &runs, batch.clone())?;
        engine.finish(&spectra, &lengths(of, batch.len())?, out, batch.start)?;
    }
    Ok(())
}

/// Returns how the strides of windows are gathered, or `None` if windows have no letter in common.
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

/// Returns the windows that are worked on together, up to the end of a run.
fn runs_together(of: Windows, runs: &Runs) -> impl Iterator<Item = Range<usize>> {
    let together = together(of).next_multiple_of(runs.length as usize);
    let firsts = (0..of.count).step_by(together);
    firsts.map(move |first| first..of.count.min(first + together))
}

/// Returns the letters of each window.
fn lengths(of: Windows, count: usize) -> Result<Vec<u64>> {
    collected((0..count).map(|_| of.width as u64))
}

/// How many neighbouring windows begin in a run. Windows cut at multiples of this are put together as in the whole.
pub fn run(of: Windows) -> usize {
    match of.width / of.stride {
        0 => 1,
        strides => Runs::new(strides as u64).length as usize,
    }
}

/// Windows that are worked on together, but for those up to the end of a run.
fn together(of: Windows) -> usize {
    let most = MAX_WINDOWS.min(MAX_LETTERS / of.stride);
    most.max(of.width / of.stride)
}

/// Estimates the bytes of a device's memory that windows of so many letters take.
pub fn bytes<T: HasKernels>(tables: &Tables, of: Windows, letters: usize) -> u64 {
    let workspace = Workspace::<T>::new(tables);
    let strides = of.width / of.stride;
    if strides == 0 {
        return workspace.separate_bytes(letters, of.count);
    }
    let windows = of.count.min(together(of));
    workspace.sliding_bytes(letters, windows, strides, pieces(of))
}

/// Returns the pieces of a stride.
fn pieces(of: Windows) -> usize {
    match of.width.is_multiple_of(of.stride) {
        true => 1,
        false => 2,
    }
}

/// Products of runs that stand so far from each other.
type Products = (u32, Buffer<Run>);

impl<T: HasKernels> Engine<T> {
    /// Lays out windows without letters in common.
    fn separate(&self, of: Windows) -> Result<Vec<Layout>> {
        let window = |i: usize| Part::whole((i * of.stride) as u64, of.width as u64);
        batches((0..of.count).map(window), self.room(Room::LARGEST))?
            .iter()
            .map(|batch| Layout::upload(&self.device, batch))
            .collect()
    }

    /// Computes the last rows of some neighbouring windows.
    fn windows(
        &self,
        letters: &PackedLetters,
        of: Windows,
        runs: &Runs,
        batch: Range<usize>,
    ) -> Result<Spectra> {
        let count = batch.len();
        let strides = count - 1 + of.width / of.stride;
        let pieces = pieces(of);
        let layout = Layout::of_matrices(&self.device, parts(of, batch.start, strides)?)?;
        let units = self.words(letters, &layout)?;
        let mut spectra = self.spectra(count, true)?;
        spectra.products = runs.depth(pieces as u64) as usize;
        let plan = self.plan_middles(runs, pieces as u32, count)?;
        for groups in self.slices(layout.chunks.len(), count) {
            let lanes = groups.lanes(&self.policy);
            let chunks = self.chunks(&units, &layout, groups)?;
            let matrices = self.compose(chunks, &layout.levels, lanes, None)?;
            let middles = self.middles(&matrices, &plan, lanes)?;
            let (singles, doubles) = matrices.slices();
            let mut suffixes =
                (self.device).alloc(self.workspace.suffixes(count, lanes.count as usize))?;
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
            let arrays = windows::Arrays {
                singles,
                doubles,
                middles: middles
                    .as_ref()
                    .map_or(nothing(), |middles| middles.slices().1),
                suffixes: suffixes.slice_mut(),
                out: spectra.buffer.slice_mut(),
            };
            let arguments = (parameters, arrays);
            // SAFETY: the matrices are those of the pieces from the first window's begin to the last
            // one's end, the products those of the whole runs behind each run that windows begin in,
            // which is no longer than a window, and there is room for what is made of them.
            unsafe {
                let kernel = WINDOWS[self.tables.tuple_length() - 1];
                (self.device).launch(&modules::TENSOR_SKETCH, kernel, config, arguments)?
            };
        }
        Ok(spectra)
    }

    /// How to make, for each run in which so many windows begin, the product of the whole runs behind
    /// it: first the runs from pieces, then products of those, and of those.
    fn plan_middles(&self, runs: &Runs, pieces: u32, windows: usize) -> Result<Vec<Products>> {
        let whole = runs.whole() as u32;
        if whole == 0 {
            return Ok(Vec::new());
        }
        let beginnings = windows.div_ceil(runs.length as usize) as u32;
        let in_run = runs.length as u32 * pieces;
        // Of the runs from the second one on.
        let second_on = neighbours(beginnings + whole - 1, |run| (run + 1) * in_run, in_run)?;
        let mut plan = vec![(1, self.device.buffer_from(&second_on)?)];
        let mut multiplied = 1;
        for &factor in runs.factors.iter().filter(|&&factor| factor > 1) {
            let factor = factor as u32;
            let count = beginnings + whole - multiplied * factor;
            let products = neighbours(count, |run| run, factor)?;
            plan.push((multiplied, self.device.buffer_from(&products)?));
            multiplied *= factor;
        }
        Ok(plan)
    }

    /// The products of whole runs, if there are any.
    fn middles(
        &self,
        pieces: &Matrices<T>,
        plan: &[Products],
        lanes: Lanes,
    ) -> Result<Option<Matrices<T>>> {
        let mut middles = None;
        for (distance, products) in plan {
            let of = middles.as_ref().unwrap_or(pieces);
            middles = Some(self.products(of, products, *distance, lanes)?);
        }
        Ok(middles)
    }
}

/// The pieces of so many strides from window `first` on, and of the head after them.
fn parts(of: Windows, first: usize, strides: usize) -> Result<Vec<Part>> {
    let head = of.width % of.stride;
    let part = |begin: usize, letters: usize| Part::whole(begin as u64, letters as u64);
    let begins = (first..first + strides).map(|stride| stride * of.stride);
    if head == 0 {
        return collected(begins.map(|begin| part(begin, of.stride)));
    }
    let whole = begins.flat_map(|begin| [part(begin, head), part(begin + head, of.stride - head)]);
    let last = part((first + strides) * of.stride, head);
    let mut parts = Vec::new();
    reserve(&mut parts, 2 * strides + 1)?;
    parts.extend(whole.chain([last]));
    Ok(parts)
}

/// Products of so many matrices from the `first` one on for each of `count` results.
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

    /// Were more than a group of lanes at a time counted, no part would ever be thought to fit.
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
