//! Columns of the first set on the rows of the second.
//!
//! Both files are read a second time: cells of the first that are joined are held in memory, rows of
//! the second are copied to the output one by one.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail, ensure};
use csv::{ByteRecord, Writer, WriterBuilder};
use files::memory::no_room;
use files::records::{Header, TableOptions, line, sequential};
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
    out: Writer<Output>,
    /// Rows that were written, without the header.
    pub rows: u64,
    cells: Cells,
    set1: Source,
    set2: Source,
    /// The second set's header.
    header: ByteRecord,
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
        let columns = set1.header(|header| joined_columns(header, &args.join, options1))?;
        let header = set2.header(|header| Ok(header.clone()))?;
        let out = Output(OutputFile::create(out)?);
        Ok(Some(Join {
            kind: args.join_kind,
            out: WriterBuilder::new()
                .buffer_capacity(TOGETHER)
                .delimiter(options2.delimiter)
                .from_writer(out),
            rows: 0,
            cells: Cells {
                columns,
                texts: Texts::default(),
            },
            set1,
            set2,
            header,
        }))
    }

    /// Reads the cells of the first set's `count` boxes, and writes the header.
    pub fn start(&mut self, count: usize) -> Result<()> {
        for _ in 0..count {
            self.cells.add(self.set1.next()?)?;
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
        let mut header = ByteRecord::new();
        if self.kind == JoinKind::Pairs {
            header.extend(["set1", "set2"].map(|name| free(name.as_bytes(), ROW_SUFFIX)));
        }
        header.extend(&self.header);
        header.extend((self.cells.columns.iter()).map(|(name, _)| free(name, SUFFIX)));
        Ok(self.out.write_byte_record(&header)?)
    }

    /// Writes the next rows of the second set, whose overlaps are boxes of the first.
    pub fn add(&mut self, slice: &OverlapSlice) -> Result<()> {
        for (i, row) in slice.rows.clone().enumerate() {
            let record = self.set2.next()?;
            let found = slice.overlaps.row(i);
            for &index in &found {
                if self.kind == JoinKind::Pairs {
                    self.out.write_field(index.to_string())?;
                    self.out.write_field(row.to_string())?;
                }
                let joined = self.cells.row(index as usize);
                self.out.write_record(record.iter().chain(joined))?;
                self.rows += 1;
            }
            if found.is_empty() && self.kind == JoinKind::Left {
                let empty = self.cells.columns.iter().map(|_| &b""[..]);
                self.out.write_record(record.iter().chain(empty))?;
                self.rows += 1;
            }
        }
        Ok(())
    }

    /// Completes the file.
    pub fn finish(self) -> Result<()> {
        let out = self.out.into_inner();
        out.map_err(|error| anyhow!("{error}"))?.0.publish()
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

/// Reads a record, if there is one more.
type ReadRecord = dyn FnMut(&mut ByteRecord) -> Result<bool>;

/// A file whose records are read in order.
struct Source {
    path: PathBuf,
    read: Box<ReadRecord>,
    record: ByteRecord,
}

impl Source {
    fn open(input: &Input, delimiter: u8) -> Result<Source> {
        let text = open(input.path(), &Monitor::default());
        let records = text.and_then(|text| sequential(text, delimiter));
        let mut records = records.with_context(|| cannot_read(&input.name))?;
        Ok(Source {
            path: input.name.clone(),
            read: Box::new(move |record| records.next(record)),
            record: ByteRecord::new(),
        })
    }

    /// Takes something from the first record.
    fn header<V>(&mut self, take: impl FnOnce(&ByteRecord) -> Result<V>) -> Result<V> {
        let record = &mut self.record;
        let header = (self.read)(record);
        let taken = header.and_then(|is_there| {
            ensure!(is_there, "the file is empty");
            strip_carriage_return(record);
            take(record).with_context(|| format!("line {}", line(record)))
        });
        taken.with_context(|| cannot_read(&self.path))
    }

    /// Returns the next record, which is that of a box.
    fn next(&mut self) -> Result<&ByteRecord> {
        let record = &mut self.record;
        let is_there = (self.read)(record).with_context(|| cannot_read(&self.path))?;
        ensure!(
            is_there,
            "{} was changed while it was read",
            self.path.display()
        );
        strip_carriage_return(record);
        Ok(record)
    }
}

/// Takes the end of a line that has two characters off the last cell.
fn strip_carriage_return(record: &mut ByteRecord) {
    let last = record.len() - 1;
    if let Some(cell) = record[last].strip_suffix(b"\r") {
        let cell = cell.to_vec();
        record.truncate(last);
        record.push_field(&cell);
    }
}

/// The cells that are joined, row by row.
struct Cells {
    /// The joined columns: their names, and their places in a record.
    columns: Vec<(Vec<u8>, usize)>,
    texts: Texts,
}

impl Cells {
    fn add(&mut self, record: &ByteRecord) -> Result<()> {
        for &(_, place) in &self.columns {
            let added = self.texts.add(record.get(place).unwrap_or_default());
            added.with_context(|| no_room("cells that --join adds"))?;
        }
        Ok(())
    }

    /// The cells of a box.
    fn row(&self, index: usize) -> impl Iterator<Item = &[u8]> {
        let count = self.columns.len();
        (index * count..(index + 1) * count).map(|cell| self.texts.get(cell))
    }
}

/// The output as the csv crate writes to it.
struct Output(OutputFile);

impl Write for Output {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let written = self.0.write_all(text);
        let said = |error| io::Error::other(format!("{error:#}"));
        written.map(|()| text.len()).map_err(said)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
