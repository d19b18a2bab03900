//! Times readers of FASTA and FASTQ on the same file, in turn, and checks that they find the same.
//!
//!     python3 benches/random_sequences.py target/bench/many.fa 100000000 1410
//!     cargo run --release --manifest-path benches/peers/sequence_files/Cargo.toml -- target/bench/many.fa
//!
//! This repository's reader makes codes of the letters, and refuses bytes that are not letters. The
//! others do less work: they find the records and their letters, without the line
//! ends between them. paraseq has as many threads as there are cores. Files may be gzip or bgzip.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Parser;
use figures::{Clock, Measured};
use files::Monitor;
use files::sequences::{Error, Letters, Reader};
use flate2::bufread::MultiGzDecoder;
use gridstride::sequences::{Alphabet, Unknown};
use paraseq::prelude::*;

#[derive(Parser)]
struct Args {
    /// FASTA or FASTQ of DNA, plain or gzip.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Timed runs of each reader.
    #[arg(long, default_value_t = 7)]
    runs: usize,
}

/// Records and letters.
type Found = (u64, u64);

fn main() -> Result<()> {
    let args = Args::parse();
    let readers: [(&str, fn(&Path) -> Result<Found>); 3] = [
        ("gridstride", gridstride),
        ("needletail", needletail),
        ("paraseq", paraseq),
    ];
    for path in &args.files {
        let expected = gridstride(path)?;
        let mut times = vec![Vec::new(); readers.len()];
        for _ in 0..args.runs {
            for ((name, read), times) in readers.iter().zip(&mut times) {
                let start = Instant::now();
                let found = black_box(read(path)?);
                times.push(start.elapsed().as_secs_f64() * 1e3);
                ensure!(found == expected, "{name} found {found:?}");
            }
        }
        let (case, bytes) = (case(path, expected), path.metadata()?.len());
        for ((name, _), times) in readers.iter().zip(times) {
            let row = Measured::new(&case, Clock::Call, times).program(*name);
            let row = row.bytes(bytes as usize);
            println!("{row}");
            if let Some(rows) = std::env::var_os(figures::FILE) {
                row.append(Path::new(&rows))?;
            }
        }
    }
    Ok(())
}

/// What is read: the kind of the file, and how many records and letters it has.
fn case(path: &Path, (records, letters): Found) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let kind = name.split_once('.').map_or(&*name, |(_, kind)| kind);
    format!("{kind}, {records} records, {letters} letters")
}

fn gridstride(path: &Path) -> Result<Found> {
    let letters = Letters::codes(&Alphabet::dna(), Unknown::Error, "");
    let mut reader = Reader::open(letters, path, &Monitor::default());
    let mut found = (0, 0);
    while reader.next(|piece| {
        found.0 += u64::from(piece.is_last);
        found.1 += black_box(piece.letters).len() as u64;
        Ok::<_, Error>(())
    })? {}
    Ok(found)
}

fn needletail(path: &Path) -> Result<Found> {
    let mut reader = needletail::parse_fastx_reader(text(path)?)?;
    let mut found = (0, 0);
    while let Some(record) = reader.next() {
        found.0 += 1;
        found.1 += black_box(record?.seq()).len() as u64;
    }
    Ok(found)
}

fn paraseq(path: &Path) -> Result<Found> {
    #[derive(Clone, Default)]
    struct Count {
        here: Found,
        all: std::sync::Arc<std::sync::Mutex<Found>>,
    }
    impl<R: Record> ParallelProcessor<R> for Count {
        fn process_record(&mut self, record: R) -> Result<(), paraseq::ProcessError> {
            self.here.0 += 1;
            self.here.1 += black_box(record.seq()).len() as u64;
            Ok(())
        }

        fn on_thread_complete(&mut self) -> Result<(), paraseq::ProcessError> {
            let mut all = self.all.lock().expect("no thread panics");
            *all = (all.0 + self.here.0, all.1 + self.here.1);
            Ok(())
        }
    }
    let reader = paraseq::fastx::Reader::new(text(path)?)?;
    let mut count = Count::default();
    let threads = std::thread::available_parallelism()?.get();
    reader.process_parallel(&mut count, threads)?;
    let all = *count.all.lock().expect("no thread panics");
    Ok(all)
}

/// Returns the text of a file, decompressed by the same library for all.
fn text(path: &Path) -> Result<Box<dyn Read + Send>> {
    let mut start = [0; 2];
    File::open(path)?.read_exact(&mut start)?;
    let file = File::open(path)?;
    Ok(match start {
        [0x1f, 0x8b] => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, file))),
        _ => Box::new(file),
    })
}
