//! Files that appear whole or not at all.

use std::io::{Seek, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use gridstride::tensor_sketch::Real;
use ndarray::{Array2, ArrayView2};
use tempfile::{Builder, NamedTempFile};

/// A file that takes the place of what has its name once it is complete; dropped before, it leaves
/// nothing behind.
pub struct OutputFile {
    path: PathBuf,
    temporary: NamedTempFile,
}

impl OutputFile {
    /// Begins a file.
    pub fn create(path: &Path) -> Result<OutputFile> {
        let create = || {
            // A pipe or a device would be replaced by the new file.
            if path.exists() && !path.is_file() {
                bail!("it is not a file");
            }
            let folder = path.parent().filter(|folder| *folder != Path::new(""));
            Ok(OutputFile {
                path: path.into(),
                temporary: builder().tempfile_in(folder.unwrap_or(Path::new(".")))?,
            })
        };
        create().with_context(|| cannot_write(path))
    }

    /// Writes the square `values`, tab-separated, with `names` as the first row and column.
    pub fn write_table(self, names: &[String], values: &Array2<f64>) -> Result<()> {
        let write = || -> Result<()> {
            let mut table = csv::WriterBuilder::new()
                .delimiter(b'\t')
                .from_writer(self.temporary.as_file());
            table.write_record([""].into_iter().chain(names.iter().map(String::as_str)))?;
            for (name, row) in names.iter().zip(values.outer_iter()) {
                table.write_field(name)?;
                table.write_record(row.iter().map(f64::to_string))?;
            }
            Ok(table.flush()?)
        };
        write().with_context(|| cannot_write(&self.path))?;
        self.publish()
    }

    /// Puts the file in its place, on the disk for good.
    fn publish(self) -> Result<()> {
        let publish = || -> Result<()> {
            self.temporary.as_file().sync_all()?;
            self.temporary.persist(&self.path)?;
            Ok(())
        };
        publish().with_context(|| cannot_write(&self.path))
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// A matrix in numpy's format, to which rows are added as they come: its number of rows is written
/// into the header at the end.
pub struct NpyFile<T> {
    file: OutputFile,
    rows: usize,
    dim: usize,
    element: PhantomData<T>,
}

impl<T: Real> NpyFile<T> {
    /// Begins with no rows.
    pub fn create(path: &Path, dim: usize) -> Result<NpyFile<T>> {
        let mut npy = NpyFile {
            file: OutputFile::create(path)?,
            rows: 0,
            dim,
            element: PhantomData,
        };
        npy.write(npy.header().as_slice())?;
        Ok(npy)
    }

    /// Adds rows, N×D.
    pub fn add(&mut self, rows: ArrayView2<T>) -> Result<()> {
        self.rows += rows.nrows();
        let rows = rows.as_standard_layout();
        let numbers = rows.as_slice().expect("rows in standard layout");
        self.write(bytemuck::cast_slice(numbers))
    }

    /// Completes the file.
    pub fn finish(mut self) -> Result<()> {
        let rewind = self.file.temporary.rewind();
        rewind.with_context(|| cannot_write(&self.file.path))?;
        self.write(self.header().as_slice())?;
        self.file.publish()
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.temporary.write_all(bytes);
        written.with_context(|| cannot_write(&self.file.path))
    }

    /// Version 1.0 of the format: 128 bytes, whatever the number of rows.
    fn header(&self) -> Vec<u8> {
        const SIZE: usize = 128;
        let order = if cfg!(target_endian = "little") {
            '<'
        } else {
            '>'
        };
        let (bytes, rows, dim) = (size_of::<T>(), self.rows, self.dim);
        let description = format!(
            "{{'descr': '{order}f{bytes}', 'fortran_order': False, 'shape': ({rows}, {dim}), }}"
        );
        let mut header = b"\x93NUMPY\x01\x00".to_vec();
        let length = SIZE - header.len() - 2;
        header.extend((length as u16).to_le_bytes());
        header.extend(format!("{description:<0$}\n", length - 1).bytes());
        header
    }
}

/// Temporary files beside the result, with the permissions of any new file.
fn builder() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".tensor_sketch-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder
}
