//! Data to try: pipes of straight segments, and the welds between these.

use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::args::{Args, TypeName};
use crate::common::generated::Generated;
use crate::common::output::OutputFile;
use crate::common::progress;
use crate::common::random::Random;
use crate::common::report::{self, UsageError};

/// Segments of a pipe.
const CHAIN: usize = 20;

/// Half the thickness of a pipe, and half the edge of a weld.
const PIPE: i64 = 75;
const WELD: i64 = 80;

/// Lengths of segments.
const LENGTHS: Range<u64> = 1000..9001;

/// Where pipes start, for so many segments; the extent grows with their number, the density does
/// not.
const STARTS: [(i64, f64); 3] = [
    (200_000, 200_000.0),
    (200_000, 200_000.0),
    (200_000, 50_000.0),
];
const STARTS_FOR: f64 = 200_000.0;

/// Pipes of a text.
const BLOCK: usize = 1 << 9;

/// The two files. Each is made of the same random numbers, which take less time than the text.
#[derive(Clone, Copy, PartialEq)]
enum Set {
    Welds,
    Segments,
}

/// Writes `count` welds to set1.csv and `count` segments to set2.csv.
pub fn run(args: &Args, count: usize) -> Result<()> {
    let folder = &args.set1;
    if folder == Path::new("-") {
        let said = "--generate needs the name of a folder: - does not stand for stdout here";
        bail!(UsageError(said.into()));
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot write {}", folder.display()))?;
    let paths = ["set1.csv", "set2.csv"].map(|name| folder.join(name));
    let create = |path: &PathBuf| OutputFile::create(path);
    let mut files = paths.iter().map(create).collect::<Result<Vec<_>>>()?;
    let pipes = Pipes::new(args, count);
    let chains = count.div_ceil(CHAIN);
    for (file, set) in files.iter_mut().zip([Set::Welds, Set::Segments]) {
        file.write_all(b"id,minX,minY,minZ,maxX,maxY,maxZ\n")?;
        let bar = progress::count("writing", count as u64, "boxes");
        file.write_texts(
            chains.div_ceil(BLOCK),
            |block| pipes.text(set, block * BLOCK..chains.min((block + 1) * BLOCK)),
            |blocks| bar.set_position((blocks * BLOCK * CHAIN) as u64),
        )?;
        bar.finish_and_clear();
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

struct Pipes {
    count: usize,
    seed: u64,
    /// How many places there are for the start of a pipe along each axis.
    places: [u64; 3],
    /// Whether coordinates are whole numbers, instead of thousandths.
    whole: bool,
}

impl Pipes {
    fn new(args: &Args, count: usize) -> Pipes {
        let scale = (count as f64 / STARTS_FOR).cbrt();
        Pipes {
            count,
            seed: args.seed,
            places: STARTS.map(|(_, extent)| (extent * scale).round() as u64 + 1),
            whole: args.number == TypeName::I32,
        }
    }

    /// The lines of a file for some pipes.
    fn text(&self, set: Set, chains: Range<usize>) -> Vec<u8> {
        let mut text = Vec::new();
        for chain in chains {
            self.add_chain(set, chain, &mut text);
        }
        text
    }

    fn add_chain(&self, set: Set, chain: usize, text: &mut Vec<u8>) {
        let mut random = Random::new(self.seed, chain as u64);
        let mut start =
            [0, 1, 2].map(|axis| STARTS[axis].0 + random.below(self.places[axis]) as i64);
        for row in chain * CHAIN..self.count.min((chain + 1) * CHAIN) {
            let axis = random.below(3) as usize;
            let length = LENGTHS.start + random.below(LENGTHS.end - LENGTHS.start);
            let mut end = start;
            end[axis] += length as i64;
            let (mut min, mut max) = (start.map(|x| x - PIPE), end.map(|x| x + PIPE));
            (min[axis], max[axis]) = (start[axis], end[axis]);
            match set {
                Set::Welds => {
                    let (min, max) = (start.map(|x| x - WELD), start.map(|x| x + WELD));
                    self.add_line(text, 'w', row, min, max);
                }
                Set::Segments => self.add_line(text, 'p', row, min, max),
            }
            start = end;
        }
    }

    fn add_line(&self, text: &mut Vec<u8>, id: char, row: usize, min: [i64; 3], max: [i64; 3]) {
        const TAKEN: &str = "memory takes all";
        write!(text, "{id}{row}").expect(TAKEN);
        for number in min.into_iter().chain(max) {
            match self.whole {
                true => write!(text, ",{number}").expect(TAKEN),
                // None is negative.
                false => write!(text, ",{}.{:03}", number / 1000, number % 1000).expect(TAKEN),
            }
        }
        text.push(b'\n');
    }
}
