//! Blocks of bgzip: members of gzip that say their size, so that several threads decompress them.

use std::io::{self, BufRead, Read};
use std::thread;

use flate2::{Decompress, FlushDecompress, Status};

use super::Counted;

/// Bytes of a header whose only extra field is the size of the block, as all writers make it.
const HEADER: usize = 18;

/// Bytes of checksum and size behind the content.
const TRAILER: usize = 8;

/// The most bytes of content.
const LONGEST: u64 = 1 << 16;

/// Blocks that each thread decompresses in one go, which takes longer than to start a thread.
const BLOCKS_PER_THREAD: usize = 16;

/// The most threads: they decompress faster than texts are parsed.
const THREADS: usize = 8;

/// Blocks that have been taken from a file, and their content.
#[derive(Default)]
pub(super) struct Blocks {
    compressed: Vec<u8>,
    blocks: Vec<Block>,
    /// How many of the blocks are right and belong to this batch.
    count: usize,
    /// The block and the byte that are read next.
    at: (usize, usize),
}

#[derive(Default)]
struct Block {
    /// Where it ends in all compressed bytes.
    end: usize,
    content: Vec<u8>,
    is_right: bool,
}

impl Blocks {
    /// Takes the blocks that follow, as far as they are whole and right, and returns whether there are
    /// any. What is behind them stays, with any error of reading it.
    pub(super) fn take<R: BufRead>(&mut self, raw: &mut Counted<R>) -> bool {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.min(THREADS);
        self.compressed.clear();
        (self.count, self.at) = (0, (0, 0));
        let mut failed = None;
        while self.count < BLOCKS_PER_THREAD * threads {
            match self.take_block(raw) {
                Ok(true) => self.count += 1,
                Ok(false) => break,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        self.decompress(threads);
        let right = self.blocks[..self.count].iter();
        self.count = right.take_while(|block| block.is_right).count();
        let end = start(&self.blocks, self.count);
        raw.put_back(&self.compressed[end..], failed);
        self.count > 0
    }

    /// Takes a block, or a part of it if it is not whole or no block.
    fn take_block<R: BufRead>(&mut self, raw: &mut Counted<R>) -> io::Result<bool> {
        let start = self.compressed.len();
        raw.by_ref()
            .take(HEADER as u64)
            .read_to_end(&mut self.compressed)?;
        let [0x1f, 0x8b, 8, 4, _, _, _, _, _, _, 6, 0, extra @ ..] = &self.compressed[start..]
        else {
            return Ok(false);
        };
        let Some(size) = size_of_block(extra).map(|size| size as usize) else {
            return Ok(false);
        };
        let Some(rest) = size.checked_sub(HEADER).filter(|rest| *rest > TRAILER) else {
            return Ok(false);
        };
        raw.by_ref()
            .take(rest as u64)
            .read_to_end(&mut self.compressed)?;
        let end = self.compressed.len();
        if self.count == self.blocks.len() {
            self.blocks.push(Block::default());
        }
        self.blocks[self.count].end = end;
        Ok(end == start + size)
    }

    fn decompress(&mut self, threads: usize) {
        let compressed = &self.compressed;
        let share = self.count.div_ceil(threads).max(1);
        let mut begin = 0;
        thread::scope(|scope| {
            let mut shares = self.blocks[..self.count].chunks_mut(share).peekable();
            while let Some(blocks) = shares.next() {
                let start = begin;
                begin = blocks.last().map_or(start, |last| last.end);
                for block in &mut *blocks {
                    block.is_right = false;
                }
                let mut decompress = move || decompress(compressed, start, blocks);
                match shares.peek() {
                    // What has no thread is not right, and decompressed as other members are.
                    Some(_) => drop(thread::Builder::new().spawn_scoped(scope, decompress)),
                    None => decompress(),
                }
            }
        });
    }

    /// Copies content, and returns how many bytes; none at the end of the batch.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> usize {
        let (mut index, mut from) = self.at;
        let mut count = 0;
        while index < self.count && count < buffer.len() {
            let content = &self.blocks[index].content[from..];
            let more = content.len().min(buffer.len() - count);
            buffer[count..count + more].copy_from_slice(&content[..more]);
            (count, from) = (count + more, from + more);
            if more == content.len() {
                (index, from) = (index + 1, 0);
            }
        }
        self.at = (index, from);
        count
    }

    /// Whether a file does not end with the last block, since that has content.
    pub(super) fn is_cut(&self) -> bool {
        let last = self.blocks[..self.count].last();
        last.is_some_and(|block| !block.content.is_empty())
    }
}

/// Where a block starts.
fn start(blocks: &[Block], index: usize) -> usize {
    match index {
        0 => 0,
        _ => blocks[index - 1].end,
    }
}

fn decompress(compressed: &[u8], mut start: usize, blocks: &mut [Block]) {
    let mut inflate = Decompress::new(false);
    for block in blocks {
        let bytes = &compressed[start + HEADER..block.end];
        start = block.end;
        let Some((data, trailer)) = bytes.split_last_chunk::<TRAILER>() else {
            return;
        };
        let trailer = u64::from_le_bytes(*trailer);
        let (sum, size) = (trailer as u32, trailer >> 32);
        if size > LONGEST {
            return;
        }
        block.content.resize(size as usize, 0);
        inflate.reset(false);
        let status = inflate.decompress(data, &mut block.content, FlushDecompress::Finish);
        block.is_right = matches!(status, Ok(Status::StreamEnd))
            && (inflate.total_in(), inflate.total_out()) == (data.len() as u64, size)
            && crc32fast::hash(&block.content) == sum;
        if !block.is_right {
            return;
        }
    }
}

/// Returns the size of a block, from the extra field of its header.
pub(super) fn size_of_block(mut extra: &[u8]) -> Option<u64> {
    while let [first, second, low, high, rest @ ..] = extra {
        let length = u16::from_le_bytes([*low, *high]);
        let (value, others) = rest.split_at_checked(length.into())?;
        if let (b'B', b'C', [low, high]) = (first, second, value) {
            return Some(u64::from(u16::from_le_bytes([*low, *high])) + 1);
        }
        extra = others;
    }
    None
}
