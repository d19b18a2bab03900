//! The Fourier form: a table of operators, then for each batch words, chunks, composition and the
//! inverse transform.

use std::collections::HashMap;

use cuda_std::DeviceSliceMut;
use tensor_sketch_kernels::fourier::number::Pair64;
use tensor_sketch_kernels::fourier::{chunks, compose, inverse, operators, quads, words};

use super::kernels::{COMPOSE, HasKernels, Pair, Sums, nothing};
use super::layout::{Layout, Level, Part, Room, batches};
use super::letters::{Packed, PackedLetters, SequenceBuffers, pack_tables};
use super::tuning::fourier::Policy;
use super::workspace::Workspace;
use crate::device::{Buffer, LaunchConfig, collected, zeroed};
use crate::parallel;
use crate::tensor_sketch::fourier::{CHUNK, Finish, SEGMENT, roots};
use crate::tensor_sketch::input::{Job, Rows, SequencesView};
use crate::tensor_sketch::tables::Tables;
use crate::{Device, Error, Result, modules};

/// Bytes of the matrices of a batch's chunks, at most: groups of lanes are worked on one after the other
/// where all together would take more. One group of the largest batch takes less in `f32`, but for
/// windows of very many strides.
const MATRIX_BYTES: usize = 512 << 20;

/// Writes the sketches of all sequences.
pub fn sketch<T: HasKernels>(
    device: &Device,
    job: &Job,
    sequences: &SequenceBuffers,
    out: &mut Buffer<T>,
) -> Result<()> {
    let engine = Engine::<T>::new(device, job)?;
    let lengths = collected(sequences.lengths())?;
    engine.sketch(&sequences.letters, &sequences.batches, &lengths, out)
}

/// Letters of a batch that is packed while the one before is computed, at most: few, because nothing is
/// computed before the first is packed.
const FROM_HOST: Room = Room {
    letters: 3 * SEGMENT as u64,
    ..Room::LARGEST
};

/// Returns the sketches of sequences in the host's memory, or `None` if a code is too large.
///
/// A batch is packed by all cores while the device computes the one before: nothing here waits for
/// the device but what follows upon packing.
pub fn sketch_from_host<T: HasKernels>(
    device: &Device,
    job: &Job,
    sequences: SequencesView,
) -> Result<Option<Buffer<T>>> {
    let engine = Engine::<T>::new(device, job)?;
    let lengths = collected(sequences.slices().map(|codes| codes.len() as u64))?;
    let mut out = (engine.workspace).allocate_sketches(device, lengths.len(), job.row_count())?;
    let mut finish = |(first, spectra): (usize, Spectra)| {
        let lengths = &lengths[first..][..spectra.sequences];
        engine.finish(&spectra, lengths, &mut out, first)
    };
    let (mut unfinished, mut begun) = (None, None);
    let mut packed = Packed::default();
    let parts = sequences.offsets.iter().zip(&lengths);
    let parts = parts.map(|(&offset, &length)| Part::whole(offset as u64, length));
    for mut batch in batches(parts, engine.room(FROM_HOST))? {
        let codes = batch.take_letters(sequences.codes);
        packed.pack(codes, job.tables.alphabet_size())?;
        if packed
            .largest
            .is_some_and(|code| usize::from(code) >= job.tables.alphabet_size())
        {
            return Ok(None);
        }
        begun.take().map_or(Ok(()), &mut finish)?;
        let letters = packed.upload(device)?;
        let layout = Layout::upload(device, &batch)?;
        let spectra = engine.begin(&letters, &layout, &mut unfinished)?;
        begun = spectra.map(|spectra| (batch.first, spectra));
    }
    begun.map_or(Ok(()), &mut finish)?;
    Ok(Some(out))
}

/// Returns the policy for these tables.
pub fn policy<T: HasKernels>(device: &Device, job: &Job) -> Result<Policy> {
    let (alphabet, tuple, dim) = sizes(job.tables);
    let shared = device.shared_memory_per_block().unwrap_or(0);
    Policy::new::<T::Number>(alphabet, tuple, dim, shared).ok_or_else(|| {
        let message = format!("{device} has only {shared} bytes of shared memory per block");
        Error::input(job.operation, message)
    })
}

/// What a device needs to sketch with given tables.
pub struct Engine<T> {
    pub device: Device,
    pub tables: Tables,
    rows: Rows,
    normalize: bool,
    pub workspace: Workspace<T>,
    pub policy: Policy,
    table: Buffer<u128>,
    roots: Buffer<[f64; 2]>,
    processors: u32,
}

/// Groups of lanes that are worked on together.
#[derive(Clone, Copy)]
pub struct Groups {
    first: u32,
    count: u32,
}

impl Groups {
    pub fn lanes(self, policy: &Policy) -> Lanes {
        Lanes {
            first: self.first * policy.width,
            count: self.count * policy.width,
        }
    }
}

/// The same in lanes.
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
    pub fn slices(&self) -> Sums {
        match self {
            Matrices::OfChunks(buffer) => (T::KERNELS.sums)(buffer),
            Matrices::Composed(buffer) => (nothing(), buffer.slice()),
        }
    }

    /// 1 if they are in `f32`, else 0.
    pub fn are_singles(&self) -> u32 {
        match self {
            Matrices::OfChunks(_) => u32::from(size_of::<T>() == size_of::<f32>()),
            Matrices::Composed(_) => 0,
        }
    }
}

/// First rows of sequences in all lanes.
pub struct Spectra {
    pub buffer: Buffer<Pair64>,
    /// Rows of each sequence: rows 1 to t, or row t alone.
    rows: u32,
    sequences: usize,
    /// Products of matrices beyond those of chunks that they come of.
    pub products: usize,
}

impl<T: HasKernels> Engine<T> {
    /// Makes the table of operators.
    pub fn new(device: &Device, job: &Job) -> Result<Self> {
        let tables = job.tables;
        let (alphabet, tuple, dim) = sizes(tables);
        let policy = policy::<T>(device, job)?;
        let roots = device.buffer_from(&roots(tables.dim()))?;
        let packed = device.buffer_from(&pack_tables(tables))?;
        let quads = quads::<T::Number>(tuple as usize, policy.depth as usize);
        let lanes = policy.groups as usize * policy.width as usize;
        let mut table = device.alloc(policy.rows as usize * lanes * quads)?;
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
        let arguments = (parameters, packed.slice(), roots.slice(), table.slice_mut());
        let config = LaunchConfig::for_len(table.len(), 256);
        // SAFETY: tables, roots and table have the sizes of the parameters.
        unsafe {
            let kernel = T::KERNELS.operators;
            device.launch(&modules::TENSOR_SKETCH, kernel, config, arguments)?
        };
        Ok(Self {
            device: device.clone(),
            tables: tables.clone(),
            rows: job.rows,
            normalize: job.normalize,
            workspace: Workspace::new(tables),
            policy,
            table,
            roots,
            processors: device.processors() as u32,
        })
    }

    pub fn lanes(&self) -> u32 {
        self.policy.groups * self.policy.width
    }

    /// Writes the sketches of sequences of these lengths, which are those of the batches.
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
                let lengths = &lengths[batch.first..][..batch.sequences as usize];
                self.finish(&spectra, lengths, out, batch.first)?;
            }
        }
        Ok(())
    }

    /// Transforms a batch, and returns the spectra of its sequences if they end with it; else they are
    /// `unfinished`, and the next batch brings them on.
    pub fn begin(
        &self,
        letters: &PackedLetters,
        batch: &Layout,
        unfinished: &mut Option<Spectra>,
    ) -> Result<Option<Spectra>> {
        let mut spectra = match unfinished.take() {
            Some(spectra) if batch.continued => spectra,
            _ => {
                let last_row_alone = batch.complete && matches!(self.rows, Rows::Last);
                self.spectra(batch.sequences as usize, last_row_alone)?
            }
        };
        self.transform(letters, batch, &mut spectra)?;
        if batch.complete {
            return Ok(Some(spectra));
        }
        *unfinished = Some(spectra);
        Ok(None)
    }

    /// Room for the first rows of so many sequences.
    pub fn spectra(&self, sequences: usize, last_row_alone: bool) -> Result<Spectra> {
        let rows = if last_row_alone {
            1
        } else {
            self.tables.tuple_length()
        };
        Ok(Spectra {
            buffer: self.device.alloc(self.workspace.rows(
                sequences,
                rows,
                self.lanes() as usize,
            ))?,
            rows: rows as u32,
            sequences,
            products: 0,
        })
    }

    /// Computes the first rows of a batch's sequences, or brings that of an unfinished one on.
    pub fn transform(
        &self,
        letters: &PackedLetters,
        batch: &Layout,
        spectra: &mut Spectra,
    ) -> Result<()> {
        let units = self.words(letters, batch)?;
        for groups in self.slices(batch.chunks.len(), 0) {
            let chunks = self.chunks(&units, batch, groups)?;
            self.compose(
                chunks,
                &batch.levels,
                groups.lanes(&self.policy),
                Some(spectra),
            )?;
        }
        Ok(())
    }

    /// What a batch may hold at most, if there is room for it in what the device has left.
    pub fn room(&self, most: Room) -> Room {
        let Some(left) = self.device.memory_budget() else {
            return most;
        };
        let units = (CHUNK as u64).div_ceil(u64::from(words::UNIT * self.policy.word_letters)) + 3;
        let (width, all) = (self.policy.width as usize, self.lanes() as usize);
        let of_chunk = self.workspace.chunk_bytes(units, width, all);
        let chunks = (left - left / 8) / of_chunk;
        Room {
            letters: most.letters.min(chunks.saturating_mul(CHUNK as u64)),
            chunks: most.chunks.min(chunks),
        }
    }

    /// Groups of lanes that are worked on one after the other, for so many matrices, and besides them first rows.
    pub fn slices(&self, matrices: usize, rows: usize) -> impl Iterator<Item = Groups> {
        let width = self.policy.width as usize;
        let of_matrices = self.workspace.matrix_bytes(matrices, width);
        let of_all = of_matrices + self.workspace.suffix_bytes(rows, width);
        // Products take an eighth as much besides.
        let left = self.device.memory_budget().unwrap_or(u64::MAX);
        let left = usize::try_from(left - left / 8).unwrap_or(usize::MAX);
        let fitting = left / of_all.max(1);
        let all = self.policy.groups;
        let together = (MATRIX_BYTES / of_matrices.max(1)).min(fitting);
        let together = together.clamp(1, all as usize) as u32;
        (0..all)
            .step_by(together as usize)
            .map(move |first| Groups {
                first,
                count: together.min(all - first),
            })
    }

    /// The words of all chunks.
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
            origin: batch.origin,
        };
        let blocks = chunks
            .div_ceil(words::BLOCK / 32)
            .min(64 * self.processors.max(1));
        let config = LaunchConfig::new(blocks, words::BLOCK);
        let arguments = (
            parameters,
            letters.buffer.slice(),
            batch.chunks.slice(),
            units.slice_mut(),
        );
        // SAFETY: the letters are those of the chunks, below the alphabet's size as checked by the
        // caller; the units reach to the end of the last chunk's.
        unsafe {
            self.device
                .launch(&modules::TENSOR_SKETCH, &words::words, config, arguments)?
        };
        Ok(units)
    }

    /// The matrices of all chunks in the lanes of some groups.
    pub fn chunks(
        &self,
        units: &Buffer<u128>,
        batch: &Layout,
        groups: Groups,
    ) -> Result<Matrices<T>> {
        let policy = &self.policy;
        let tuple = self.tables.tuple_length();
        let chunks = batch.chunks.len() as u32;
        let lanes = groups.lanes(policy).count as usize;
        let matrices = self.workspace.matrices(chunks as usize, lanes);
        let mut matrices = self.device.alloc(matrices)?;
        if chunks == 0 {
            return Ok(Matrices::OfChunks(matrices));
        }
        let parameters = chunks::Parameters {
            width: policy.width,
            first_group: groups.first,
            launched: groups.count,
            rows: policy.rows,
            chunks,
            word_letters: policy.word_letters,
            origin: batch.origin,
        };
        let (blocks, threads) = policy.grid(groups.count, chunks, self.processors);
        let config = LaunchConfig::new(blocks * groups.count, threads)
            .with_shared_bytes(policy.shared_bytes);
        let arrays = chunks::Arrays {
            table: self.table.slice(),
            units: units.slice(),
            chunks: batch.chunks.slice(),
            order: batch.order.slice(),
            out: matrices.slice_mut(),
        };
        let arguments = (parameters, arrays);
        let kernel = T::KERNELS.chunks[tuple - 1][policy.depth as usize - 1];
        // SAFETY: table, units and order were made for these chunks and this policy, and the matrices
        // have their size.
        unsafe {
            self.device
                .launch(&modules::TENSOR_SKETCH, kernel, config, arguments)?
        };
        Ok(Matrices::OfChunks(matrices))
    }

    /// Composes the matrices of some groups, level by level: first rows go to `spectra`, and what the
    /// last level makes is returned.
    pub fn compose(
        &self,
        chunks: Matrices<T>,
        levels: &[Level],
        lanes: Lanes,
        mut spectra: Option<&mut Spectra>,
    ) -> Result<Matrices<T>> {
        let tuple = self.tables.tuple_length();
        let mut matrices = chunks;
        for level in levels {
            if let Some(spectra) = spectra.as_deref_mut()
                && !level.rows.is_empty()
            {
                let to = compose::Parameters {
                    matrices: 0,
                    out_lanes: self.lanes(),
                    out_lane: lanes.first,
                    first_row: tuple as u32 + 1 - spectra.rows,
                    ..self.composition(&matrices, &level.rows, lanes)
                };
                self.launch_composition(to, &level.rows, &matrices, &mut spectra.buffer)?;
            }
            matrices = self.products(&matrices, &level.matrices, 1, lanes)?;
        }
        Ok(matrices)
    }

    /// Products of matrices that stand so far from each other.
    pub fn products(
        &self,
        matrices: &Matrices<T>,
        runs: &Buffer<compose::Run>,
        distance: u32,
        lanes: Lanes,
    ) -> Result<Matrices<T>> {
        let size = self.workspace.matrices(runs.len(), lanes.count as usize);
        let mut products = self.device.alloc(size)?;
        if !runs.is_empty() {
            let parameters = compose::Parameters {
                distance,
                ..self.composition(matrices, runs, lanes)
            };
            self.launch_composition(parameters, runs, matrices, &mut products)?;
        }
        Ok(Matrices::Composed(products))
    }

    /// For products of neighbours that are matrices.
    fn composition(
        &self,
        matrices: &Matrices<T>,
        runs: &Buffer<compose::Run>,
        lanes: Lanes,
    ) -> compose::Parameters {
        compose::Parameters {
            lanes: lanes.count,
            first_lane: lanes.first,
            from_singles: matrices.are_singles(),
            matrices: 1,
            products: runs.len() as u32,
            out_lanes: lanes.count,
            out_lane: 0,
            first_row: 0,
            distance: 1,
        }
    }

    fn launch_composition(
        &self,
        parameters: compose::Parameters,
        runs: &Buffer<compose::Run>,
        matrices: &Matrices<T>,
        out: &mut Buffer<Pair64>,
    ) -> Result<()> {
        let (singles, doubles) = matrices.slices();
        let threads = parameters.products as usize * parameters.lanes as usize;
        let config = LaunchConfig::for_len(threads, compose::BLOCK);
        let arguments = (parameters, runs.slice(), singles, doubles, out.slice_mut());
        let kernel = COMPOSE[self.tables.tuple_length() - 1];
        // SAFETY: the runs are of these matrices, and each has its place in `out`.
        unsafe {
            self.device
                .launch(&modules::TENSOR_SKETCH, kernel, config, arguments)
        }
    }

    /// Writes the sketches of sequences of these lengths to `out`, from sequence `first` on.
    pub fn finish(
        &self,
        spectra: &Spectra,
        lengths: &[u64],
        out: &mut Buffer<T>,
        first: usize,
    ) -> Result<()> {
        let kept = self.rows.kept(&self.tables);
        let dim = self.tables.dim();
        let with_first = u32::from(*kept.start() == 0);
        let rows = kept.clone().count() as u32 - with_first;
        let scale = |length: u64, k: usize| {
            let products = spectra.products;
            let finish = Finish::after::<T>(products, &self.tables, length, k, self.normalize);
            inverse::Scale {
                divisor: finish.divisor,
                whole: finish.whole.into(),
            }
        };
        let scales = scales_of(lengths, rows as usize, |length| {
            let rows = kept.clone().filter(|&k| k > 0);
            rows.map(|k| scale(length, k)).collect()
        })?;
        let scales = self.device.buffer_from(&scales)?;
        let spectra_count = lengths.len() as u32 * rows;
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
        let all = out.slice_mut();
        // SAFETY: the sequences' part of the result.
        let part = unsafe {
            DeviceSliceMut::from_raw_parts(all.as_mut_ptr().add(first * row), lengths.len() * row)
        };
        let arguments = (
            parameters,
            spectra.buffer.slice(),
            self.roots.slice(),
            scales.slice(),
            part,
        );
        // SAFETY: spectra, scales and result have the sizes of the parameters.
        unsafe {
            self.device.launch(
                &modules::TENSOR_SKETCH,
                T::KERNELS.inverse,
                config,
                arguments,
            )
        }
    }
}

/// Sequences whose scales a thread looks up in one go.
const LOOKED_UP: usize = 1 << 12;

/// The scales of all sequences, from those of each length: one for each of `rows` rows.
///
/// Many short sequences have few lengths, and binomial coefficients take their time. So would looking them up if one
/// thread did it: the device would wait.
fn scales_of(
    lengths: &[u64],
    rows: usize,
    of_length: impl Fn(u64) -> Vec<inverse::Scale> + Sync,
) -> Result<Vec<inverse::Scale>> {
    let mut scales = zeroed(lengths.len() * rows)?;
    if scales.is_empty() {
        return Ok(scales);
    }
    let look_up = |(scales, lengths): (&mut [inverse::Scale], &[u64])| {
        let mut known: HashMap<u64, Vec<inverse::Scale>> = HashMap::new();
        let mut places = scales.chunks_exact_mut(rows);
        for equal in lengths.chunk_by(|a, b| a == b) {
            let length = equal[0];
            let found = known.entry(length).or_insert_with(|| of_length(length));
            let places = places.by_ref().take(equal.len());
            places.for_each(|place| place.copy_from_slice(found));
        }
    };
    match lengths.len() <= LOOKED_UP {
        true => look_up((&mut scales, lengths)),
        false => {
            let blocks = scales.chunks_mut(LOOKED_UP * rows);
            parallel::each(blocks.zip(lengths.chunks(LOOKED_UP)), look_up);
        }
    }
    Ok(scales)
}

fn sizes(tables: &Tables) -> (u32, u32, u32) {
    (
        tables.alphabet_size() as u32,
        tables.tuple_length() as u32,
        tables.dim() as u32,
    )
}
