//! The arguments of a call, and all checks of them.

use std::ops::RangeInclusive;

use gridstride_runtime::device::{Buffer, Element};
use gridstride_runtime::{Device, Error, Result};
use gridstride_sequences::{CodeAt, DeviceSequences, SequencesView};
use ndarray::ArrayViewMut3;
use tensor_sketch_kernels::Parameters;
use tensor_sketch_kernels::fourier::Number;

use super::options::{Form, TensorSketch};
use super::tables::Tables;
use super::tuning::{DirectPolicy, FourierPolicy, Policy, step_exponent};

/// The computation for each sequence.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The public operation, for errors.
    pub operation: &'static str,
    pub tables: &'a Tables,
    pub rows: Rows,
    pub normalize: bool,
    pub form: Form,
    /// Whether the argument is one view of codes, not [`Sequences`].
    pub is_of_one: bool,
}

/// The rows of a sketch that a caller asks for.
#[derive(Clone, Copy)]
pub enum Rows {
    /// Row t.
    Last,
    /// Rows 0 to t.
    All,
    /// Row t of each window of the only sequence.
    Windows(Windows),
}

impl Rows {
    pub fn kept(self, tables: &Tables) -> RangeInclusive<usize> {
        let tuple = tables.tuple_length();
        match self {
            Rows::Last | Rows::Windows(_) => tuple..=tuple,
            Rows::All => 0..=tuple,
        }
    }
}

impl Job<'_> {
    pub fn kept(&self) -> RangeInclusive<usize> {
        self.rows.kept(self.tables)
    }

    pub fn row_count(&self) -> usize {
        self.kept().count()
    }

    /// Returns the number of entries of the requested rows of a sequence or window.
    pub fn entries(&self) -> usize {
        self.row_count() * self.tables.dim()
    }

    /// Checks that the codes of all sequences are below the alphabet's size.
    pub fn check_codes(&self, sequences: SequencesView) -> Result<()> {
        self.check_code(sequences.first_code_from(self.tables.alphabet_size()))
    }

    /// Refuses a code that is not below the alphabet size of the tables.
    pub fn check_code(&self, mut code: Option<CodeAt>) -> Result<()> {
        if let (Some(at), true) = (&mut code, self.is_of_one) {
            at.sequence = None;
        }
        check_code(self.operation, code, self.tables.alphabet_size())
    }
}

impl<T> TensorSketch<T> {
    pub(super) fn job(&self, operation: &'static str, rows: Rows) -> Job<'_> {
        Job {
            operation,
            tables: &self.tables,
            rows,
            normalize: self.normalize,
            form: self.form,
            is_of_one: false,
        }
    }

    /// As [`job`](Self::job), but for a call that takes one view of codes.
    pub(super) fn job_of_one(&self, operation: &'static str, rows: Rows) -> Job<'_> {
        Job {
            is_of_one: true,
            ..self.job(operation, rows)
        }
    }
}

impl Job<'_> {
    /// Returns how kernels compute sketches, or the error for what they or a device cannot compute.
    /// Windows are always in the Fourier form.
    pub fn policy<N: Number>(&self, device: &Device) -> Result<Policy> {
        match (self.form, self.rows) {
            (Form::Direct, Rows::Last | Rows::All) => {
                self.direct_policy::<N>(device).map(Policy::Direct)
            }
            (_, Rows::Windows(windows)) => {
                windows.require_kernels(self.operation)?;
                self.fourier_policy::<N>(device).map(Policy::Fourier)
            }
            _ => self.fourier_policy::<N>(device).map(Policy::Fourier),
        }
    }

    pub fn fourier_policy<N: Number>(&self, device: &Device) -> Result<FourierPolicy> {
        let sizes = self.parameters();
        let shared = device.shared_memory_per_block().unwrap_or(0);
        let policy = FourierPolicy::new::<N>(sizes.alphabet, sizes.tuple, sizes.dim, shared);
        policy.ok_or_else(|| {
            let message = format!("{device} has only {shared} bytes of shared memory per block");
            Error::input(self.operation, message)
        })
    }

    fn direct_policy<N: Number>(&self, device: &Device) -> Result<DirectPolicy> {
        if size_of::<N>() != size_of::<f32>() {
            let message =
                format!("on {device} the direct form computes in f32 alone: take the Fourier form");
            return Err(Error::input(self.operation, message));
        }
        let sizes = self.parameters();
        let policy = DirectPolicy::new(&sizes);
        let bytes = policy.shared_bytes;
        let available = device.shared_memory_per_block().unwrap_or(0);
        if bytes <= u64::from(available) {
            return Ok(policy);
        }
        let (alphabet, tuple, dim) = (sizes.alphabet, sizes.tuple, sizes.dim);
        let message = format!(
            "{alphabet} letters, tuples of {tuple} and dimension {dim} need {bytes} bytes of \
             shared memory per block, and {device} has {available}: take a smaller dimension or \
             the Fourier form"
        );
        Err(Error::input(self.operation, message))
    }

    /// Returns the parameters of the direct form for letters of 8 bits and steps that are not
    /// scaled.
    pub fn parameters(&self) -> Parameters {
        Parameters {
            alphabet: self.tables.alphabet_size() as u32,
            tuple: self.tables.tuple_length() as u32,
            dim: self.tables.dim() as u32,
            bits: 8,
            all_rows: u32::from(matches!(self.rows, Rows::All)),
            step: 1.0,
        }
    }

    /// Checks that the kernels of the direct form can count sequences and their letters.
    fn require_direct(&self, count: usize, longest: u64) -> Result<()> {
        if i32::try_from(count).is_err() {
            let message = format!("{count} sequences are more than a grid's 2147483647 blocks");
            return Err(Error::input(self.operation, message));
        }
        let tuple = self.tables.tuple_length();
        if step_exponent(longest, tuple).is_none() {
            let message = format!(
                "a sequence of {longest} letters is too long for tuples of {tuple}: take the \
                 device cpu"
            );
            return Err(Error::input(self.operation, message));
        }
        Ok(())
    }
}

/// Sequences in the host's memory, and the places of their rows.
pub struct HostSketch<'a, T> {
    pub job: Job<'a>,
    /// Codes of windows are checked.
    pub sequences: SequencesView<'a>,
    /// The entries of all sequences or windows, one after the other.
    pub out: &'a mut [T],
}

impl<'a, T> HostSketch<'a, T> {
    pub fn check_codes(&self) -> Result<()> {
        match self.job.rows {
            Rows::Last | Rows::All => self.job.check_codes(self.sequences),
            Rows::Windows(_) => Ok(()),
        }
    }

    /// Returns the codes from the first to the last of some windows, at least one.
    pub fn codes_of(&self, windows: Windows) -> &'a [u8] {
        let first = windows.first * windows.stride;
        let letters = (windows.count - 1) * windows.stride + windows.width;
        &self.sequences.codes[first..first + letters]
    }

    /// Checks the codes and the lengths for the direct form. Those of the Fourier form are checked
    /// while they are packed.
    pub fn require_kernels(&self, policy: &Policy) -> Result<()> {
        if let Policy::Direct(_) = policy {
            self.check_codes()?;
            let longest = self.sequences.slices().map(<[u8]>::len).max();
            (self.job).require_direct(self.sequences.len(), longest.unwrap_or(0) as u64)?;
        }
        Ok(())
    }

    /// Returns the rows of each sequence or window.
    pub fn rows(&mut self) -> ArrayViewMut3<'_, T> {
        let (job, count) = (&self.job, self.out.len() / self.job.entries());
        let shape = (count, job.row_count(), job.tables.dim());
        ArrayViewMut3::from_shape(shape, self.out).expect("rows of whole sequences")
    }
}

/// Sequences in a device's memory, whose codes are checked, and the places of their rows.
pub struct DeviceSketch<'a, T: Element> {
    pub job: Job<'a>,
    pub sequences: &'a DeviceSequences,
    pub out: &'a mut Buffer<T>,
}

impl<T: Element> DeviceSketch<'_, T> {
    /// Returns the sequences of a CPU, which are in the host's memory, with places for rows.
    pub fn download<'b>(&'b self, out: &'b mut [T]) -> HostSketch<'b, T> {
        HostSketch {
            job: self.job,
            sequences: self.sequences.download(),
            out,
        }
    }

    /// Checks the lengths of sequences that kernels read.
    pub fn require_kernels(&self, policy: &Policy) -> Result<()> {
        match policy {
            Policy::Fourier(_) => Ok(()),
            Policy::Direct(_) => {
                let longest = self.sequences.buffers().lengths().max();
                (self.job).require_direct(self.sequences.len(), longest.unwrap_or(0))
            }
        }
    }
}

pub fn require_shape(operation: &'static str, result: &[usize], out: &[usize]) -> Result<()> {
    if out == result {
        return Ok(());
    }
    Err(Error::Shape {
        operation,
        message: format!("the result has the shape {result:?}, but out has {out:?}"),
    })
}

/// Refuses a code that is not below the alphabet size.
pub fn check_code(
    operation: &'static str,
    code: Option<CodeAt>,
    alphabet_size: usize,
) -> Result<()> {
    let Some(at) = code.filter(|at| usize::from(at.code) >= alphabet_size) else {
        return Ok(());
    };
    let letter = match char::from(at.code) {
        letter if letter.is_ascii_graphic() => format!(", the letter '{letter}' in ASCII"),
        _ => String::new(),
    };
    let of_sequence = (at.sequence).map_or(String::new(), |index| format!(" of sequence {index}"));
    let message = format!(
        "the code at position {}{of_sequence} is {}{letter}, but the tables have \
         {alphabet_size} letters, with the codes 0 to {}: Alphabet::encode turns text into codes",
        at.position,
        at.code,
        alphabet_size - 1
    );
    let (of, index) = match at.sequence {
        Some(sequence) => ("sequences", sequence),
        None => ("codes", at.position),
    };
    Err(Error::input_at(operation, of, index, message))
}

/// The windows of a text.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    /// Letters per window, at least one.
    pub width: usize,
    /// Letters from the start of a window to the start of the next window, at least one.
    pub stride: usize,
    /// The number of the first window: 0 but in a partition.
    pub first: usize,
    /// The number of windows.
    pub count: usize,
}

/// The most strides in a window. Kernels count the segments of a batch in 32 bits. A batch of such
/// windows has up to about twice as many strides, with up to two segments each.
const MAX_STRIDES: usize = 1 << 29;

impl Windows {
    /// Returns the windows of a text of `length` letters. Fails for a width or stride of 0.
    pub fn new(
        operation: &'static str,
        length: usize,
        width: usize,
        stride: usize,
    ) -> Result<Windows> {
        for (name, value) in [("width", width), ("stride", stride)] {
            if value == 0 {
                let message = format!("the {name} of windows is 0, not at least 1");
                return Err(Error::input(operation, message));
            }
        }
        let rest = length.checked_sub(width);
        Ok(Windows {
            width,
            stride,
            first: 0,
            count: rest.map_or(0, |rest| rest / stride + 1),
        })
    }

    /// Checks that kernels can count the strides of a window.
    pub fn require_kernels(&self, operation: &'static str) -> Result<()> {
        if self.width / self.stride <= MAX_STRIDES {
            return Ok(());
        }
        let message = format!(
            "windows of {} letters at every {}-th are more than {MAX_STRIDES} strides long: take a \
             larger stride, or sketch them on the CPU",
            self.width, self.stride
        );
        Err(Error::input(operation, message))
    }
}
