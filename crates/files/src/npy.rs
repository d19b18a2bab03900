//! Matrices from NumPy's files.
//!
//! The numbers are read as they come, so that a header that promises more than there is costs no memory.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use gridstride::Number;
use half::{bf16, f16};
use ndarray::{Array2, ArrayView2};

use self::header::Header;
use crate::text::shortened;
use crate::{Monitor, cannot_read, open};

mod header;

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
        let header = Header::read(&mut file)?;
        let &[rows, columns] = header.shape.as_slice() else {
            bail!(
                "it holds an array with {} axes, {}, not a matrix",
                header.shape.len(),
                shortened(&format!("{:?}", header.shape), SHOWN)
            );
        };
        Ok(NpyReader {
            path: path.to_owned(),
            file,
            decode: Decoder::new(&header)?,
            rows,
            columns,
            is_fortran: header.is_fortran,
        })
    }

    /// Returns the rows and columns that the header has.
    pub fn dim(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Returns the type of the numbers in the file.
    pub fn type_name(&self) -> &'static str {
        self.decode.name()
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
            let wanted = ((count - numbers.len()).saturating_mul(decode.size())).min(BATCH);
            let got = fill(&mut file, &mut batch[..wanted])?;
            let whole = got / decode.size();
            let no_memory =
                || format!("there is no memory for {rows}×{columns} numbers: free some memory");
            numbers.try_reserve(whole).with_context(no_memory)?;
            decode.decode(&batch[..got], |number| {
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
                Ok(())
            })?;
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
            type_name: decode.name(),
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

/// Characters of a file that a message shows.
const SHOWN: usize = 60;

/// Types of numbers in a file.
#[derive(Clone, Copy)]
enum Kind {
    F16,
    Bf16,
    F32,
    F64,
}

/// The form of numbers in a file.
struct Decoder {
    kind: Kind,
    is_big_endian: bool,
}

impl Decoder {
    fn new(header: &Header) -> Result<Decoder> {
        const POSSIBLE: &str = "not f16, bf16, f32 or f64";
        let (kind, is_big_endian) = match header.type_name() {
            Some("<f2") => (Kind::F16, false),
            Some(">f2") => (Kind::F16, true),
            // As ml_dtypes, and with it JAX, writes bfloat16, for which NumPy has no letter.
            Some("<V2" | "|V2") => (Kind::Bf16, false),
            Some(">V2") => (Kind::Bf16, true),
            Some("<f4") => (Kind::F32, false),
            Some(">f4") => (Kind::F32, true),
            Some("<f8") => (Kind::F64, false),
            Some(">f8") => (Kind::F64, true),
            Some(text @ ("<f12" | ">f12" | "<f16" | ">f16")) => bail!(
                "it holds long doubles of {} bytes (numpy.longdouble), {POSSIBLE}: convert the array by \
                 .astype('float64')",
                &text[2..]
            ),
            Some(text) if text.trim_start_matches(['<', '>', '|']).starts_with(REAL) => {
                // f32 has all integers of up to 24 bits.
                let is_short = text.ends_with(['1', '2']);
                let wide = if is_short { "float32" } else { "float64" };
                bail!(
                    "it holds numbers of the type '{}', {POSSIBLE}: convert the array by .astype('{wide}')",
                    shortened(text, SHOWN)
                )
            }
            _ => bail!(
                "it holds numbers of the type {}, {POSSIBLE}",
                shortened(&header.descr, SHOWN)
            ),
        };
        Ok(Decoder {
            kind,
            is_big_endian,
        })
    }

    fn name(&self) -> &'static str {
        match self.kind {
            Kind::F16 => "f16",
            Kind::Bf16 => "bf16",
            Kind::F32 => "f32",
            Kind::F64 => "f64",
        }
    }

    /// Bytes of a number.
    fn size(&self) -> usize {
        match self.kind {
            Kind::F16 | Kind::Bf16 => 2,
            Kind::F32 => 4,
            Kind::F64 => 8,
        }
    }

    /// Calls `take` with each of the whole numbers of a text.
    fn decode(&self, text: &[u8], mut take: impl FnMut(f64) -> Result<()>) -> Result<()> {
        macro_rules! each {
            ($($kind:ident => $type:ty, $bits:ty;)*) => {
                match (self.kind, self.is_big_endian) {
                    $(
                        (Kind::$kind, false) => text
                            .as_chunks()
                            .0
                            .iter()
                            .map(|&bytes| <$type>::from_bits(<$bits>::from_le_bytes(bytes)).into())
                            .try_for_each(&mut take),
                        (Kind::$kind, true) => text
                            .as_chunks()
                            .0
                            .iter()
                            .map(|&bytes| <$type>::from_bits(<$bits>::from_be_bytes(bytes)).into())
                            .try_for_each(&mut take),
                    )*
                }
            };
        }
        each! {
            F16 => f16, u16;
            Bf16 => bf16, u16;
            F32 => f32, u32;
            F64 => f64, u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn open(bytes: &[u8]) -> Result<NpyReader> {
        NpyReader::new(Path::new("a.npy"), Box::new(Cursor::new(bytes.to_vec())))
    }

    /// A file of 2×2 numbers of a type of NumPy.
    fn file(descr: &str, numbers: &[u8]) -> Vec<u8> {
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (2, 2), }}\n");
        let length = (text.len() as u16).to_le_bytes();
        [&b"\x93NUMPY\x01\x00"[..], &length, text.as_bytes(), numbers].concat()
    }

    fn said(bytes: &[u8]) -> String {
        format!("{:#}", open(bytes).err().expect("an error"))
    }

    #[test]
    fn numbers_of_all_types_are_read() {
        let numbers = [1.5, -2.0, 0.0, 65504.0];
        let expected = Array2::from_shape_vec((2, 2), numbers.to_vec()).unwrap();
        let bytes = |bytes: &dyn Fn(f64) -> Vec<u8>| numbers.map(bytes).concat();
        let little = |number: f64| f16::from_f64(number).to_le_bytes().to_vec();
        let big = |number: f64| f16::from_f64(number).to_be_bytes().to_vec();
        for (descr, name, bytes) in [
            ("<f2", "f16", bytes(&little)),
            (">f2", "f16", bytes(&big)),
            (
                "<f4",
                "f32",
                bytes(&|number| (number as f32).to_le_bytes().to_vec()),
            ),
            (
                ">f4",
                "f32",
                bytes(&|number| (number as f32).to_be_bytes().to_vec()),
            ),
            ("<f8", "f64", bytes(&|number| number.to_le_bytes().to_vec())),
            (">f8", "f64", bytes(&|number| number.to_be_bytes().to_vec())),
        ] {
            let reader = open(&file(descr, &bytes)).unwrap();
            assert_eq!(reader.type_name(), name);
            assert_eq!(reader.read::<f64>().unwrap().rows, expected, "{descr}");
        }
        // As ml_dtypes has them. The last one is rounded.
        let rounded = |number: f64| bf16::from_f64(number).to_le_bytes().to_vec();
        let reader = open(&file("<V2", &bytes(&rounded))).unwrap();
        assert_eq!(reader.type_name(), "bf16");
        let found = reader.read::<bf16>().unwrap().rows;
        assert_eq!(found, expected.mapv(bf16::from_f64));
    }

    #[test]
    fn errors_say_what_the_file_is() {
        let long_double = "it holds long doubles of 16 bytes (numpy.longdouble), not f16, bf16, f32 or f64: convert \
                           the array by .astype('float64')";
        assert_eq!(said(&file("<f16", &[0; 64])), long_double);
        let csv = "it is not an NPY file: it is a text that begins with 'a;b', such as CSV; numpy.save writes NPY, for \
                   instance numpy.save('a.npy', numpy.loadtxt('a.csv', delimiter=','))";
        assert_eq!(said(b"a;b\n1;2\n"), csv);
        for (descr, wide) in [
            ("<i8", "float64"),
            (">u4", "float64"),
            ("<i2", "float32"),
            ("|b1", "float32"),
        ] {
            let said = said(&file(descr, &[0; 32]));
            assert!(
                said.ends_with(&format!("convert the array by .astype('{wide}')")),
                "{said}"
            );
        }
        let other = "it is not an NPY file, as numpy.save writes it: it begins with other bytes";
        assert_eq!(said(b"\x89HDF\r\n\x1a\n\0\0\0\0"), other);
        // Quotes are short.
        for bytes in [file(&"<i8".repeat(10_000), &[]), b"a".repeat(100_000)] {
            assert!(said(&bytes).chars().count() < 400, "{}", said(&bytes));
        }
    }
}
