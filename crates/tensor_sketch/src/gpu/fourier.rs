//! The Fourier form: a table of operators, then for each batch words, chunks, composition and the
//! inverse transform.

use std::collections::HashMap;

use cuda_std::DeviceSliceMut;
use cuda_std::host::{Kernel, KernelArgs};
use gridstride_runtime::device::{Buffer, LaunchConfig, Uploads, collected, zeroed};
use gridstride_runtime::parallel;
use gridstride_runtime::{Device, Result};
use gridstride_sequences::{PackedLetters, SequencesView};
use tensor_sketch_kernels::fourier::number::Pair64;
use tensor_sketch_kernels::fourier::{chunks, compose, inverse, operators, quads, words};

use super::kernels::{COMPOSE, HasKernels, Pair, Stored, nothing};
use super::layout::{Batch, Batches, Capacity, HostLayout, Layout, Level, Segment};
use super::pack_tables;
use crate::MODULE;
use crate::fourier::{CHUNK, Finish, SEGMENT, roots};
use crate::input::{Job, Rows};
use crate::tables::Tables;
use crate::tuning::FourierPolicy;
use crate::workspace::Workspace;

/// The most bytes of the matrices of a batch's chunks. If all lanes take more, ranges of lanes are
/// computed one after the other. In `f32`, one group of lanes of the largest batch takes less,
/// except for windows of very many strides.
const MATRIX_BYTES: usize = 512 << 20;

/// The capacity of batches that are packed while the device computes the batch before.
const FROM_HOST: Capacity = Capacity {
    letters: 3 * SEGMENT as u64,
    ..Capacity::LARGEST
};

/// The capacity of the first of these batches. Nothing is computed before the batch is packed.
const FIRST_FROM_HOST: Capacity = Capacity {
    letters: SEGMENT as u64,
    chunks: Capacity::LARGEST.chunks / 4,
};

/// Sketches with given tables on a device.
pub struct Engine<T: HasKernels> {
    pub device: Device,
    pub uploads: Uploads,
    pub tables: Tables,
    rows: Rows,
    normalize: bool,
    pub workspace: Workspace<T::Number>,
    pub policy: FourierPolicy,
    table: Buffer<u128>,
    roots: Buffer<[f64; 2]>,
}

/// Lanes of neighbouring groups, which are computed together.
#[derive(Clone, Copy)]
pub struct Lanes {
    pub first: u32,
    pub count: u32,
}

/// Matrices in some lanes.
pub enum Matrices<T: HasKernels> {
    OfChunks(Buffer<Pair<T>>),
    Composed(Buffer<Pair64>),
}

impl<T: HasKernels> Matrices<T> {
    /// Returns the matrices as kernels take them.
    pub fn stored(&self) -> Stored {
        match self {
            Matrices::OfChunks(buffer) => (T::KERNELS.stored)(buffer),
            Matrices::Composed(buffer) => (0, nothing(), buffer.slice()),
        }
    }
}

/// First rows of the matrices of sequences, in all lanes.
pub struct Spectra {
    pub buffer: Buffer<Pair64>,
    /// Rows of each sequence: t for rows 1 to t, or 1 for row t alone.
    rows: u32,
    sequences: usize,
    /// The most products of matrices that a letter goes through after those of its chunk.
    pub products: usize,
}

/// A batch on the device, before it is computed.
pub struct Prepared {
    pub letters: PackedLetters,
    /// The largest code of the letters.
    pub largest: Option<u8>,
    pub layout: Layout,
    /// The scales of the batch's sequences.
    pub scales: Buffer<inverse::Scale>,
}

impl<T: HasKernels> Engine<T> {
    /// Makes the table of operators.
    pub fn new(device: &Device, policy: &FourierPolicy, job: &Job) -> Result<Self> {
        let tables = job.tables;
        let sizes = job.parameters();
        let (alphabet, tuple, dim) = (sizes.alphabet, sizes.tuple, sizes.dim);
        let lanes = policy.groups as usize * policy.width as usize;
        let quads = quads::<T::Number>(tuple as usize, policy.depth as usize);
        let mut engine = Engine {
            device: device.clone(),
            uploads: device.uploads(),
            tables: tables.clone(),
            rows: job.rows,
            normalize: job.normalize,
            workspace: Workspace::new(tables),
            policy: *policy,
            table: device.alloc(policy.rows as usize * lanes * quads)?,
            roots: device.buffer_from(&roots(tables.dim()))?,
        };
        let packed = engine.uploads.buffer_from(&pack_tables(tables))?;
        let parameters = operators::Parameters {
            alphabet,
            tuple,
            dim,
            word_letters: policy.word_letters,
            words: policy.words,
            rows: policy.rows,
            depth: policy.depth,
            width: policy.width,
            groups: policy.groups,
        };
        let table = engine.table.slice_mut();
        let arguments = (parameters, packed.slice(), engine.roots.slice(), table);
        let config = LaunchConfig::for_len(table.len(), 256);
        // SAFETY: tables, roots and table have the sizes of the parameters.
        unsafe { engine.launch(T::KERNELS.operators, config, arguments)? };
        Ok(engine)
    }

    /// Launches a kernel of the tensor sketch.
    ///
    /// # Safety
    /// As for [`Device::launch`].
    pub unsafe fn launch<A: KernelArgs>(
        &self,
        kernel: &Kernel<A>,
        config: LaunchConfig,
        arguments: A,
    ) -> Result<()> {
        // SAFETY: the caller keeps the contract of `Device::launch`, and the module is the one of
        // the kernels of this crate.
        unsafe { (self.device).launch(&MODULE, kernel, config, arguments) }
    }

    pub fn lanes(&self) -> u32 {
        self.policy.groups * self.policy.width
    }

    fn processors(&self) -> u32 {
        self.device.processors().max(1) as u32
    }

    /// Allocates `rows` rows of the sketches of `count` sequences or windows.
    pub fn allocate_sketches(&self, count: usize, rows: usize) -> Result<Buffer<T>> {
        self.device.alloc(self.workspace.sketches(count, rows))
    }

    /// Writes the sketches of the batches' sequences, which have the given lengths.
    pub fn sketch(
        &self,
        letters: &PackedLetters,
        batches: &[Layout],
        lengths: &[u64],
        out: &mut Buffer<T>,
    ) -> Result<()> {
        let mut unfinished = None;
        for batch in batches {
            if let Some(spectra) = self.begin(letters, batch, &mut unfinished)? {
                let lengths = &lengths[batch.extent.first..][..spectra.sequences];
                self.finish(&spectra, lengths, out, batch.extent.first)?;
            }
        }
        Ok(())
    }

    /// Writes the sketches of sequences in the host's memory, and returns whether all codes are below
    /// the alphabet's size.
    ///
    /// All cores pack a batch, and one of them gathers the next batch, while the device computes the
    /// batch before.
    pub fn sketch_from_host(&self, sequences: SequencesView, out: &mut [T]) -> Result<bool> {
        let mut rows =
            self.allocate_sketches(sequences.len(), self.rows.kept(&self.tables).count())?;
        let mut unfinished = None;
        let mut spare = Vec::new();
        let segments = (sequences.offsets.windows(2))
            .map(|ends| Segment::whole(ends[0] as u64, (ends[1] - ends[0]) as u64));
        let most = self.capacity(FROM_HOST);
        let mut batches = Batches::growing(segments, FIRST_FROM_HOST, most);
        let mut next = batches.next();
        while let Some(batch) = next {
            let mut batch = batch?;
            let codes = batch.take_letters(sequences.codes);
            let prepare = || self.prepare(codes, &batch, &mut spare);
            let (gathered, prepared) = parallel::beside(|| batches.next(), prepare);
            next = gathered;
            let prepared = prepared?;
            let is_large = |code| usize::from(code) >= self.tables.alphabet_size();
            if prepared.largest.is_some_and(is_large) {
                return Ok(false);
            }
            if let Some(spectra) =
                self.begin(&prepared.letters, &prepared.layout, &mut unfinished)?
            {
                self.finish_scaled(&spectra, &prepared.scales, &mut rows, batch.first)?;
            }
        }
        rows.copy_to(out)?;
        Ok(true)
    }

    /// Packs the letters of a batch, lays the batch out meanwhile, and uploads both.
    /// [`Uploads::buffer_filled`] describes `spare`.
    pub fn prepare(&self, codes: &[u8], batch: &Batch, spare: &mut Vec<u32>) -> Result<Prepared> {
        let (uploads, bound) = (&self.uploads, self.tables.alphabet_size());
        let scale = || {
            let lengths = collected(batch.segments.iter().map(|segment| segment.length))?;
            self.scales(&lengths, 0)
        };
        let pack = || PackedLetters::upload_later(uploads, codes, bound, spare);
        let lay_out = || HostLayout::of_rows(batch);
        let (scales, (layout, packed)) =
            parallel::beside(scale, || parallel::beside(lay_out, pack));
        let (letters, largest) = packed?;
        Ok(Prepared {
            letters,
            largest,
            layout: layout?.upload(uploads)?,
            // Uploaded before the kernels of this batch start: a copy after them would keep its
            // block in use until they end, and the next batch would wait for the block.
            scales: uploads.buffer_from(&scales?)?,
        })
    }

    /// Transforms a batch, and returns the spectra of its sequences if they end in it. Else the
    /// spectra become `unfinished`, and the next batch continues them.
    pub fn begin(
        &self,
        letters: &PackedLetters,
        batch: &Layout,
        unfinished: &mut Option<Spectra>,
    ) -> Result<Option<Spectra>> {
        let mut spectra = match unfinished.take() {
            Some(spectra) if batch.extent.continues => spectra,
            _ => {
                let rows = match self.rows {
                    Rows::Last | Rows::Windows(_) if batch.extent.complete => 1,
                    _ => self.tables.tuple_length(),
                };
                self.spectra(batch.extent.sequences as usize, rows)?
            }
        };
        let units = self.words(letters, batch)?;
        for lanes in self.lane_ranges(batch.chunks.len(), 0) {
            let chunks = self.chunks(&units, batch, lanes)?;
            self.compose(chunks, &batch.levels, lanes, Some(&mut spectra))?;
        }
        if batch.extent.complete {
            return Ok(Some(spectra));
        }
        *unfinished = Some(spectra);
        Ok(None)
    }

    /// Allocates the first rows of sequences: `rows` rows each, 1 for row t alone.
    pub fn spectra(&self, sequences: usize, rows: usize) -> Result<Spectra> {
        let row = self.lanes() as usize;
        Ok(Spectra {
            buffer: self.device.alloc(sequences * rows * row)?,
            rows: rows as u32,
            sequences,
            products: 0,
        })
    }

    /// Returns the capacity of a batch: at most `most`, and no more than the device's memory holds.
    pub fn capacity(&self, most: Capacity) -> Capacity {
        let Some(left) = self.device.memory_budget() else {
            return most;
        };
        let units = (CHUNK as u64).div_ceil(u64::from(words::UNIT * self.policy.word_letters)) + 3;
        let (width, all) = (self.policy.width as usize, self.lanes() as usize);
        let chunks = (left - left / 8) / self.workspace.chunk_bytes(units, width, all);
        Capacity {
            letters: most.letters.min(chunks.saturating_mul(CHUNK as u64)),
            chunks: most.chunks.min(chunks),
        }
    }

    /// Returns the ranges of lanes to compute one after the other, so that the matrices of
    /// `matrices` chunks and the suffixes of `windows` windows fit in the device's memory.
    pub fn lane_ranges(&self, matrices: usize, windows: usize) -> impl Iterator<Item = Lanes> {
        let width = self.policy.width;
        let matrices = self.workspace.matrix_bytes(matrices, width as usize);
        let group = matrices + self.workspace.suffix_bytes(windows, width as usize);
        // Products take another eighth.
        let left = self.device.memory_budget().unwrap_or(u64::MAX);
        let left = usize::try_from(left - left / 8).unwrap_or(usize::MAX);
        let groups = (MATRIX_BYTES / matrices.max(1)).min(left / group.max(1));
        let step = groups.clamp(1, self.policy.groups as usize) as u32 * width;
        let all = self.lanes();
        (0..all).step_by(step as usize).map(move |first| Lanes {
            first,
            count: step.min(all - first),
        })
    }

    /// Computes the words of all chunks.
    pub fn words(&self, letters: &PackedLetters, batch: &Layout) -> Result<Buffer<u128>> {
        let policy = &self.policy;
        let mut units = self.device.alloc(batch.units(policy.word_letters))?;
        let chunks = batch.chunks.len() as u32;
        if chunks == 0 {
            return Ok(units);
        }
        let parameters = words::Parameters {
            bits: letters.bits,
            alphabet: self.tables.alphabet_size() as u32,
            word_letters: policy.word_letters,
            words: policy.words,
            nothing: policy.rows - 1,
            chunks,
            origin: batch.extent.origin,
        };
        let blocks = chunks.div_ceil(words::BLOCK / 32);
        let blocks = blocks.min(64 * self.processors());
        let config = LaunchConfig::new(blocks, words::BLOCK);
        let (letters, places) = (letters.buffer.slice(), batch.chunks.slice());
        let arguments = (parameters, letters, places, units.slice_mut());
        // SAFETY: the letters are those of the chunks, below the alphabet's size as checked by the
        // caller; the units reach to the end of the last chunk's.
        unsafe { self.launch(&words::words, config, arguments)? };
        Ok(units)
    }

    /// Computes the matrices of all chunks in some lanes.
    pub fn chunks(
        &self,
        units: &Buffer<u128>,
        batch: &Layout,
        lanes: Lanes,
    ) -> Result<Matrices<T>> {
        let policy = &self.policy;
        let chunks = batch.chunks.len() as u32;
        let entries = (self.workspace).matrices(chunks as usize, lanes.count as usize);
        let mut matrices = self.device.alloc(entries)?;
        if chunks == 0 {
            return Ok(Matrices::OfChunks(matrices));
        }
        let parameters = chunks::Parameters {
            width: policy.width,
            first_group: lanes.first / policy.width,
            launched: lanes.count / policy.width,
            rows: policy.rows,
            chunks,
            word_letters: policy.word_letters,
            origin: batch.extent.origin,
        };
        let (blocks, threads) = policy.grid(parameters.launched, chunks, self.processors());
        let config = LaunchConfig::new(blocks * parameters.launched, threads)
            .with_shared_bytes(policy.shared_bytes);
        let arrays = chunks::Arrays {
            table: self.table.slice(),
            units: units.slice(),
            chunks: batch.chunks.slice(),
            order: batch.order.slice(),
            out: matrices.slice_mut(),
        };
        let kernels = T::KERNELS.chunks[self.tables.tuple_length() - 1];
        let kernel = kernels[policy.depth as usize - 1];
        // SAFETY: table, units and order were made for these chunks and this policy, and the
        // matrices have their size.
        unsafe { self.launch(kernel, config, (parameters, arrays))? };
        Ok(Matrices::OfChunks(matrices))
    }

    /// Composes matrices in some lanes, level by level: writes first rows to `spectra`, and returns
    /// the products of the last level.
    pub fn compose(
        &self,
        mut matrices: Matrices<T>,
        levels: &[Level],
        lanes: Lanes,
        mut spectra: Option<&mut Spectra>,
    ) -> Result<Matrices<T>> {
        for level in levels {
            if let Some(spectra) = spectra.as_deref_mut() {
                let first_rows = compose::Parameters {
                    matrices: 0,
                    out_lanes: self.lanes(),
                    out_lane: lanes.first,
                    first_row: self.tables.tuple_length() as u32 + 1 - spectra.rows,
                    ..whole_matrices(&matrices, &level.rows, lanes)
                };
                self.launch_composition(first_rows, &level.rows, &matrices, &mut spectra.buffer)?;
            }
            matrices = self.products(&matrices, &level.matrices, 1, lanes)?;
        }
        Ok(matrices)
    }

    /// Multiplies matrices that are `distance` apart.
    pub fn products(
        &self,
        matrices: &Matrices<T>,
        runs: &Buffer<compose::Run>,
        distance: u32,
        lanes: Lanes,
    ) -> Result<Matrices<T>> {
        let entries = (self.workspace).matrices(runs.len(), lanes.count as usize);
        let mut products = self.device.alloc(entries)?;
        let parameters = compose::Parameters {
            distance,
            ..whole_matrices(matrices, runs, lanes)
        };
        self.launch_composition(parameters, runs, matrices, &mut products)?;
        Ok(Matrices::Composed(products))
    }

    fn launch_composition(
        &self,
        parameters: compose::Parameters,
        runs: &Buffer<compose::Run>,
        matrices: &Matrices<T>,
        out: &mut Buffer<Pair64>,
    ) -> Result<()> {
        if runs.is_empty() {
            return Ok(());
        }
        let (_, singles, doubles) = matrices.stored();
        let threads = parameters.products as usize * parameters.lanes as usize;
        let config = LaunchConfig::for_len(threads, compose::BLOCK);
        let arguments = (parameters, runs.slice(), singles, doubles, out.slice_mut());
        let kernel = COMPOSE[self.tables.tuple_length() - 1];
        // SAFETY: the runs are of these matrices, and each has its place in `out`.
        unsafe { self.launch(kernel, config, arguments) }
    }

    /// Writes the sketches of sequences of the given lengths to `out`, from sequence `first` on.
    pub fn finish(
        &self,
        spectra: &Spectra,
        lengths: &[u64],
        out: &mut Buffer<T>,
        first: usize,
    ) -> Result<()> {
        let scales = self.scales(lengths, spectra.products)?;
        let scales = self.uploads.buffer_from(&scales)?;
        self.finish_scaled(spectra, &scales, out, first)
    }

    /// Returns the scales of the transformed rows of sequences of the given lengths, after
    /// `products` products besides those that compose chunks.
    fn scales(&self, lengths: &[u64], products: usize) -> Result<Vec<inverse::Scale>> {
        let transformed = self.rows.kept(&self.tables).filter(|&k| k > 0);
        scales_of(lengths, transformed.clone().count(), |length| {
            let normalize = self.normalize;
            let finish = |k| Finish::after::<T>(products, &self.tables, length, k, normalize);
            let scales = transformed
                .clone()
                .map(finish)
                .map(|finish| inverse::Scale {
                    divisor: finish.divisor,
                    whole: finish.whole.into(),
                });
            scales.collect()
        })
    }

    /// As [`finish`](Self::finish), with the scales of the sequences.
    pub fn finish_scaled(
        &self,
        spectra: &Spectra,
        scales: &Buffer<inverse::Scale>,
        out: &mut Buffer<T>,
        first: usize,
    ) -> Result<()> {
        let kept = self.rows.kept(&self.tables);
        let dim = self.tables.dim();
        let with_first = u32::from(*kept.start() == 0);
        let rows = kept.clone().count() as u32 - with_first;
        let spectra_count = spectra.sequences as u32 * rows;
        assert_eq!(scales.len(), spectra_count as usize);
        if spectra_count == 0 {
            return Ok(());
        }
        // At most 32 KiB, which every device has.
        let spectrum_bytes = (dim as u32).div_ceil(2) * 16;
        let shared = self.device.shared_memory_per_block().unwrap_or(0);
        let together = (shared / spectrum_bytes).clamp(1, inverse::TOGETHER);
        let parameters = inverse::Parameters {
            dim: dim as u32,
            lanes: self.lanes(),
            spectra: spectra_count,
            rows,
            stored_rows: spectra.rows,
            with_first,
            scales: spectra_count,
            together,
        };
        let row = kept.count() * dim;
        let config = LaunchConfig::new(spectra_count.div_ceil(together), inverse::BLOCK)
            .with_shared_bytes(together * spectrum_bytes);
        let start = out.slice_mut().as_mut_ptr();
        let entries = spectra.sequences * row;
        // SAFETY: the rows of these sequences in the result.
        let out = unsafe { DeviceSliceMut::from_raw_parts(start.add(first * row), entries) };
        let (stored, roots) = (spectra.buffer.slice(), self.roots.slice());
        let arguments = (parameters, stored, roots, scales.slice(), out);
        // SAFETY: spectra, scales and result have the sizes of the parameters.
        unsafe { self.launch(T::KERNELS.inverse, config, arguments) }
    }
}

/// Returns the parameters of whole products of neighbouring matrices.
fn whole_matrices<T: HasKernels>(
    matrices: &Matrices<T>,
    runs: &Buffer<compose::Run>,
    lanes: Lanes,
) -> compose::Parameters {
    compose::Parameters {
        lanes: lanes.count,
        first_lane: lanes.first,
        from_singles: matrices.stored().0,
        matrices: 1,
        products: runs.len() as u32,
        out_lanes: lanes.count,
        out_lane: 0,
        first_row: 0,
        distance: 1,
    }
}

/// Sequences whose scales one task looks up.
const LOOKED_UP: usize = 1 << 12;

/// Returns the scales of `rows` rows of each sequence, from the scales of each length.
///
/// Binomial coefficients take long, and many short sequences have few lengths. Looking the scales
/// up takes long too: if one thread did it, the device would wait.
fn scales_of(
    lengths: &[u64],
    rows: usize,
    of_length: impl Fn(u64) -> Vec<inverse::Scale> + Sync,
) -> Result<Vec<inverse::Scale>> {
    let mut scales = zeroed(lengths.len() * rows)?;
    if scales.is_empty() {
        return Ok(scales);
    }
    let tasks = scales
        .chunks_mut(LOOKED_UP * rows)
        .zip(lengths.chunks(LOOKED_UP));
    parallel::each(tasks, |(scales, lengths)| {
        let mut known: HashMap<u64, Vec<inverse::Scale>> = HashMap::new();
        let mut places = scales.chunks_exact_mut(rows);
        for equal in lengths.chunk_by(|a, b| a == b) {
            let length = equal[0];
            let found = known.entry(length).or_insert_with(|| of_length(length));
            let places = places.by_ref().take(equal.len());
            places.for_each(|place| place.copy_from_slice(found));
        }
    });
    Ok(scales)
}
