//! The records of the files, and their pairs.

use std::path::Path;

use anyhow::{Context, Result, bail};
use files::Monitor;
use files::memory::{make_room, room_for};
use gridstride::sequences::{Alphabet, Sequences};
use program::progress;
use program::report::warn;
use program::sequences::{letters, read_records};

use super::args::Args;

/// Returns all pairs of a group of `size` sequences, as indices within the group.
pub fn pairs_of_group(size: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..size).flat_map(move |i| (i + 1..size).map(move |j| (i, j)))
}

/// Returns the records of a group, if those of A.fa are whole groups with pairs.
fn checked_group(count: usize, args: &Args) -> Result<usize> {
    let (path, size) = (args.a.display(), args.group.unwrap_or(count));
    if count < 2 {
        bail!("{path} has {count} records, and no pairs: give two files, or one of more records");
    }
    if !count.is_multiple_of(size) {
        bail!(
            "{path} has {count} records, which are no whole groups of {size}: choose a --group that divides \
             their number"
        );
    }
    Ok(size)
}

/// The records of a file.
#[derive(Default)]
pub struct Records {
    pub names: Vec<String>,
    pub sequences: Sequences,
    /// Characters that were left out.
    skipped: u64,
}

/// Pairs of records. A record is in memory once, however many pairs have it.
pub struct Pairs {
    /// The records of A.fa.
    pub a: Records,
    /// The records of B.fa, if there is this file.
    pub b: Option<Records>,
    /// For each pair a record of A.fa, and one of B.fa, or else a second one of A.fa.
    pub indices: Vec<[usize; 2]>,
    /// Consecutive records of a file whose pairs come together, and have no other records. With
    /// B.fa 1: the pairs of record i are pair i alone.
    pub group: usize,
}

impl Pairs {
    /// Reads the pairs of both files, or those within the groups of one.
    ///
    /// # Errors
    /// If the files do not have equally many records, if the records of a single file do not divide
    /// into groups, if a record cannot be read, or if the memory does not suffice for all pairs.
    pub fn read(args: &Args) -> Result<Pairs> {
        let records = progress::reading(args.files(), |monitor| {
            let records = args.files().map(|path| Records::read(args, path, monitor));
            records.collect::<Result<Vec<_>>>()
        });
        let mut records = records?.into_iter();
        let a = records.next().expect("the file A.fa");
        let b = records.next();
        let skipped = a.skipped + b.as_ref().map_or(0, |b| b.skipped);
        let group = match (&b, &args.b) {
            (Some(b), Some(path)) => {
                let (count_a, count_b) = (a.names.len(), b.names.len());
                if count_a != count_b {
                    bail!(
                        "{} has {count_a} records and {} has {count_b}: record i of one file is compared with \
                         record i of the other, so give files of equally many records",
                        args.a.display(),
                        path.display()
                    );
                }
                1
            }
            _ => checked_group(a.names.len(), args)?,
        };
        let pairs = Pairs {
            indices: Pairs::all_indices(a.names.len(), group, args)?,
            group,
            a,
            b,
        };
        if skipped > 0 {
            warn(&format!(
                "{skipped} characters are not in the alphabet and were skipped: the distances are \
                 those of the sequences without them"
            ));
        }
        Ok(pairs)
    }

    /// Returns the records of all pairs: each record with itself in groups of 1, else all pairs
    /// within the groups of consecutive records.
    fn all_indices(count: usize, group: usize, args: &Args) -> Result<Vec<[usize; 2]>> {
        let pairs = match group {
            1 => count,
            _ => (count / group).saturating_mul(group.saturating_mul(group - 1) / 2),
        };
        let mut indices = room_for(pairs).with_context(|| {
            format!(
                "cannot hold the {pairs} pairs of {} in memory: choose a smaller --group, or a file of fewer records",
                args.a.display()
            )
        })?;
        for first in (0..count).step_by(group) {
            match group {
                1 => indices.push([first; 2]),
                _ => indices.extend(pairs_of_group(group).map(|(i, j)| [first + i, first + j])),
            }
        }
        Ok(indices)
    }

    pub fn count(&self) -> usize {
        self.indices.len()
    }

    /// Returns an empty vector with room for a distance of each pair.
    pub fn room(&self) -> Result<Vec<f64>> {
        let count = self.count();
        room_for(count).with_context(|| {
            format!(
                "cannot hold the distances of {count} pairs in memory: choose a smaller --group, or files of fewer \
                 records"
            )
        })
    }

    /// Returns the records that the second ones of the pairs are of.
    pub fn second(&self) -> &Records {
        self.b.as_ref().unwrap_or(&self.a)
    }

    /// Returns the names of a pair.
    pub fn names(&self, pair: usize) -> [&str; 2] {
        let [i, j] = self.indices[pair];
        [&self.a.names[i], &self.second().names[j]]
    }

    /// Returns the numbers of letters of the sequences of a pair.
    pub fn lengths(&self, pair: usize) -> [usize; 2] {
        let [i, j] = self.indices[pair];
        [self.a.length(i), self.second().length(j)]
    }

    /// Returns the letters of the sequences of all pairs.
    pub fn letters(&self) -> u64 {
        let lengths = (0..self.count()).flat_map(|pair| self.lengths(pair));
        lengths.map(|length| length as u64).sum()
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
    fn read(args: &Args, path: &Path, monitor: &Monitor) -> Result<Records> {
        let letters = letters(&Alphabet::from(args.alphabet), args.unknown);
        let mut records = Records::default();
        let (mut codes, mut offsets) = (Vec::new(), vec![0]);
        read_records(path, letters, monitor, |piece| {
            make_room(&mut codes, piece.letters.len(), "letters")?;
            codes.extend_from_slice(piece.letters);
            if piece.is_last {
                make_room(&mut offsets, 1, "records")?;
                make_room(&mut records.names, 1, "records")?;
                offsets.push(codes.len());
                records.skipped += piece.record.skipped();
                records.names.push(piece.record.name().into_owned());
            }
            Ok(())
        })?;
        records.sequences = Sequences::from_concatenated(codes, offsets)?;
        Ok(records)
    }

    /// Returns the codes of a record.
    pub fn codes(&self, index: usize) -> &[u8] {
        let offsets = self.sequences.offsets();
        &self.sequences.codes()[offsets[index]..offsets[index + 1]]
    }

    pub fn length(&self, index: usize) -> usize {
        let offsets = self.sequences.offsets();
        offsets[index + 1] - offsets[index]
    }
}
