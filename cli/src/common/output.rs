//! Files that appear whole or not at all.

use std::fs::File;
use std::io::{Seek, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use gridstride::device::Element;
use ndarray::ArrayView2;
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

    /// Adds to the file what `write` writes.
    pub fn write(&mut self, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
        write(self.temporary.as_file_mut()).with_context(|| cannot_write(&self.path))
    }

    /// Puts the file in its place, on the disk for good.
    pub fn publish(self) -> Result<()> {
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
    kind: char,
    rows: usize,
    columns: usize,
    element: PhantomData<T>,
}

impl<T: Element> NpyFile<T> {
    /// Begins with no rows. `kind` is numpy's letter for the kind of numbers that `T` is: f or i.
    pub fn create(path: &Path, kind: char, columns: usize) -> Result<NpyFile<T>> {
        let mut npy = NpyFile {
            file: OutputFile::create(path)?,
            kind,
            rows: 0,
            columns,
            element: PhantomData,
        };
        npy.write(npy.header().as_slice())?;
        Ok(npy)
    }

    /// Adds rows, N×columns.
    pub fn add(&mut self, rows: ArrayView2<T>) -> Result<()> {
        self.rows += rows.nrows();
        let rows = rows.as_standard_layout();
        let numbers = rows.as_slice().expect("rows in standard layout");
        self.write(bytemuck::cast_slice(numbers))
    }

    /// Completes the file.
    pub fn finish(mut self) -> Result<()> {
        self.file.write(|file| Ok(file.rewind()?))?;
        self.write(self.header().as_slice())?;
        self.file.publish()
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write(|file| Ok(file.write_all(bytes)?))
    }

    /// Version 1.0 of the format: 128 bytes, whatever the number of rows.
    fn header(&self) -> Vec<u8> {
        const SIZE: usize = 128;
        let order = if cfg!(target_endian = "little") {
            '<'
        } else {
            '>'
        };
        let (kind, bytes) = (self.kind, size_of::<T>());
        let (rows, columns) = (self.rows, self.columns);
        let description = format!(
            "{{'descr': '{order}{kind}{bytes}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
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
    builder.prefix(concat!(".", env!("CARGO_CRATE_NAME"), "-"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder
}
