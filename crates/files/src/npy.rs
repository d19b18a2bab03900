//! Matrices from NumPy's files.
//!
//! ndarray-npy reads the header. The numbers are read as they come, so that a header that promises
//! more than there is costs no memory.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use gridstride::Number;
use ndarray::{Array2, ArrayView2};
use ndarray_npy::npy::header::{Header, ParseHeaderError, ReadHeaderError};

use crate::{Monitor, open};

/// The longest header that is read, in bytes: the longest of version 1 of the format.
const LONGEST_HEADER: usize = (1 << 16) - 1;

/// The most opening brackets in a header. A matrix needs two, for the dictionary and for the shape.
/// The parser's time grows exponentially with brackets within each other.
const MOST_BRACKETS: usize = 8;

/// Bytes that are read in one go.
const BATCH: usize = 1 << 20;

/// A matrix as it lies in a file.
pub struct Stored<T> {
    /// In row-major order: that of the file, or its transpose if the file is in Fortran order.
    pub rows: Array2<T>,
    /// Whether the file is in Fortran order.
    pub is_fortran: bool,
    /// The file's type of numbers.
    pub type_name: &'static str,
}

/// A file whose header has been read.
pub struct NpyReader {
    path: PathBuf,
    file: Box<dyn Read + Send>,
    decode: Decoder,
    rows: usize,
    columns: usize,
    is_fortran: bool,
}

impl NpyReader {
    /// Reads the header of a matrix.
    pub fn open(path: &Path, monitor: &Monitor) -> Result<NpyReader> {
        let read = || NpyReader::new(path, open(path, monitor)?);
        read().with_context(|| cannot_read(path))
    }

    /// Reads the header of the decompressed content of the file at `path`.
    pub fn new(path: &Path, mut file: Box<dyn Read + Send>) -> Result<NpyReader> {
        let header = read_header(&mut file)?;
        let &[rows, columns] = header.shape.as_slice() else {
            bail!(
                "it holds an array with {} axes, {:?}, not a matrix",
                header.shape.len(),
                header.shape
            );
        };
        Ok(NpyReader {
            path: path.to_owned(),
            file,
            decode: Decoder::new(&header)?,
            rows,
            columns,
            is_fortran: header.layout.is_fortran(),
        })
    }

    /// Returns the rows and columns that the header has.
    pub fn dim(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Returns the type of the numbers in the file.
    pub fn type_name(&self) -> &'static str {
        self.decode.name
    }

    /// Reads the numbers, rounded to `T`.
    pub fn read<T: Number>(self) -> Result<Stored<T>> {
        let path = self.path.clone();
        self.read_unnamed().with_context(|| cannot_read(&path))
    }

    fn read_unnamed<T: Number>(self) -> Result<Stored<T>> {
        let NpyReader {
            mut file,
            decode,
            rows,
            columns,
            is_fortran,
            ..
        } = self;
        let shape = match is_fortran {
            false => (rows, columns),
            true => (columns, rows),
        };
        let too_large = || format!("{rows}×{columns} numbers are more than can be counted");
        let count = rows.checked_mul(columns).with_context(too_large)?;

        let (mut numbers, mut batch) = (Vec::new(), vec![0; BATCH]);
        while numbers.len() < count {
            let wanted = ((count - numbers.len()).saturating_mul(decode.size)).min(BATCH);
            let got = fill(&mut file, &mut batch[..wanted])?;
            let whole = got / decode.size;
            let no_memory = || format!("there is no memory for {rows}×{columns} numbers");
            numbers.try_reserve(whole).with_context(no_memory)?;
            for bytes in batch[..got].chunks_exact(decode.size) {
                let number = decode.number(bytes);
                let rounded = T::from_f64(number);
                if number.is_finite() && !rounded.to_f64().is_finite() {
                    let (i, j) = (numbers.len() / shape.1, numbers.len() % shape.1);
                    let (i, j) = if is_fortran { (j, i) } else { (i, j) };
                    bail!(
                        "row {i}, column {j}: {number:e} is out of the range of {}",
                        T::NAME
                    );
                }
                numbers.push(rounded);
            }
            ensure!(
                got == wanted,
                "the file ends after {} of its {rows}×{columns} numbers: copy or download it again",
                numbers.len()
            );
        }
        let after = fill(&mut file, &mut batch[..1])?;
        ensure!(
            after == 0,
            "the file goes on after its {rows}×{columns} numbers"
        );
        Ok(Stored {
            rows: Array2::from_shape_vec(shape, numbers).with_context(too_large)?,
            is_fortran,
            type_name: decode.name,
        })
    }
}

impl<T: Number> Stored<T> {
    /// Returns the matrix, whichever way it lies in the file.
    pub fn view(&self) -> ArrayView2<'_, T> {
        match self.is_fortran {
            false => self.rows.view(),
            true => self.rows.t(),
        }
    }
}

fn cannot_read(path: &Path) -> String {
    format!("cannot read {}", path.display())
}

/// Reads the header, which is checked before it is parsed.
fn read_header(file: &mut impl Read) -> Result<Header> {
    // The magic string, the version, and the length in as many bytes as the version says.
    let mut bytes = Vec::new();
    file.by_ref().take(10).read_to_end(&mut bytes)?;
    if bytes.get(6).is_some_and(|&version| version > 1) {
        file.by_ref().take(2).read_to_end(&mut bytes)?;
    }
    let start = bytes.len();
    let length = match bytes.get(8..) {
        Some(&[a, b]) => usize::from(u16::from_le_bytes([a, b])),
        Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]) as usize,
        // The file ends here.
        _ => 0,
    };
    // The parser refuses other files and versions.
    if bytes.starts_with(b"\x93NUMPY") && matches!(bytes.get(6), Some(1..=3)) {
        ensure!(
            length <= LONGEST_HEADER,
            "its header has {length} bytes, more than {LONGEST_HEADER}: write the matrix with \
             numpy.save, as numbers of one type"
        );
        file.by_ref().take(length as u64).read_to_end(&mut bytes)?;
        let is_bracket = |byte: &&u8| b"([{".contains(byte);
        let brackets = bytes[start..].iter().filter(is_bracket).count();
        ensure!(
            brackets <= MOST_BRACKETS,
            "its header has {brackets} opening brackets, which that of a matrix does not have: write \
             the matrix with numpy.save, as numbers of one type"
        );
    }
    Header::from_reader(&mut bytes.as_slice()).map_err(said)
}

/// An error of the header as a sentence.
fn said(error: ReadHeaderError) -> anyhow::Error {
    match error {
        // Errors of decompression say themselves where the file ends.
        ReadHeaderError::Io(error) if is_end(&error) && error.get_ref().is_none() => {
            anyhow!("the file ends within its header: copy or download it again")
        }
        ReadHeaderError::Io(error) => error.into(),
        // What it says itself has several lines.
        ReadHeaderError::Parse(ParseHeaderError::DictParse(_)) => {
            anyhow!("it is not an NPY file: the header is not a dictionary as Python writes it")
        }
        ReadHeaderError::Parse(error) => anyhow!("it is not an NPY file: {error}"),
    }
}

fn is_end(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::UnexpectedEof
}

/// Reads until the buffer is full or the file ends, and tells how many bytes there were.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(filled)
}

/// NumPy's letters for real numbers.
const REAL: [char; 4] = ['b', 'i', 'u', 'f'];

/// How numbers lie in a file.
struct Decoder {
    name: &'static str,
    size: usize,
    is_big_endian: bool,
}

impl Decoder {
    fn new(header: &Header) -> Result<Decoder> {
        let (name, size, is_big_endian) = match header.type_descriptor.as_string() {
            Some(text) if text == "<f4" => ("f32", 4, false),
            Some(text) if text == "<f8" => ("f64", 8, false),
            Some(text) if text == ">f4" => ("f32", 4, true),
            Some(text) if text == ">f8" => ("f64", 8, true),
            Some(text) if text.trim_start_matches(['<', '>', '|']).starts_with(REAL) => bail!(
                "it holds numbers of the type '{text}', not f32 or f64: convert the array by \
                 .astype('float32')"
            ),
            _ => bail!(
                "it holds numbers of the type {}, not f32 or f64",
                header.type_descriptor
            ),
        };
        Ok(Decoder {
            name,
            size,
            is_big_endian,
        })
    }

    /// The number that the `size` bytes are.
    fn number(&self, bytes: &[u8]) -> f64 {
        let mut padded = [0; 8];
        for (to, from) in padded.iter_mut().zip(0..self.size) {
            *to = match self.is_big_endian {
                false => bytes[from],
                true => bytes[self.size - 1 - from],
            };
        }
        let bits = u64::from_le_bytes(padded);
        match self.size {
            4 => f32::from_bits(bits as u32).into(),
            _ => f64::from_bits(bits),
        }
    }
}
