//! Matrices in NumPy's format.

use std::io::Seek;
use std::marker::PhantomData;
use std::path::Path;

use anyhow::Result;
use gridstride::device::Element;
use ndarray::ArrayView2;

use super::OutputFile;

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
        self.file.write_all(bytes)
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
