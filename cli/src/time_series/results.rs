//! Buckets as CSV.

use std::io::Write;

use anyhow::Result;
use files::records::add_cell;
use files::time::timestamp;
use gridstride::time_series::Aggregates;
use program::output::OutputFile;
use program::progress;

use super::args::TimeFormat;
use super::number;
use super::series::Series;

/// Buckets that a thread makes text of in one go.
const BLOCK: usize = 1 << 12;

const TAKEN: &str = "memory takes all";

/// Adds the header and a line for each bucket.
pub fn write(
    file: &mut OutputFile,
    series: &Series,
    aggregates: &Aggregates,
    format: TimeFormat,
) -> Result<()> {
    let names = series.labels().map(|(name, _)| name);
    let mut names: Vec<_> = names.chain(["timestamp"]).map(str::to_owned).collect();
    names.extend(aggregates.methods().iter().map(ToString::to_string));
    // The shortest lines have a digit for each number.
    let columns = aggregates.methods().len() + 1;
    let bytes = aggregates.len() as f64 * 2.0 * columns as f64;
    file.require_space(bytes, "choose a greater --every")?;
    file.write(|file| Ok(writeln!(file, "{}", names.join(","))?))?;

    let cells = |index: usize| {
        let mut cells = Vec::new();
        for (_, names) in series.labels() {
            add_cell(&mut cells, names[index].as_bytes(), b',');
            cells.push(b',');
        }
        cells
    };
    let cells: Vec<_> = (0..series.points.series_count()).map(cells).collect();
    let bar = progress::count("writing", aggregates.len() as u64, "buckets");
    let text = |block| lines(aggregates, &cells, format, block * BLOCK);
    let progress = |blocks| bar.set_position((blocks * BLOCK) as u64);
    file.write_texts(aggregates.len().div_ceil(BLOCK), &text, &progress)?;
    bar.finish_and_clear();
    Ok(())
}

/// The lines of the block of buckets that begins with `first`.
fn lines(aggregates: &Aggregates, series: &[Vec<u8>], format: TimeFormat, first: usize) -> Vec<u8> {
    let mut text = Vec::new();
    let starts = aggregates.starts();
    let mut whole = itoa::Buffer::new();
    for bucket in first..aggregates.len().min(first + BLOCK) {
        text.extend(&series[series_of(aggregates, bucket)]);
        match format {
            TimeFormat::Ns => text.extend(whole.format(starts[bucket]).as_bytes()),
            TimeFormat::Iso => write!(text, "{}", timestamp(starts[bucket])).expect(TAKEN),
        }
        for column in aggregates.columns() {
            text.push(b',');
            // The cell of a result that does not exist is empty.
            if !column[bucket].is_nan() {
                number::push(&mut text, column[bucket]);
            }
        }
        text.push(b'\n');
    }
    text
}

/// The series of a bucket.
pub fn series_of(aggregates: &Aggregates, bucket: usize) -> usize {
    // The last one that begins at or before it: empty ones begin where the next one does.
    aggregates
        .offsets()
        .partition_point(|&offset| offset <= bucket)
        - 1
}
