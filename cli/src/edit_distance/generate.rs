//! Data to try: random sequences, and the same after random edits.

use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use checks::random::Random;
use files::memory::room_for;
use program::output::{Format, OutputFile, check_outputs};
use program::progress;
use program::report::{self, UsageError};
use rayon::prelude::*;

use super::args::Args;
use super::records::pairs_of_group;
use crate::common::generated::{Generated, refuse_existing};

const LETTERS: &[u8; 4] = b"ACGT";

/// Letters of a line.
const LINE: usize = 80;

/// Letters of the sequences that are made in one go by all threads, unless a group has more.
const WAVE: u64 = 1 << 24;

/// Bytes that are written to a file together.
const BUFFER: usize = 1 << 16;

/// The default number of sequences of a group.
const GROUP: usize = 2;

/// Writes the sequences of `count` groups to one file, or all pairs within the groups to two.
pub fn run(args: &Args, count: usize) -> Result<()> {
    let group = args.group.unwrap_or(GROUP);
    let (per_group, rows) = match args.b {
        Some(_) => (group * (group - 1) / 2, "pairs"),
        None => (group, "sequences"),
    };
    let Some(records) = count.checked_mul(per_group) else {
        bail!(UsageError(format!(
            "{count} groups of {per_group} {rows} are more than can be counted: choose a smaller --generate or --group"
        )));
    };
    let paths: Vec<&Path> = args.files().map(PathBuf::as_path).collect();
    let outputs = [
        ("A.fa", Some(&*args.a), Format::Fasta),
        ("B.fa", args.b.as_deref(), Format::Fasta),
    ];
    check_outputs(&outputs, &[])?;
    refuse_existing(&paths, args.force)?;
    let files = paths.iter().map(|path| OutputFile::create(path));
    let mut files = files.collect::<Result<Vec<_>>>()?;
    // Half of the letters may be deleted.
    let bytes = records as f64 * args.length as f64 * 0.5;
    for file in &mut files {
        file.require_space(bytes, "choose a smaller --generate, --group or --length")?;
    }
    let bar = progress::count("writing", count as u64, "groups");
    let letters = (group as u64).saturating_mul(args.length);
    let together = (WAVE / letters).max(1) as usize;
    for first in (0..count).step_by(together) {
        let wave = first..count.min(first.saturating_add(together));
        let groups = wave.into_par_iter().map(|i| group_records(args, group, i));
        let groups = groups.collect::<Result<Vec<_>>>().with_context(|| {
            format!(
                "cannot hold a group of {group} sequences of {} letters in memory: choose a smaller --length or --group",
                args.length
            )
        })?;
        write_groups(&mut files, &groups)?;
        bar.inc(groups.len() as u64);
    }
    bar.finish_and_clear();
    files.into_iter().try_for_each(OutputFile::publish)?;
    let files: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    report::show(&Generated {
        rows: records as u64,
        text: format!(
            "{records} {rows} of about {} letters in {}",
            args.length,
            files.join(" and ")
        ),
        files,
        seed: args.seed,
    })
}

/// Returns the records of a group of `size` sequences, as text.
fn group_records(args: &Args, size: usize, group: usize) -> Result<Vec<Vec<u8>>> {
    let mut random = Random::new(args.seed, group as u64);
    let mut sequences = vec![sequence(args.length as usize, &mut random)?];
    for i in 1..size {
        let rate = args.rates.least + (args.rates.most - args.rates.least) * random.unit();
        let parent = &sequences[args.shape.parent(i)];
        sequences.push(edited(parent, rate, &mut random)?);
    }
    let sequences = sequences.into_iter().enumerate();
    let record = |(i, sequence): (usize, Vec<u8>)| record(&format!("{group}.{i}"), &sequence);
    sequences.map(record).collect()
}

fn record(name: &str, sequence: &[u8]) -> Result<Vec<u8>> {
    let lines = sequence.len().div_ceil(LINE);
    let mut text = room_for(name.len() + 2 + sequence.len() + lines)?;
    writeln!(text, ">{name}").expect("memory takes all");
    for line in sequence.chunks(LINE) {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    Ok(text)
}

/// Writes the records of groups to one file, or those of all pairs within the groups to two. A
/// record is in memory once, however many pairs have it.
fn write_groups(files: &mut [OutputFile], groups: &[Vec<Vec<u8>>]) -> Result<()> {
    let [a, b] = files else {
        let write = |file: &mut OutputFile| write_all(file, groups.iter().flatten());
        return files.iter_mut().try_for_each(write);
    };
    let pairs = || {
        groups.iter().flat_map(|records| {
            let pairs = pairs_of_group(records.len());
            pairs.map(move |pair| (records, pair))
        })
    };
    write_all(a, pairs().map(|(records, (i, _))| &records[i]))?;
    write_all(b, pairs().map(|(records, (_, j))| &records[j]))
}

fn write_all<'a>(file: &mut OutputFile, records: impl Iterator<Item = &'a Vec<u8>>) -> Result<()> {
    file.write(|file| {
        let mut file = BufWriter::with_capacity(BUFFER, file);
        for record in records {
            file.write_all(record)?;
        }
        Ok(file.flush()?)
    })
}

fn sequence(length: usize, random: &mut Random) -> Result<Vec<u8>> {
    let mut sequence = room_for(length)?;
    sequence.extend((0..length).map(|_| letter(0..4, random)));
    Ok(sequence)
}

/// Returns one of some letters.
fn letter(range: Range<u64>, random: &mut Random) -> u8 {
    LETTERS[(range.start + random.below(range.end - range.start)) as usize % LETTERS.len()]
}

/// Returns a sequence after edits. With probability `rate` a letter is replaced by another, is
/// deleted, or has a letter inserted before it and is asked again; each is equally likely. The
/// expected length stays the same.
fn edited(sequence: &[u8], rate: f64, random: &mut Random) -> Result<Vec<u8>> {
    // Six standard deviations of the length, and some more.
    let mut edited = room_for(sequence.len() + 8 * sequence.len().isqrt())?;
    for &own in sequence {
        loop {
            if random.unit() >= rate {
                edited.push(own);
                break;
            }
            match random.below(3) {
                0 => edited.push(letter(0..4, random)),
                1 => break,
                _ => {
                    let place = LETTERS.iter().position(|&letter| letter == own);
                    let next = place.map_or(0, |place| place as u64 + 1);
                    edited.push(letter(next..next + 3, random));
                    break;
                }
            }
        }
    }
    Ok(edited)
}

#[cfg(test)]
mod tests {
    use super::{edited, sequence};
    use crate::edit_distance::args::Shape;
    use checks::random::Random;

    #[test]
    fn sequences_descend_from_earlier_ones() {
        let parents = |shape: Shape| (1..8).map(|i| shape.parent(i)).collect::<Vec<_>>();
        assert_eq!(parents(Shape::Path), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(parents(Shape::Star), [0; 7]);
        // Three generations: 4 of 0, then 2 of 0 and 6 of 4, then all odd ones.
        assert_eq!(parents(Shape::Tree), [0, 0, 2, 0, 4, 4, 6]);
    }

    #[test]
    fn rates_are_kept() {
        let random = &mut Random::new(1, 2);
        let original = sequence(30_000, random).unwrap();
        assert_eq!(edited(&original, 0.0, random).unwrap(), original);
        for rate in [0.1, 0.5, 1.0] {
            let edited = edited(&original, rate, random).unwrap();
            // Insertions and deletions are about a third of 30 000 · rate each: six standard
            // deviations of their difference.
            let bound = 6.0 * (2.0 * 30_000.0 * rate / 3.0f64).sqrt() * 1.5;
            let change = edited.len() as f64 - original.len() as f64;
            assert!(change.abs() < bound, "{rate}: {change}");
        }
    }

    /// A single letter is left of one after a substitution, or after an insertion and a deletion:
    /// 1/3 + 1/9. It is the same letter only if that was inserted: 1/36. Bounds are six standard
    /// deviations.
    #[test]
    fn substitutions_change_letters() {
        const TIMES: usize = 3600;
        let random = &mut Random::new(3, 4);
        let (mut left, mut same) = (0, 0);
        for _ in 0..TIMES {
            let edited = edited(b"G", 1.0, random).unwrap();
            left += usize::from(edited.len() == 1);
            same += usize::from(edited == b"G");
        }
        assert!(left.abs_diff(TIMES * 4 / 9) < 180, "{left}");
        assert!(same.abs_diff(TIMES / 36) < 60, "{same}");
    }
}
