//! The sequences of both files.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, bail};
use gridstride::sequences::Sequences;
use indicatif::ProgressBar;

use super::args::Args;
use crate::common::progress::{self, total_size};
use crate::common::report::warn;
use crate::tensor_sketch::fasta::Sequence;
use crate::tensor_sketch::fasta_file::read_records;

/// The records of a file.
#[derive(Default)]
pub struct Records {
    pub names: Vec<String>,
    pub sequences: Sequences,
    /// Characters that were left out.
    skipped: u64,
}

/// Pairs of records with the same index.
pub struct Pairs {
    pub a: Records,
    pub b: Records,
}

impl Pairs {
    /// Reads both files.
    ///
    /// # Errors
    /// If they do not have equally many records, or if a record cannot be read.
    pub fn read(args: &Args) -> Result<Pairs> {
        let bar = progress::bytes("reading", total_size([&args.a, &args.b]));
        let read = Arc::default();
        let a = Records::read(args, &args.a, &read, &bar)?;
        let b = Records::read(args, &args.b, &read, &bar)?;
        bar.finish_and_clear();
        let (count_a, count_b) = (a.names.len(), b.names.len());
        if count_a != count_b {
            bail!(
                "{} has {count_a} records and {} has {count_b}: record i of one file is compared with \
                 record i of the other, so give files of equally many records",
                args.a.display(),
                args.b.display()
            );
        }
        let skipped = a.skipped + b.skipped;
        if skipped > 0 {
            warn(&format!(
                "{skipped} characters are not in the alphabet and were skipped: the distances are \
                 those of the sequences without them"
            ));
        }
        Ok(Pairs { a, b })
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

    pub fn length(&self, index: usize) -> usize {
        let offsets = self.sequences.offsets();
        offsets[index + 1] - offsets[index]
    }
}
