//! Matrices in NumPy's format.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::marker::PhantomData;
use std::path::Path;

use anyhow::{Context, Result, bail};
use gridstride::device::Element;
use ndarray::ArrayView2;

use super::OutputFile;
use super::space::require_temporary_space;
use crate::report::UsageError;

/// A matrix in numpy's format, to which rows are added as they come: its number of rows is written
/// into the header at the end.
pub struct NpyFile<T> {
    file: OutputFile,
    /// The rows, until their number is known, if the output cannot be written at its start again: it
    /// is compressed, or a pipe.
    spool: Option<File>,
    kind: char,
    rows: usize,
    columns: usize,
    element: PhantomData<T>,
}

impl<T: Element> NpyFile<T> {
    /// Begins with no rows. `kind` is numpy's letter for the kind of numbers that `T` is: f or i.
    pub fn create(path: &Path, kind: char, columns: usize) -> Result<NpyFile<T>> {
        let mut file = OutputFile::create(path)?;
        if file.sink.is_terminal() {
            bail!(UsageError(
                "standard output is a terminal, which cannot show NPY: redirect it, or name a file"
                    .into()
            ));
        }
        let spool = match file.plain_file() {
            Some(_) => None,
            None => Some(tempfile::tempfile().context("there is no room for a temporary file")?),
        };
        let mut npy = NpyFile {
            file,
            spool,
            kind,
            rows: 0,
            columns,
            element: PhantomData,
        };
        if npy.spool.is_none() {
            npy.file.write_all(&npy.header())?;
        }
        Ok(npy)
    }

    /// Returns an error if the disk has no space for a matrix of `rows` rows. `remedy` says how the
    /// matrix becomes smaller.
    pub fn require_space(&mut self, rows: usize, remedy: &str) -> Result<()> {
        let bytes = rows as f64 * self.columns as f64 * size_of::<T>() as f64;
        match &self.spool {
            Some(spool) => require_temporary_space(spool, bytes, remedy),
            None => self.file.require_space(bytes, remedy),
        }
    }

    /// Adds rows, N×columns.
    pub fn add(&mut self, rows: ArrayView2<T>) -> Result<()> {
        self.rows += rows.nrows();
        let rows = rows.as_standard_layout();
        let numbers = rows.as_slice().expect("rows in standard layout");
        let bytes = bytemuck::cast_slice(numbers);
        match &mut self.spool {
            Some(spool) => spool
                .write_all(bytes)
                .context("cannot write a temporary file"),
            None => self.file.write_all(bytes),
        }
    }

    /// Completes the file.
    pub fn finish(mut self) -> Result<()> {
        let header = self.header();
        match self.spool.take() {
            Some(mut spool) => {
                self.file.write_all(&header)?;
                self.file.write(|file| {
                    spool.rewind()?;
                    io::copy(&mut spool, file)?;
                    Ok(())
                })?;
            }
            None => {
                let file = self.file.plain_file();
                file.expect("only plain files have no spool").rewind()?;
                self.file.write_all(&header)?;
            }
        }
        self.file.publish()
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
