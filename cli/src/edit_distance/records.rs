//! The sequences of both files.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail};
use gridstride::sequences::Sequences;
use indicatif::ProgressBar;

use super::args::Args;
use crate::common::progress::{self, total_size};
use crate::common::report::warn;
use crate::tensor_sketch::fasta::Sequence;
use crate::tensor_sketch::fasta_file::read_records;

/// Returns all pairs of a group of `size` sequences, as indices within the group.
pub fn pairs_of_group(size: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..size).flat_map(move |i| (i + 1..size).map(move |j| (i, j)))
}

/// The records of a file.
#[derive(Default)]
pub struct Records {
    pub names: Vec<String>,
    pub sequences: Sequences,
    /// Characters that were left out.
    skipped: u64,
}

/// Pairs of records: those with the same index.
pub struct Pairs {
    pub a: Records,
    pub b: Records,
}

impl Pairs {
    /// Reads the pairs of both files, or those within the groups of one.
    ///
    /// # Errors
    /// If the files do not have equally many records, if the records of a single file do not divide
    /// into groups, if a record cannot be read, or if the memory does not suffice for all pairs.
    pub fn read(args: &Args) -> Result<Pairs> {
        let bar = progress::bytes("reading", total_size(args.files()));
        let read = Arc::default();
        let records = args
            .files()
            .map(|path| Records::read(args, path, &read, &bar));
        let mut records = records.collect::<Result<Vec<_>>>()?.into_iter();
        bar.finish_and_clear();
        let a = records.next().expect("the file A.fa");
        let mut skipped = a.skipped;
        let pairs = match (records.next(), &args.b) {
            (Some(b), Some(path)) => {
                skipped += b.skipped;
                let (count_a, count_b) = (a.names.len(), b.names.len());
                if count_a != count_b {
                    bail!(
                        "{} has {count_a} records and {} has {count_b}: record i of one file is compared with \
                         record i of the other, so give files of equally many records",
                        args.a.display(),
                        path.display()
                    );
                }
                Pairs { a, b }
            }
            _ => Pairs::of_groups(&a, args)?,
        };
        if skipped > 0 {
            warn(&format!(
                "{skipped} characters are not in the alphabet and were skipped: the distances are \
                 those of the sequences without them"
            ));
        }
        Ok(pairs)
    }

    /// Returns all pairs within the groups of consecutive records.
    fn of_groups(records: &Records, args: &Args) -> Result<Pairs> {
        let (count, path) = (records.names.len(), args.a.display());
        let size = args.group.unwrap_or(count);
        if count < 2 {
            bail!(
                "{path} has {count} records, and no pairs: give two files, or one of more records"
            );
        }
        if count % size != 0 {
            bail!(
                "{path} has {count} records, which are no whole groups of {size}: choose a --group that divides \
                 their number"
            );
        }
        let mut pairs = Pairs {
            a: Records::default(),
            b: Records::default(),
        };
        for first in (0..count).step_by(size) {
            for (i, j) in pairs_of_group(size) {
                let add = pairs.a.copy(records, first + i);
                add.and_then(|()| pairs.b.copy(records, first + j))
                    .with_context(|| {
                        format!(
                            "cannot hold the {} pairs of {path} in memory: choose a smaller --group, or a file of \
                             fewer records",
                            count / size * (size * (size - 1) / 2)
                        )
                    })?;
            }
        }
        Ok(pairs)
    }

    pub fn count(&self) -> usize {
        self.a.names.len()
    }

    /// Returns the numbers of letters of the sequences of a pair.
    pub fn lengths(&self, pair: usize) -> [usize; 2] {
        [&self.a, &self.b].map(|records| records.length(pair))
    }

    /// Returns the letters of all sequences.
    pub fn letters(&self) -> u64 {
        let letters = [&self.a, &self.b].map(|records| records.sequences.total_length() as u64);
        letters.iter().sum()
    }

    /// Returns the entries of the tables of all edit distances: the products of the lengths.
    pub fn cells(&self) -> f64 {
        let cells = |pair| -> f64 {
            self.lengths(pair)
                .map(|length| length as f64)
                .iter()
                .product()
        };
        (0..self.count()).map(cells).sum()
    }
}

impl Records {
    fn read(args: &Args, path: &Path, read: &Arc<AtomicU64>, bar: &ProgressBar) -> Result<Records> {
        let (alphabet, unknown) = (args.alphabet.alphabet(), args.unknown.unknown());
        let mut records = Records::default();
        let (mut codes, mut offsets) = (Vec::new(), vec![0]);
        read_records(
            path,
            alphabet,
            unknown,
            read.clone(),
            |letters, sequence| {
                bar.set_position(read.load(Ordering::Relaxed));
                codes.extend_from_slice(letters);
                if let Sequence::Ended(record) = sequence {
                    offsets.push(codes.len());
                    records.skipped += record.skipped;
                    records.names.push(record.name);
                }
            },
        )?;
        records.sequences = Sequences::from_concatenated(codes, offsets)?;
        Ok(records)
    }

    /// Appends a record of other ones.
    fn copy(&mut self, others: &Records, index: usize) -> gridstride::Result<()> {
        let codes = others.sequences.get(index).expect("a record");
        self.sequences.push(codes)?;
        self.names.push(others.names[index].clone());
        Ok(())
    }

    pub fn length(&self, index: usize) -> usize {
        let offsets = self.sequences.offsets();
        offsets[index + 1] - offsets[index]
    }
}
