//! The tensor sketch: short vectors whose distances tell how similar sequences are, without
//! aligning them.
//!
//! The sketch of a sequence over an alphabet of A letters sums over all its subsequences of t
//! letters (tuples, not necessarily adjacent): each adds ±1 at one of D places, where place and sign
//! are drawn at random by the tuple's letters. Sequences with many tuples in common, which survive
//! insertions, deletions and substitutions, therefore have sketches close to each other.
//!
//! Source: A. Joudaki, G. Rätsch, A. Kahles, 'Fast Alignment-Free Similarity Estimation by Tensor
//! Sketching'. With `hashes` and `signs` from [`Tables`], starting from T\[0\] = (1, 0, …, 0) and
//! all other rows zero, each letter c does for k = t−1, …, 0
//!
//! ```text
//! T[k+1] += signs[c][k] · roll(T[k], hashes[c][k])
//! ```
//!
//! where `roll` moves element l to (l + h) mod D. The sketch is T\[t\], D numbers.
//!
//! # Examples
//!
//! ```
//! use gridstride::Device;
//! use gridstride::distances::pairwise;
//! use gridstride::tensor_sketch::{Alphabet, Sequences, Tables, TensorSketch, Unknown};
//!
//! let dna = Alphabet::dna();
//! let mut sequences = Sequences::new();
//! for text in ["GATTACAGATTACA", "GATTACATATTACA", "CCGCGGCCGCCGGC"] {
//!     sequences.push(dna.encode(text.as_bytes(), Unknown::Error)?.codes)?;
//! }
//!
//! let sketcher = TensorSketch::new(Tables::from_seed(dna.size(), 3, 64, 1)?).normalize(true);
//! let sketches = sketcher.sketch(&Device::cpu(), &sequences)?;
//! assert_eq!(sketches.dim(), (3, 64));
//!
//! let distances = pairwise(&Device::cpu(), sketches.view())?;
//! assert!(distances[[0, 1]] < distances[[0, 2]]);
//! # Ok::<(), gridstride::Error>(())
//! ```
//!
//! # Several devices
//! Over a [set](DeviceSet) of devices the sequences are divided into as many ranges, about equal in letters.
//! [Windows](TensorSketch::windows) are divided too.
//!
//! # Memory
//! On GPUs sketches from the host's memory take room for the sketches, for a table of operators, which the alphabet, the
//! tuples and the dimension determine, and for the letters that are worked on at a time. Where all the memory of
//! the device, or its [limit](crate::Device::with_memory_limit), is less, fewer letters are worked on at a time, then fewer
//! sequences. A long sequence is cut where matrices end that its last product is made of. So it needs room for 2048
//! letters at least if it has up to 32 Ki letters, for 32 Ki up to 512 Ki, for 512 Ki up to 8 Mi, and for 8 Mi beyond;
//! [`Form::Direct`] needs room for the whole sequence. [`SketchStream`] keeps to that too.
//!
//! The sketches are the same, bit by bit, as those of one device of the kind with room for all.

mod alphabet;
mod batch;
mod binomial;
mod cpu;
mod device_sequences;
mod engine;
mod fourier;
mod gpu;
mod parts;
mod plan;
mod real;
pub mod reference;
mod rows;
mod sequences;
mod splitmix;
mod stream;
mod tables;
mod windows;

use std::marker::PhantomData;

use ndarray::{Array1, Array2, Array3, ArrayView1, Axis, Ix2};

pub use alphabet::{Alphabet, Encoded, Unknown};
pub use binomial::binomial;
pub use device_sequences::DeviceSequences;
pub use plan::Plan;
pub use real::Real;
pub use sequences::{Codes, Sequences};
pub use stream::SketchStream;
pub use tables::Tables;

use crate::device::{Buffer, DeviceArray, DeviceKind};
use crate::error::During;
use crate::parallel;
use crate::partition::{self, concat::concatenated, require_devices};
use crate::{Device, DeviceSet, Error, Result};
use device_sequences::{CodeAt, Memory};
use parts::PartOfSequences;
use rows::Rows;
use sequences::SequencesView;

const OPERATION: &str = "tensor_sketch";

/// Sketches sequences with given [`Tables`].
///
/// All devices compute in the Fourier form unless [`form`](Self::form) says otherwise: sequences are
/// cut into chunks, which are worked on side by side, several letters at a time, and composed; see
/// [`Form`]. On the CPU that takes all cores, in vectors of the widest instruction set that the
/// machine has; [`plan`](Self::plan) says what a device chooses.
///
/// Sketches are not normalised unless [`normalize`](Self::normalize) asks for it, since whole numbers are exact as long
/// as they are small, and still tell how long a sequence is. To compare sequences of different lengths, normalise:
/// otherwise the longer sequence has the larger sketch, however similar both are.
///
/// [`Tables`] has advice on the length of tuples and the dimension.
///
/// # Accuracy
///
/// In the Fourier form an entry of row k is off by at most about 1500·t·2⁻²⁴·C(n, k) in `f32`, and
/// (3000·t + 2·D)·2⁻⁵³·C(n, k) in `f64`. Where that is below 1/2 the entry, a whole number, is exact. In practice a sketch is off by 10⁻⁷ to 10⁻⁶ of its norm in `f32`, and by 10⁻¹⁴ in `f64`.
///
/// In the direct form all sums are in `f64` on the CPU and rounded once at the end. Elsewhere they are
/// in `f32`: an entry is off by at most about n·2⁻²⁴ times the sum of its terms' absolute values.
///
/// Everywhere the result is the same from run to run, whatever the number of threads, and does not
/// depend on what else is sketched. Instruction sets differ in the last bits.
///
/// # Examples
///
/// ```
/// use gridstride::Device;
/// use gridstride::tensor_sketch::{Tables, TensorSketch};
/// use ndarray::array;
///
/// // All tuples of equal letters fall on the same place: C(6, 3) = 20 of them.
/// let tables = Tables::new(array![[1, 2, 2]].view(), array![[1, 1, -1]].view(), 4)?;
/// let sketcher = TensorSketch::new(tables);
/// let sketch = sketcher.sketch_one(&Device::cpu(), array![0, 0, 0, 0, 0, 0].view())?;
/// assert_eq!(sketch, array![0.0, -20.0, 0.0, 0.0]);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TensorSketch<T: Real = f32> {
    tables: Tables,
    normalize: bool,
    form: Form,
    element: PhantomData<T>,
}

/// How a sketch is computed. The result is the same but for rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// What is fastest: the Fourier form.
    #[default]
    Auto,
    /// Letter by letter in the real domain, as the definition reads, on one core or in one block
    /// for each sequence: slow where one is long. Sums are whole numbers until they are normalised:
    /// results are exact while C(n, k) stays below 2²⁴ for all rows k, on the CPU below 2⁵³ but for
    /// the last rounding. GPUs and the simulator have it in `f32` alone.
    Direct,
    /// Several letters at a time in the Fourier domain, in pieces of the sequences that are computed
    /// side by side and then composed.
    Fourier,
}

impl TensorSketch {
    /// Sketches with `tables`, in `f32`, not normalised.
    pub fn new(tables: Tables) -> TensorSketch {
        TensorSketch {
            tables,
            normalize: false,
            form: Form::Auto,
            element: PhantomData,
        }
    }

    /// The same sketches in `f64`, both in their sums and in their entries: more accurate, slower.
    pub fn double(self) -> TensorSketch<f64> {
        TensorSketch {
            tables: self.tables,
            normalize: self.normalize,
            form: self.form,
            element: PhantomData,
        }
    }
}

impl<T: Real> TensorSketch<T> {
    /// Chooses how sketches are computed.
    pub fn form(mut self, form: Form) -> TensorSketch<T> {
        self.form = form;
        self
    }

    /// Whether row k is divided by C(n, k), the number of tuples in a sequence of n letters. The default is `false`.
    ///
    /// With it the sketch is the paper's, and sequences of different lengths can be compared. A
    /// sequence shorter than k has no tuples, and a row k of zeros with or without it.
    pub fn normalize(mut self, normalize: bool) -> TensorSketch<T> {
        self.normalize = normalize;
        self
    }

    /// The tables that it sketches with.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The sketches of N sequences, N×D.
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidInput`] for a code that is not below the alphabet size of the tables.
    /// - [`Error::Overflow`] for a sketch with an entry beyond `f32`'s range (3.4·10³⁸), which only
    ///   long sequences that are not normalised have.
    /// - [`Error::Allocation`] if the memory of a device does not suffice for the least part of a sequence, or the
    ///   host's for the sketches.
    /// - [`Error::InvalidInput`] for a set of no devices.
    ///
    /// # Examples
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch};
    ///
    /// let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, 0)?);
    /// let sequences: Sequences = [vec![0, 1, 2, 3], vec![3], vec![]].iter().collect();
    /// let sketches = sketcher.sketch(&Device::cpu(), &sequences)?;
    /// assert_eq!(sketches.dim(), (3, 16));
    /// assert!(sketches.row(1).iter().all(|&entry| entry == 0.0)); // no pair of letters
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn sketch(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        sequences: &Sequences,
    ) -> Result<Array2<T>> {
        let rows = T::run(self, devices.devices(), sequences, Rows::Last)?;
        Ok(rows.index_axis_move(Axis(1), 0))
    }

    /// All rows T\[0\] to T\[t\] for N sequences, N×(t+1)×D: row k is the sketch with tuples of k
    /// letters, for the first k columns of the tables.
    ///
    /// # Errors
    ///
    /// Those of [`sketch`](Self::sketch).
    ///
    /// # Examples
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch};
    /// use ndarray::s;
    ///
    /// let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, 0)?);
    /// let sequences: Sequences = [[0, 1, 2, 3], [3, 2, 3, 2]].iter().collect();
    /// let rows = sketcher.sketch_rows(&Device::cpu(), &sequences)?;
    /// assert_eq!(rows.dim(), (2, 3, 16));
    /// assert_eq!(rows.slice(s![.., 2, ..]), sketcher.sketch(&Device::cpu(), &sequences)?);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn sketch_rows(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        sequences: &Sequences,
    ) -> Result<Array3<T>> {
        T::run(self, devices.devices(), sequences, Rows::All)
    }

    /// The sketch of one sequence, D numbers. The view may have any strides.
    ///
    /// # Errors
    ///
    /// Those of [`sketch`](Self::sketch).
    ///
    /// # Examples
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Tables, TensorSketch};
    /// use ndarray::{array, s};
    ///
    /// let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, 0)?);
    /// let codes = array![0, 1, 2, 3, 2, 1];
    /// let backwards = sketcher.sketch_one(&Device::cpu(), codes.slice(s![..;-1]))?;
    /// assert_eq!(backwards.len(), 16);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn sketch_one(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        codes: ArrayView1<u8>,
    ) -> Result<Array1<T>> {
        let sequences = Sequences::try_from_iter([codes]).during(OPERATION)?;
        let sketches = self.sketch(devices, &sequences)?;
        Ok(sketches.index_axis_move(Axis(0), 0))
    }

    /// The sketches of N sequences that are in a device's memory already, left there: N×D.
    ///
    /// On a GPU it may return before the sketches are made. Downloading them waits; another stream
    /// than the device's main one has to wait for an event.
    ///
    /// # Errors
    ///
    /// Those of [`sketch`](Self::sketch), but for the overflow: the range of the results is not
    /// checked, and an entry beyond `f32`'s is infinite.
    ///
    /// # Examples
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch};
    ///
    /// let device = Device::auto();
    /// let sequences: Sequences = [[0, 1, 2, 3], [3, 2, 3, 2]].iter().collect();
    /// let on_device = sequences.upload(&device)?;
    /// for seed in 0..2 {
    ///     let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, seed)?);
    ///     let sketches = sketcher.sketch_device(&on_device)?;
    ///     assert_eq!(sketches.download()?, sketcher.sketch(&device, &sequences)?);
    /// }
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn sketch_device(&self, sequences: &DeviceSequences) -> Result<DeviceArray<T, Ix2>> {
        let buffer = T::run_on_device(self, sequences, Rows::Last).during(OPERATION)?;
        DeviceArray::from_buffer(buffer, Ix2(sequences.len(), self.tables.dim()))
    }

    /// The one way to the devices from the host.
    fn run(&self, devices: &[Device], sequences: &Sequences, rows: Rows) -> Result<Array3<T>> {
        require_devices(devices, OPERATION)?;
        let made = self.compute_in_parts(devices, sequences.view(), rows);
        let made = made.during(OPERATION);
        let result = partition::recheck(made, || {
            self.check_codes(sequences.first_code_from(self.tables.alphabet_size()))
        })?;
        let entries = result.as_slice().expect("a new array is contiguous");
        check_range(
            entries,
            rows.count(&self.tables) * self.tables.dim(),
            0,
            "sequence",
        )?;
        Ok(result)
    }

    /// The same with infinite entries for what is beyond the range of `T`.
    fn compute_in_parts(
        &self,
        devices: &[Device],
        sequences: SequencesView,
        rows: Rows,
    ) -> Result<Array3<T>> {
        let entries = rows.count(&self.tables) * self.tables.dim();
        let whole = PartOfSequences {
            sequences,
            bytes_a_sequence: (entries * size_of::<T>()) as u64,
            bytes_a_letter: u64::from(self.form == Form::Direct),
        };
        let work = |device: &Device, part: &mut PartOfSequences| {
            if let Some(result) = self.sketch_from_host(device, part.sequences, rows)? {
                return Ok(result);
            }
            self.check_codes(part.sequences.first_code_from(self.tables.alphabet_size()))?;
            self.compute(device, part.sequences, rows)
        };
        let mut parts = partition::run(devices, OPERATION, whole, work)?;
        if parts.len() == 1 {
            return Ok(parts.swap_remove(0));
        }
        let slices = parts.iter();
        let slices = slices.map(|part| part.as_slice().expect("a new array is contiguous"));
        let all = concatenated(slices)?;
        let shape = (sequences.len(), rows.count(&self.tables), self.tables.dim());
        Ok(Array3::from_shape_vec(shape, all).expect("parts are of all sequences"))
    }

    /// The fastest way from the host's memory, if the device has one and no code is too large.
    fn sketch_from_host(
        &self,
        device: &Device,
        sequences: SequencesView,
        rows: Rows,
    ) -> Result<Option<Array3<T>>> {
        if device.kind() == DeviceKind::Cpu || self.form == Form::Direct {
            return Ok(None);
        }
        let Some(buffer) = gpu::sketch_from_host(device, &self.job(rows), sequences)? else {
            return Ok(None);
        };
        let shape = (sequences.len(), rows.count(&self.tables), self.tables.dim());
        let entries = buffer.to_vec()?;
        Ok(Some(
            Array3::from_shape_vec(shape, entries).expect("a buffer of that shape"),
        ))
    }

    fn job(&self, rows: Rows) -> gpu::Job<'_> {
        gpu::Job {
            tables: &self.tables,
            rows,
            normalize: self.normalize,
            form: self.form,
        }
    }

    /// The same for codes that are known to be right, with infinite entries for what is beyond the
    /// range of `T`.
    fn compute(&self, device: &Device, sequences: SequencesView, rows: Rows) -> Result<Array3<T>> {
        if device.kind() != DeviceKind::Cpu {
            let alphabet_size = self.tables.alphabet_size();
            let buffers = gpu::SequenceBuffers::upload(device, sequences, alphabet_size)?;
            let entries = gpu::sketch(device, &self.job(rows), &buffers)?.to_vec()?;
            let shape = (sequences.len(), rows.count(&self.tables), self.tables.dim());
            return Ok(Array3::from_shape_vec(shape, entries).expect("a buffer of that shape"));
        }
        debug_assert_eq!(device.kind(), DeviceKind::Cpu);
        let kept = rows.range(self.tables.tuple_length());
        let (normalize, form) = (self.normalize, self.form);
        cpu::sketch(&self.tables, sequences, kept, normalize, form)
    }

    /// The rows of all sequences one after the other, on their device.
    fn run_on_device(&self, sequences: &DeviceSequences, rows: Rows) -> Result<Buffer<T>> {
        self.check_codes(sequences.largest)?;
        match &sequences.memory {
            Memory::Host(host) => {
                let kept = rows.range(self.tables.tuple_length());
                let result =
                    cpu::sketch(&self.tables, host.view(), kept, self.normalize, self.form)?;
                let elements = result.as_slice().expect("a new array is contiguous");
                sequences.device.buffer_from(elements)
            }
            Memory::Device(buffers) => gpu::sketch(&sequences.device, &self.job(rows), buffers),
        }
    }

    /// Refuses a code that the tables do not have; smaller ones pass.
    fn check_codes(&self, code: Option<CodeAt>) -> Result<()> {
        let alphabet_size = self.tables.alphabet_size();
        match code {
            Some(at) if usize::from(at.code) >= alphabet_size => {
                Err(code_too_large(at, alphabet_size))
            }
            _ => Ok(()),
        }
    }
}

/// Numbers that a thread checks in one go.
const CHECKED_BY_A_THREAD: usize = 1 << 14;

/// Refuses the first sketch with an entry that `T` cannot hold. The `sketches` have `size` numbers
/// each; `of` is what each is the sketch of, the first one that of number `first`.
fn check_range<T: Real>(sketches: &[T], size: usize, first: usize, of: &str) -> Result<()> {
    let is_finite = |sketch: &[T]| sketch.iter().all(|entry| entry.to_f64().is_finite());
    let together = (CHECKED_BY_A_THREAD / size).max(1);
    let blocks = sketches.len().div_ceil(together * size);
    let overflowed = parallel::find_first(blocks, &|block| {
        let mut sketches = sketches[block * together * size..]
            .chunks(size)
            .take(together);
        let position = sketches.position(|sketch| !is_finite(sketch))?;
        Some(block * together + position)
    });
    let Some(index) = overflowed.map(|position| first + position) else {
        return Ok(());
    };
    Err(Error::Overflow {
        operation: OPERATION,
        index,
        message: format!(
            "the sketch of {of} {index} leaves the range of {}: \
             normalise it, or use shorter tuples",
            T::NAME
        ),
    })
}

fn code_too_large(at: CodeAt, alphabet_size: usize) -> Error {
    let CodeAt {
        code,
        sequence,
        position,
    } = at;
    let letter = match char::from(code) {
        letter if letter.is_ascii_graphic() => format!(", the letter '{letter}' in ASCII"),
        _ => String::new(),
    };
    let message = format!(
        "the code at position {position} of sequence {sequence} is {code}{letter}, \
         but the tables have {alphabet_size} letters, with the codes 0 to {}: \
         Alphabet::encode turns text into codes",
        alphabet_size - 1
    );
    Error::input_at(OPERATION, sequence, message)
}
