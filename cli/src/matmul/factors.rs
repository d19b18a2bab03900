//! A and B.

use std::path::Path;

use anyhow::{Result, bail};
use checks::matmul::{Real, matrix};
use files::npy::NpyReader;
use gridstride::device::{DeviceArray, DeviceView};
use gridstride::{Choice, Device};
use half::{bf16, f16};
use ndarray::{Array2, ArrayView2, Ix2};
use program::progress;

use super::args::Args;
use crate::common::host::free_memory;
use crate::common::number_type::NumberType;

/// The matrices in the type in which they are multiplied.
pub enum AnyFactors {
    F32(Factors<f32>),
    F64(Factors<f64>),
    F16(Factors<f16>),
    Bf16(Factors<bf16>),
}

/// The matrices that are multiplied.
pub struct Factors<T> {
    pub a: Factor<T>,
    pub b: Factor<T>,
}

/// A matrix, which may be the transpose of what is stored.
pub struct Factor<T> {
    stored: Array2<T>,
    is_transposed: bool,
    /// The source of the factor, for the summary.
    pub origin: String,
}

impl AnyFactors {
    /// Reads the matrices, or makes them, in the type that is asked for or in that of the files.
    pub fn new(args: &Args) -> Result<AnyFactors> {
        let (Some(a), Some(b)) = (&args.a, &args.b) else {
            return AnyFactors::in_type(args, args.number.unwrap_or(NumberType::F32), None);
        };
        progress::reading([a, b], |monitor| {
            let files = [NpyReader::open(a, monitor)?, NpyReader::open(b, monitor)?];
            let [a, b] = files.each_ref().map(NpyReader::type_name);
            let common = NumberType::of_name(a).filter(|_| a == b);
            let of_files = common.unwrap_or(NumberType::F64);
            AnyFactors::in_type(args, args.number.unwrap_or(of_files), Some(files))
        })
    }

    fn in_type(
        args: &Args,
        number: NumberType,
        files: Option<[NpyReader; 2]>,
    ) -> Result<AnyFactors> {
        Ok(match number {
            NumberType::F32 | NumberType::Tf32 | NumberType::F32ByBf16x6 => {
                AnyFactors::F32(Factors::new(args, files)?)
            }
            NumberType::F16 => AnyFactors::F16(Factors::new(args, files)?),
            NumberType::Bf16 => AnyFactors::Bf16(Factors::new(args, files)?),
            _ => AnyFactors::F64(Factors::new(args, files)?),
        })
    }
}

impl<T: Real> Factors<T> {
    /// Reads the matrices of files whose headers have been read, or makes them.
    fn new(args: &Args, files: Option<[NpyReader; 2]>) -> Result<Factors<T>> {
        if let (Some(a), Some(b), Some([file_a, file_b])) = (&args.a, &args.b, files) {
            let turned = |(rows, columns), transposed| match transposed {
                false => (rows, columns),
                true => (columns, rows),
            };
            let shape_a = turned(file_a.dim(), args.trans_a);
            require_memory::<T>(shape_a, turned(file_b.dim(), args.trans_b))?;
            return Ok(Factors {
                a: Factor::read(a, file_a, args.trans_a)?,
                b: Factor::read(b, file_b, args.trans_b)?,
            });
        }
        let [m, k, n] = args.sizes();
        require_memory::<T>((m, k), (k, n))?;
        Ok(Factors {
            a: Factor::random(args.seed, 0, (m, k), args.trans_a)?,
            b: Factor::random(args.seed, 1, (k, n), args.trans_b)?,
        })
    }

    /// m, k and n, if the shapes fit.
    pub fn sizes(&self) -> [usize; 3] {
        let ((m, k), (_, n)) = (self.a.view().dim(), self.b.view().dim());
        [m, k, n]
    }
}

/// Refuses matrices that the free memory cannot hold together with their product, before the first
/// of them is made.
fn require_memory<T: Real>((m, k): (usize, usize), (l, n): (usize, usize)) -> Result<()> {
    let numbers = |rows: usize, columns: usize| rows as f64 * columns as f64;
    let needed = size_of::<T>() as f64 * (numbers(m, k) + numbers(l, n))
        + size_of::<T::Sum>() as f64 * numbers(m, n);
    let gib = |bytes: f64| bytes / f64::from(1 << 30);
    match free_memory() {
        Some(free) if needed > free as f64 => bail!(
            "A ({m}×{k}), B ({l}×{n}) and C ({m}×{n}) need {:.1} GiB of the host's memory, of which \
             {:.1} GiB are free: multiply smaller matrices, or free some memory",
            gib(needed),
            gib(free as f64)
        ),
        _ => Ok(()),
    }
}

impl<T: Real> Factor<T> {
    fn read(path: &Path, file: NpyReader, transposed: bool) -> Result<Factor<T>> {
        let stored = file.read::<T>()?;
        let mut origin = format!("{} in {}", stored.type_name, path.display());
        if stored.type_name == "f64" && T::NAME != "f64"
            || stored.type_name != T::NAME && T::NAME.ends_with("16")
        {
            origin += &format!(", rounded to {}", T::NAME);
        }
        if transposed {
            origin += ", read transposed";
        }
        Ok(Factor {
            stored: stored.rows,
            is_transposed: transposed != stored.is_fortran,
            origin,
        })
    }

    /// A random factor, which has the shape after it is transposed.
    fn random(
        seed: u64,
        stream: u64,
        (rows, columns): (usize, usize),
        transposed: bool,
    ) -> Result<Factor<T>> {
        let (shape, how) = match transposed {
            false => ((rows, columns), ""),
            true => ((columns, rows), ", read transposed"),
        };
        Ok(Factor {
            stored: matrix(seed, stream, shape)?,
            is_transposed: transposed,
            origin: format!("random from seed {seed}{how}"),
        })
    }

    /// The matrix.
    pub fn view(&self) -> ArrayView2<'_, T> {
        match self.is_transposed {
            false => self.stored.view(),
            true => self.stored.t(),
        }
    }

    /// Copies the matrix to a device as it is stored.
    pub fn upload(&self, device: &Device) -> gridstride::Result<DeviceArray<T, Ix2>> {
        device.upload(&self.stored)
    }

    /// The matrix there.
    pub fn view_of<'a>(&self, uploaded: &'a DeviceArray<T, Ix2>) -> DeviceView<'a, T, Ix2> {
        match self.is_transposed {
            false => uploaded.view(),
            true => uploaded.view().t(),
        }
    }
}
