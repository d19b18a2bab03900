//! Data to try: the pipes of straight segments of the article, and the welds between these.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use article_data::pipes::{Pipes, Segment};
use program::output::{Format, OutputFile, check_outputs};
use program::progress;
use program::report::{self, UsageError};
use rayon::prelude::*;

use super::args::Args;
use crate::common::generated::{Generated, refuse_existing};
use crate::common::number_type::NumberType;

/// Segments whose lines are written in one go by a thread, and by all of them.
const BLOCK: usize = 10_000;
const WAVE: usize = 64 * BLOCK;

/// Writes `count` welds to set1.csv and `count` segments to set2.csv.
pub fn run(args: &Args, count: usize) -> Result<()> {
    let folder = &args.set1;
    if folder == Path::new("-") {
        let said = "--generate needs the name of a folder: - does not stand for stdout here";
        bail!(UsageError(said.into()));
    }
    let paths = ["set1.csv", "set2.csv"].map(|name| folder.join(name));
    // A link may make both names one file.
    let [first, second] = paths.each_ref().map(|path| Some(path.as_path()));
    let outputs = [
        ("set1.csv", first, Format::Csv),
        ("set2.csv", second, Format::Csv),
    ];
    check_outputs(&outputs, &[])?;
    refuse_existing(&paths.each_ref().map(|path| &**path), args.force)?;
    fs::create_dir_all(folder).with_context(|| format!("cannot write {}", folder.display()))?;
    let mut files = Vec::new();
    for path in &paths {
        let mut file = OutputFile::create(path)?;
        file.write_all(b"id,minX,minY,minZ,maxX,maxY,maxZ\n")?;
        // The shortest line.
        let bytes = count as f64 * "w0,0,0,0,0,0,0\n".len() as f64;
        file.require_space(bytes, "choose a smaller --generate")?;
        files.push(file);
    }

    let mut pipes = Pipes::new(count, args.seed);
    let format = Lines {
        is_whole: args.number == Some(NumberType::I32),
    };
    let bar = progress::count("writing", count as u64, "segments");
    for first in (0..count).step_by(WAVE) {
        let wave: Vec<_> = pipes.by_ref().take(WAVE).collect();
        let blocks = wave.par_chunks(BLOCK).enumerate();
        let texts = blocks.map(|(i, block)| format.text(first + i * BLOCK, block));
        for texts in texts.collect::<Vec<_>>() {
            for (file, text) in files.iter_mut().zip(texts) {
                file.write_all(&text)?;
            }
        }
        bar.inc(wave.len() as u64);
    }
    files.into_iter().try_for_each(OutputFile::publish)?;
    let paths = paths.map(|path| path.display().to_string());
    let [welds, segments] = &paths;
    report::show(&Generated {
        rows: count as u64,
        text: format!("{count} welds in {welds}, {count} segments in {segments}"),
        files: paths.into(),
        seed: args.seed,
    })
}

/// How coordinates are written.
struct Lines {
    /// As whole millimetres, not as metres.
    is_whole: bool,
}

impl Lines {
    /// Returns the lines of both files for some segments, of which the first has this row.
    fn text(&self, first: usize, segments: &[Segment]) -> [Vec<u8>; 2] {
        let mut text = [Vec::new(), Vec::new()];
        for (i, segment) in segments.iter().enumerate() {
            let row = first + i;
            self.add_line(&mut text[0], 'w', row, segment.weld());
            self.add_line(&mut text[1], 'p', row, segment.limits());
        }
        text
    }

    fn add_line(&self, text: &mut Vec<u8>, id: char, row: usize, limits: [i64; 6]) {
        const TAKEN: &str = "memory takes all";
        write!(text, "{id}{row}").expect(TAKEN);
        for number in limits {
            match self.is_whole {
                true => write!(text, ",{number}").expect(TAKEN),
                // None is negative.
                false => write!(text, ",{}.{:03}", number / 1000, number % 1000).expect(TAKEN),
            }
        }
        text.push(b'\n');
    }
}
