//! Reading FASTA.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, bail};
use flate2::bufread::MultiGzDecoder;
use gridstride::tensor_sketch::{Alphabet, Sequences, Unknown};
use indicatif::ProgressBar;
use needletail::parser::{FastaReader, FastxReader};

use crate::args::Args;

/// Input that takes long enough to read for a progress bar, in bytes.
const LONG_INPUT: u64 = 16 << 20;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// All that was read.
pub struct Input {
    /// One for each of the sequences.
    pub records: Vec<Record>,
    pub sequences: Sequences,
}

/// A sequence as the summary names it.
pub struct Record {
    /// The header up to the first blank, or the file.
    pub name: String,
    /// Letters in the sequence.
    pub length: usize,
    /// Characters that were left out.
    pub skipped: usize,
}

/// Reads all files of the command line, in order.
pub fn read(args: &Args) -> Result<Input> {
    let mut reader = Reader {
        alphabet: args.alphabet.alphabet(),
        unknown: args.unknown.unknown(),
        progress: progress_bar(args),
        input: Input {
            records: Vec::new(),
            sequences: Sequences::new(),
        },
    };
    for path in &args.files {
        let result = match args.per_file {
            true => reader.read_as_one(path),
            false => reader.read_records(path),
        };
        result.with_context(|| format!("cannot read {}", path.display()))?;
    }
    reader.progress.finish_and_clear();
    Ok(reader.input)
}

/// A bar on stderr, which indicatif draws only on a terminal.
fn progress_bar(args: &Args) -> ProgressBar {
    let sizes = args.files.iter().filter_map(|path| path.metadata().ok());
    match sizes.map(|metadata| metadata.len()).sum() {
        0..LONG_INPUT => ProgressBar::hidden(),
        total => ProgressBar::new(total),
    }
}

struct Reader {
    alphabet: Alphabet,
    unknown: Unknown,
    progress: ProgressBar,
    input: Input,
}

impl Reader {
    fn read_records(&mut self, path: &Path) -> Result<()> {
        let text = open(path, &self.progress)?;
        for_each_record(text, |name, text| {
            let encoded = self.alphabet.encode(text, self.unknown)?;
            self.input.add(name.into(), &encoded.codes, encoded.skipped);
            Ok(())
        })
    }

    fn read_as_one(&mut self, path: &Path) -> Result<()> {
        let (mut codes, mut skipped) = (Vec::new(), 0);
        for_each_record(open(path, &self.progress)?, |_, text| {
            let encoded = self.alphabet.encode(text, self.unknown)?;
            codes.extend(encoded.codes);
            skipped += encoded.skipped;
            Ok(())
        })?;
        self.input.add(path.display().to_string(), &codes, skipped);
        Ok(())
    }
}

impl Input {
    fn add(&mut self, name: String, codes: &[u8], skipped: usize) {
        self.sequences.push(codes);
        self.records.push(Record {
            name,
            length: codes.len(),
            skipped,
        });
    }
}

/// The text of a file, decompressed.
fn open(path: &Path, progress: &ProgressBar) -> Result<Box<dyn BufRead + Send>> {
    let mut raw = BufReader::new(progress.wrap_read(File::open(path)?));
    let mut text: Box<dyn BufRead + Send> = match raw.fill_buf()?.starts_with(&GZIP_MAGIC) {
        true => Box::new(BufReader::new(MultiGzDecoder::new(raw))),
        false => Box::new(raw),
    };
    match text
        .fill_buf()
        .context("nothing before the first record")?
        .first()
    {
        Some(b'>') => Ok(text),
        Some(byte) => bail!(
            "it is not FASTA: it begins with '{}', not with '>'",
            byte.escape_ascii()
        ),
        None => bail!("the file is empty"),
    }
}

/// Calls `visit` with the name and text of each record, without line ends. Errors name the record.
fn for_each_record(
    text: impl Read + Send,
    mut visit: impl FnMut(&str, &[u8]) -> Result<()>,
) -> Result<()> {
    let failure = Failure::default();
    let text = UntilFailure {
        text,
        failure: failure.clone(),
    };
    // needletail refuses a last record that is a header without a line after it.
    let mut records = FastaReader::new(text.chain(&b"\n\n"[..]));
    let mut place = String::new();
    for number in 1.. {
        let Some(record) = records.next() else { break };
        let record = record.with_context(|| format!("record {number}"))?;
        let header = String::from_utf8_lossy(record.id());
        let name = header.split_whitespace().next().unwrap_or_default();
        place = format!("record {number} ({name})");
        visit(name, &record.seq()).with_context(|| place.clone())?;
    }
    match failure
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take()
    {
        Some(error) => Err(anyhow!(error).context(format!("the file ends badly in {place}"))),
        None => Ok(()),
    }
}

/// The error at which reading ended.
type Failure = Arc<Mutex<Option<io::Error>>>;

/// Ends where reading fails, and keeps the error for afterwards: needletail reads ahead, and would
/// report it before the records that were read without fault, so that the wrong one is blamed.
struct UntilFailure<R> {
    text: R,
    failure: Failure,
}

impl<R: Read> Read for UntilFailure<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.text.read(buffer).or_else(|error| {
            if error.kind() == io::ErrorKind::Interrupted {
                return Err(error);
            }
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            Ok(0)
        })
    }
}
