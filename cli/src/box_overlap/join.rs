//! Columns of the first set on the rows of the second.
//!
//! Both files are read a second time: cells of the first that are joined are held in memory, rows of
//! the second are copied to the output one by one.

use std::collections::HashSet;
use std::io::Read;
use std::mem;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use csv::ByteRecord;
use files::memory::no_room;
use files::records::{
    Cells, Header, Quoted, Sequential, TableOptions, add_cell, add_cells, line, sequential,
};
use files::{Monitor, Texts, cannot_read, open};
use gridstride::box_overlap::OverlapSlice;
use program::output::OutputFile;

use super::args::{Args, JoinKind};
use super::inputs::{Input, Inputs};

/// Appended to the name of a joined column that the second set has too.
const SUFFIX: &[u8] = b"_set1";

/// Appended to the name of a column of row numbers that the second set has too.
const ROW_SUFFIX: &[u8] = b"_row";

/// Bytes of output that are written in one go.
const TOGETHER: usize = 1 << 20;

/// A join whose rows are written as the pairs come.
pub struct Join {
    kind: JoinKind,
    out: OutputFile,
    /// Lines that are not written yet.
    text: Vec<u8>,
    /// The delimiter of the output.
    delimiter: u8,
    /// Rows that were written, without the header.
    pub rows: u64,
    cells: Joined,
    set1: Source,
    set2: Source,
    /// The second set's header, and its text in the output.
    header: ByteRecord,
    header_text: Vec<u8>,
}

impl Join {
    /// Begins the output. The columns are looked for before the search.
    pub fn create(
        args: &Args,
        inputs: &Inputs,
        options: &[TableOptions; 2],
    ) -> Result<Option<Join>> {
        let mut inputs = inputs.iter();
        let sets = (inputs.next(), inputs.next());
        let (false, (Some(set1), Some(set2)), Some(out)) = (args.join.is_empty(), sets, &args.out)
        else {
            return Ok(None);
        };
        let [options1, options2] = options;
        let mut set1 = Source::open(set1, options1.delimiter)?;
        let mut set2 = Source::open(set2, options2.delimiter)?;
        let columns = set1.header(|header| joined_columns(header.record, &args.join, options1))?;
        let delimiter = options2.delimiter;
        let (header, header_text) = set2.header(|header| {
            let mut text = Vec::new();
            add_cells(&mut text, header, 0..header.count(), delimiter);
            Ok((header.record.clone(), text))
        })?;
        Ok(Some(Join {
            kind: args.join_kind,
            out: OutputFile::create(out)?,
            text: Vec::new(),
            delimiter,
            rows: 0,
            cells: Joined {
                columns,
                texts: Texts::default(),
            },
            set1,
            set2,
            header,
            header_text,
        }))
    }

    /// Reads the cells of the first set's `count` boxes, and writes the header.
    pub fn start(&mut self, count: usize) -> Result<()> {
        for _ in 0..count {
            let record = self.set1.next()?;
            self.cells.add(&record, self.delimiter)?;
        }
        // As columns are looked for: in any case.
        let names = self.header.iter().map(<[u8]>::trim_ascii);
        let mut taken: HashSet<_> = names.map(<[u8]>::to_ascii_lowercase).collect();
        let mut free = |name: &[u8], suffix: &[u8]| {
            let mut name = name.to_vec();
            while !taken.insert(name.to_ascii_lowercase()) {
                name.extend(suffix);
            }
            name
        };
        let (text, delimiter) = (&mut self.text, self.delimiter);
        if self.kind == JoinKind::Pairs {
            for name in ["set1", "set2"] {
                add_cell(text, &free(name.as_bytes(), ROW_SUFFIX), delimiter);
                text.push(delimiter);
            }
        }
        text.extend_from_slice(&self.header_text);
        for (name, _) in &self.cells.columns {
            text.push(delimiter);
            add_cell(text, &free(name, SUFFIX), delimiter);
        }
        text.push(b'\n');
        Ok(())
    }

    /// Writes the next rows of the second set, whose overlaps are boxes of the first.
    pub fn add(&mut self, slice: &OverlapSlice) -> Result<()> {
        let (text, delimiter) = (&mut self.text, self.delimiter);
        let (mut row_text, mut number) = (Vec::new(), itoa::Buffer::new());
        for (i, row) in slice.rows.clone().enumerate() {
            let record = self.set2.next()?;
            row_text.clear();
            add_cells(&mut row_text, &record, 0..record.count(), delimiter);
            let overlaps = slice.overlaps.row(i);
            let mut add = |numbers: &[usize], joined: &[u8]| {
                for &each in numbers {
                    text.extend_from_slice(number.format(each).as_bytes());
                    text.push(delimiter);
                }
                text.extend_from_slice(&row_text);
                text.extend_from_slice(joined);
                text.push(b'\n');
                self.rows += 1;
                match text.len() < TOGETHER {
                    true => Ok(()),
                    false => self.out.write_all(&mem::take(text)),
                }
            };
            for &index in &overlaps {
                let index = index as usize;
                let numbers: &[usize] = match self.kind {
                    JoinKind::Pairs => &[index, row],
                    _ => &[],
                };
                add(numbers, self.cells.texts.get(index))?;
            }
            if overlaps.is_empty() && self.kind == JoinKind::Left {
                add(&[], &vec![delimiter; self.cells.columns.len()])?;
            }
        }
        Ok(())
    }

    /// Completes the file.
    pub fn finish(mut self) -> Result<()> {
        self.out.write_all(&self.text)?;
        self.out.publish()
    }
}

/// The places of columns in the header, by names in any case or by what the options read them as.
fn joined_columns(
    record: &ByteRecord,
    names: &[String],
    options: &TableOptions,
) -> Result<Vec<(Vec<u8>, usize)>> {
    let header = Header::new(record, options);
    let find = |name: &String| {
        let name = name.trim();
        match header.single(name)? {
            Some(place) => Ok((record[place].trim_ascii().to_vec(), place)),
            None if name.is_empty() => {
                bail!("--join has an empty name: name columns of the header")
            }
            None => bail!(
                "there is no column {}: {}",
                name.escape_default(),
                header.described()
            ),
        }
    };
    names.iter().map(find).collect()
}

/// A file whose records are read in order.
struct Source {
    path: PathBuf,
    records: Sequential<Box<dyn Read + Send>>,
    record: ByteRecord,
    delimiter: u8,
}

impl Source {
    fn open(input: &Input, delimiter: u8) -> Result<Source> {
        let text = open(input.path(), &Monitor::default());
        let records = text.and_then(|text| sequential(text, delimiter));
        Ok(Source {
            path: input.name.clone(),
            records: records.with_context(|| cannot_read(&input.name))?,
            record: ByteRecord::new(),
            delimiter,
        })
    }

    /// Takes something from the first record.
    fn header<V>(&mut self, take: impl FnOnce(&Quoted) -> Result<V>) -> Result<V> {
        let (path, record) = self.read();
        let taken = record.and_then(|record| {
            let record = record.context("the file is empty")?;
            take(&record).with_context(|| format!("line {}", line(record.record)))
        });
        taken.with_context(|| cannot_read(path))
    }

    /// Returns the next record, which is that of a box.
    fn next(&mut self) -> Result<Quoted<'_>> {
        let (path, record) = self.read();
        let record = record.with_context(|| cannot_read(path))?;
        record.with_context(|| format!("{} was changed while it was read", path.display()))
    }

    /// Reads a record, if there is one more. Returns the file's path for messages.
    fn read(&mut self) -> (&Path, Result<Option<Quoted<'_>>>) {
        let is_there = self.records.next(&mut self.record);
        let quoted = Quoted {
            record: &self.record,
            text: self.records.text(),
            delimiter: self.delimiter,
        };
        let record = is_there.map(|is_there| is_there.then_some(quoted));
        (&self.path, record)
    }
}

/// The cells that are joined, box by box.
struct Joined {
    /// The joined columns: their names, and their places in a record.
    columns: Vec<(Vec<u8>, usize)>,
    /// The cells of each box as they are written, each behind a delimiter.
    texts: Texts,
}

impl Joined {
    /// Adds the cells of a box, for an output with this delimiter.
    fn add(&mut self, record: &Quoted, delimiter: u8) -> Result<()> {
        let is_there = |&(_, place): &(_, usize)| place < record.count();
        ensure!(
            self.columns.iter().all(is_there),
            "the first file was changed while it was read"
        );
        let mut text = vec![delimiter];
        let places = self.columns.iter().map(|&(_, place)| place);
        add_cells(&mut text, record, places, delimiter);
        let added = self.texts.add(&text);
        added.with_context(|| no_room("cells that --join adds"))
    }
}
