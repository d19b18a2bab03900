//! Buckets as CSV.

use std::io::Write;

use anyhow::Result;
use gridstride::time_series::Aggregates;
use rayon::prelude::*;

use super::number::Number;
use super::points_file::Points;
use crate::common::output::OutputFile;
use crate::common::progress;

/// Buckets that a thread makes text of in one go, and those that are written in one go.
const BLOCK: usize = 1 << 12;
const WAVE: usize = 1 << 18;

const TAKEN: &str = "memory takes all";

/// Adds the header and a line for each bucket.
pub fn write(file: &mut OutputFile, points: &Points, found: &Aggregates) -> Result<()> {
    let mut names = vec!["timestamp".to_owned()];
    if points.names.is_some() {
        names.insert(0, "series".into());
    }
    names.extend(found.methods().iter().map(ToString::to_string));
    file.write(|file| Ok(writeln!(file, "{}", names.join(","))?))?;

    let cells: Option<Vec<_>> = points
        .names
        .as_ref()
        .map(|names| names.iter().map(|name| cell(name)).collect());
    let bar = progress::count("writing", found.len() as u64, "buckets");
    for start in (0..found.len()).step_by(WAVE) {
        let end = found.len().min(start + WAVE);
        let blocks = (start..end).into_par_iter().step_by(BLOCK);
        let texts = blocks.map(|first| lines(found, cells.as_deref(), first, end));
        let texts: Vec<_> = texts.collect();
        file.write(|file| Ok(texts.iter().try_for_each(|text| file.write_all(text))?))?;
        bar.set_position(end as u64);
    }
    bar.finish_and_clear();
    Ok(())
}

/// The lines of a block of buckets, that ends before `end`.
fn lines(found: &Aggregates, series: Option<&[Vec<u8>]>, first: usize, end: usize) -> Vec<u8> {
    let mut text = Vec::new();
    let starts = found.starts();
    for bucket in first..end.min(first + BLOCK) {
        if let Some(names) = series {
            text.extend(&names[series_of(found, bucket)]);
            text.push(b',');
        }
        write!(text, "{}", starts[bucket]).expect(TAKEN);
        for column in found.columns() {
            write!(text, ",{}", Number(column[bucket])).expect(TAKEN);
        }
        text.push(b'\n');
    }
    text
}

/// The series of a bucket.
pub fn series_of(found: &Aggregates, bucket: usize) -> usize {
    // The last one that begins at or before it: empty ones begin where the next one does.
    found.offsets().partition_point(|&offset| offset <= bucket) - 1
}

/// A name as a cell, quoted where that is needed.
fn cell(name: &str) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Alone in a record it would be quoted also if it is empty.
    writer.write_record([name, ""]).expect(TAKEN);
    let mut text = writer.into_inner().expect(TAKEN);
    text.truncate(text.len() - b",\n".len());
    text
}
