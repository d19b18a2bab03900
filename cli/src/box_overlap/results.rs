//! Writes pairs to the files, and keeps the first few for the summary.

use anyhow::Result;
use files::Texts;
use files::records::add_cell;
use gridstride::box_overlap::{OverlapSlice, Overlaps};
use ndarray::Array2;
use program::output::{NpyFile, OutputFile};

use super::args::Args;

/// Pairs that the summary shows.
const SHOWN: usize = 10;

/// Pairs that a thread makes text of in one go.
const BLOCK: usize = 1 << 14;

/// Numbers of the matrix that are in memory together, unless a row has more.
const NUMBERS: usize = 1 << 22;

/// Takes pairs in order, and keeps no more of them than are shown.
pub struct Results {
    /// Pairs of all boxes, and of the one that has most.
    pub pairs: u64,
    pub largest: u32,
    /// Rows of a join.
    pub joined: Option<u64>,
    /// Boxes with more pairs than the matrix has columns.
    pub above_limit: usize,
    /// The names of the boxes of each set, if the files have names.
    pub ids: Vec<Texts>,
    /// The first pairs.
    pub shown: Vec<[usize; 2]>,
    /// Whether slices have the rows of the second set.
    is_swapped: bool,
    limit: usize,
    csv: Option<OutputFile>,
    npy: Option<NpyFile<i32>>,
}

impl Results {
    /// Begins the files that are asked for.
    pub fn create(args: &Args) -> Result<Results> {
        let create_npy = |path: &_| NpyFile::create(path, 'i', args.limit);
        Ok(Results {
            pairs: 0,
            largest: 0,
            joined: None,
            above_limit: 0,
            ids: Vec::new(),
            shown: Vec::new(),
            is_swapped: args.is_swapped(),
            limit: args.limit,
            csv: match args.join[..] {
                [] => args.out.as_deref().map(OutputFile::create).transpose()?,
                // The join writes the file.
                _ => None,
            },
            npy: args.matrix.as_deref().map(create_npy).transpose()?,
        })
    }

    /// Whether further pairs are not needed: no file takes them, and there are enough to show.
    pub fn are_complete(&self) -> bool {
        self.csv.is_none() && self.npy.is_none() && self.shown.len() == SHOWN
    }

    /// Returns an error if the disk has no space for a matrix of `boxes` rows.
    pub fn require_space(&mut self, boxes: usize) -> Result<()> {
        match &mut self.npy {
            Some(npy) => npy.require_space(boxes, "choose a smaller --limit"),
            None => Ok(()),
        }
    }

    /// Takes the number of pairs of each box, and begins the file of pairs.
    ///
    /// # Errors
    /// If the disk has no space for the pairs.
    pub fn count(&mut self, counts: &[u32]) -> Result<()> {
        self.pairs = counts.iter().map(|&count| u64::from(count)).sum();
        self.largest = counts.iter().copied().max().unwrap_or(0);
        let is_above = |count: &&u32| **count as usize > self.limit;
        self.above_limit = counts.iter().filter(is_above).count();
        let has_ids = !self.ids.is_empty();
        if let Some(csv) = &mut self.csv {
            // Of each pair the row, and at least a comma, a digit and the line's end. Names may be empty.
            let bytes = |(row, &count): (usize, &u32)| {
                let least = match has_ids {
                    true => 2,
                    false => row.checked_ilog10().unwrap_or(0) + 4,
                };
                f64::from(count) * f64::from(least)
            };
            let bytes = counts.iter().enumerate().map(bytes).sum();
            csv.require_space(bytes, "divide the sets into parts")?;
            // Not before, since standard output takes the bytes as they come.
            csv.write_all(b"set1,set2\n")?;
        }
        Ok(())
    }

    /// Takes the pairs of the next boxes.
    pub fn add(&mut self, slice: &OverlapSlice) -> Result<()> {
        let OverlapSlice { rows, overlaps } = slice;
        for (i, row) in rows.clone().enumerate() {
            if self.shown.len() == SHOWN {
                break;
            }
            let more = SHOWN - self.shown.len();
            let pair = |&index: &u32| match self.is_swapped {
                false => [row, index as usize],
                true => [index as usize, row],
            };
            let pairs = overlaps.row(i).into_iter().map(pair);
            self.shown.extend(pairs.take(more));
        }
        if let Some(csv) = &mut self.csv {
            let blocks = overlaps.pair_count().div_ceil(BLOCK);
            let ids = match &self.ids[..] {
                [] => None,
                [set] => Some([set, set]),
                [set1, set2, ..] => Some([set1, set2]),
            };
            csv.write_texts(blocks, &|block| lines(slice, ids, block * BLOCK), &|_| ())?;
        }
        if let Some(npy) = &mut self.npy {
            add_matrix(npy, overlaps, self.limit)?;
        }
        Ok(())
    }

    /// Completes the files.
    pub fn finish_files(&mut self) -> Result<()> {
        self.csv.take().map_or(Ok(()), OutputFile::publish)?;
        self.npy.take().map_or(Ok(()), NpyFile::finish)
    }
}

/// The lines of the block of pairs that begins with `first`.
fn lines(slice: &OverlapSlice, ids: Option<[&Texts; 2]>, first: usize) -> Vec<u8> {
    let OverlapSlice { rows, overlaps } = slice;
    let offsets = overlaps.offsets();
    let end = overlaps.pair_count().min(first + BLOCK);
    let mut text = Vec::new();
    let (mut row_text, mut index_text) = (itoa::Buffer::new(), itoa::Buffer::new());
    // The row of the first pair: the last that begins at or before it.
    let mut i = offsets.partition_point(|&offset| offset <= first) - 1;
    while offsets[i] < end {
        let row = row_text.format(rows.start + i).as_bytes();
        let pairs = offsets[i].max(first)..offsets[i + 1].min(end);
        let skipped = pairs.start - offsets[i];
        for &index in overlaps.row(i).iter().skip(skipped).take(pairs.len()) {
            match ids {
                None => text.extend_from_slice(row),
                Some([ids, _]) => add_cell(&mut text, ids.get(rows.start + i), b','),
            }
            text.push(b',');
            match ids {
                None => text.extend_from_slice(index_text.format(index).as_bytes()),
                Some([_, ids]) => add_cell(&mut text, ids.get(index as usize), b','),
            }
            text.push(b'\n');
        }
        i += 1;
    }
    text
}

/// `Overlaps::to_matrix` a few rows at a time: there may be many without pairs in a slice.
fn add_matrix(npy: &mut NpyFile<i32>, overlaps: &Overlaps, limit: usize) -> Result<()> {
    let together = (NUMBERS / limit.max(1)).max(1);
    for start in (0..overlaps.len()).step_by(together) {
        let end = overlaps.len().min(start + together);
        let mut matrix = Array2::from_elem((end - start, limit), -1);
        for (i, mut row) in (start..end).zip(matrix.outer_iter_mut()) {
            for (place, &index) in row.iter_mut().zip(overlaps.row(i)) {
                *place = index as i32;
            }
        }
        npy.add(matrix.view())?;
    }
    Ok(())
}
