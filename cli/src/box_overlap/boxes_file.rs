//! From CSV files to boxes.
//!
//! A thread of its own divides each file into records; numbers are parsed by all threads, a batch
//! of records at a time.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow, bail, ensure};
use csv::{ByteRecord, Reader};
use indicatif::ProgressBar;
use ndarray::Array2;
use rayon::prelude::*;

use super::number::Number;
use crate::common::input::open;
use crate::common::progress::{self, total_size};
use crate::common::records::{line, next_record, reader, shown};

/// Records that are handed over in one go, and those of them that a thread takes at least.
const BATCH: usize = 1 << 13;
const SHARE: usize = 1 << 8;

/// Batches that wait to be parsed, at most.
const AHEAD: usize = 4;

/// Files that are being read, all at the same time.
pub struct Reading<T> {
    bar: ProgressBar,
    files: Vec<(PathBuf, JoinHandle<Result<Array2<T>>>)>,
}

impl<T: Number> Reading<T> {
    /// Begins to read.
    pub fn start<'a>(paths: impl Iterator<Item = &'a Path>) -> Result<Reading<T>> {
        let paths: Vec<_> = paths.collect();
        let bar = progress::bytes("reading", total_size(&paths));
        let read = Arc::new(AtomicU64::new(0));
        let start = |path: &Path| {
            let (owned, read, bar) = (path.to_owned(), read.clone(), bar.clone());
            let thread = thread::Builder::new().name("boxes".into());
            let thread = thread.spawn(move || read_file(&owned, &read, &bar));
            Ok((path.to_owned(), thread.context("reading needs a thread")?))
        };
        let files = paths.into_iter().map(start).collect::<Result<_>>()?;
        Ok(Reading { bar, files })
    }

    /// The boxes of each file, N×6 or N×4.
    pub fn finish(self) -> Result<Vec<Array2<T>>> {
        let mut sets: Vec<Array2<T>> = Vec::new();
        for (path, file) in self.files {
            let cannot_read = || format!("cannot read {}", path.display());
            let set = file.join().expect("reading does not panic");
            let set = set.with_context(cannot_read)?;
            if let Some(first) = sets.first() {
                let axes = (first.ncols() / 2, set.ncols() / 2);
                let said = || {
                    format!(
                        "its boxes have {} axes, those of the first file {}",
                        axes.1, axes.0
                    )
                };
                ensure!(axes.0 == axes.1, "{}: {}", cannot_read(), said());
            }
            sets.push(set);
        }
        self.bar.finish_and_clear();
        Ok(sets)
    }
}

fn read_file<T: Number>(
    path: &Path,
    read: &Arc<AtomicU64>,
    bar: &ProgressBar,
) -> Result<Array2<T>> {
    let text = open(path, read.clone())?;
    let mut reader = reader(text);
    let mut header = ByteRecord::new();
    ensure!(next_record(&mut reader, &mut header)?, "the file is empty");
    let columns = Columns::find(&header).with_context(|| format!("line {}", line(&header)))?;

    let mut numbers = Vec::new();
    thread::scope(|scope| {
        let (to_parser, batches) = mpsc::sync_channel(AHEAD);
        let (spent, to_fill) = mpsc::channel();
        thread::Builder::new()
            .name("records".into())
            .spawn_scoped(scope, move || read_batches(reader, &to_parser, &to_fill))
            .context("reading needs a thread")?;
        for batch in batches {
            let batch: Batch = batch?;
            columns.parse(&batch, &mut numbers)?;
            bar.set_position(read.load(Ordering::Relaxed));
            // After the last one nobody needs it.
            let _ = spent.send(batch);
        }
        anyhow::Ok(())
    })?;
    let width = columns.places.len();
    Ok(Array2::from_shape_vec(
        (numbers.len() / width, width),
        numbers,
    )?)
}

/// Records, of which the first `count` are in use.
#[derive(Default)]
struct Batch {
    records: Vec<ByteRecord>,
    count: usize,
}

impl Batch {
    fn records(&self) -> &[ByteRecord] {
        &self.records[..self.count]
    }

    /// Takes the next records of a file, fewer than [`BATCH`] at its end or before an error.
    fn fill(&mut self, reader: &mut Reader<impl Read>) -> csv::Result<()> {
        self.records.resize_with(BATCH, ByteRecord::new);
        self.count = 0;
        while self.count < BATCH && next_record(reader, &mut self.records[self.count])? {
            self.count += 1;
        }
        Ok(())
    }
}

/// Hands all records over, also those before an error.
fn read_batches(
    mut reader: Reader<impl Read>,
    to_parser: &SyncSender<Result<Batch>>,
    spent: &Receiver<Batch>,
) {
    loop {
        let mut batch = spent.try_recv().unwrap_or_default();
        let outcome = batch.fill(&mut reader);
        let is_last = batch.count < BATCH;
        // If nobody wants more, another error has been found.
        if to_parser.send(Ok(batch)).is_err() {
            return;
        }
        if let Err(error) = outcome {
            let place = format!("the file ends badly in line {}", reader.position().line());
            let _ = to_parser.send(Err(anyhow!(error).context(place)));
        }
        if is_last {
            return;
        }
    }
}

/// The columns of the coordinates.
struct Columns {
    /// Their names, and where they are in a record: all minima, then all maxima.
    places: Vec<(&'static str, usize)>,
    /// Cells in a record.
    cells: usize,
}

impl Columns {
    fn find(header: &ByteRecord) -> Result<Columns> {
        let (mut places, mut missing) = (Vec::new(), Vec::new());
        for name in ["minX", "minY", "minZ", "maxX", "maxY", "maxZ"] {
            let is_named = |cell: &[u8]| cell.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
            let mut found = (0..header.len()).filter(|&place| is_named(&header[place]));
            match (found.next(), found.next()) {
                (Some(place), None) => places.push((name, place)),
                (Some(_), Some(_)) => bail!("there are two columns {name}"),
                (None, _) => missing.push(name),
            }
        }
        if ["minZ", "maxZ"].iter().all(|name| missing.contains(name)) {
            missing.retain(|name| !name.ends_with('Z'));
        }
        ensure!(
            missing.is_empty(),
            "there is no column {}",
            missing.join(", ")
        );
        Ok(Columns {
            places,
            cells: header.len(),
        })
    }

    /// Adds the boxes of a batch to `numbers`, or fails for its first record that has none.
    fn parse<T: Number>(&self, batch: &Batch, numbers: &mut Vec<T>) -> Result<()> {
        let (width, start) = (self.places.len(), numbers.len());
        numbers.resize(start + batch.count * width, T::zeroed());
        let rows = numbers[start..].par_chunks_exact_mut(width);
        let rows = rows.zip(batch.records()).with_min_len(SHARE);
        let error = rows.find_map_first(|(row, record)| self.parse_row(record, row).err());
        error.map_or(Ok(()), Err)
    }

    fn parse_row<T: Number>(&self, record: &ByteRecord, row: &mut [T]) -> Result<()> {
        if record.len() != self.cells {
            let (line, cells) = (line(record), record.len());
            bail!(
                "line {line}: it has {cells} cells, the header has {}",
                self.cells
            );
        }
        for (number, &(name, place)) in row.iter_mut().zip(&self.places) {
            let parsed = parse_cell(&record[place]);
            *number =
                parsed.map_err(|what| anyhow!("line {}, column {name}: {what}", line(record)))?;
        }
        let axes = row.len() / 2;
        let Some(axis) = (0..axes).find(|axis| row[*axis] > row[axis + axes]) else {
            return Ok(());
        };
        let [min, max] = [axis, axis + axes].map(|column| {
            let (name, place) = self.places[column];
            format!("{name} {}", shown(&record[place]))
        });
        bail!("line {}: {min} is above {max}", line(record))
    }
}

fn parse_cell<T: Number>(cell: &[u8]) -> Result<T, String> {
    let cell = cell.trim_ascii();
    if cell.is_empty() {
        return Err("the cell is empty".into());
    }
    // What is not UTF-8 is no number either.
    let parsed = T::parse(str::from_utf8(cell).unwrap_or_default());
    parsed.map_err(|what| format!("'{}' {what}", shown(cell)))
}
