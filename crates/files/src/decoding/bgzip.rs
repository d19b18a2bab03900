//! Blocks of bgzip: members of gzip that say their size, so that several threads decompress them.

use std::io::{self, BufRead, Read};
use std::sync::OnceLock;
use std::thread;

use flate2::{Decompress, FlushDecompress, Status};

use super::Counted;

/// Length of a header: the 12 bytes of gzip, and an extra field of 6 bytes with the size of the block.
const HEADER: usize = 18;

/// Bytes of checksum and size behind the content.
const TRAILER: usize = 8;

/// The most bytes of content.
const LONGEST: u64 = 1 << 16;

/// Blocks per thread and batch: enough that decompressing takes much longer than starting a thread.
const BLOCKS_PER_THREAD: usize = 16;

/// The most threads: they decompress faster than texts are parsed.
const MOST_THREADS: usize = 8;

/// Blocks that have been taken from a file, and their content.
#[derive(Default)]
pub(super) struct Batch {
    compressed: Vec<u8>,
    blocks: Vec<Block>,
    /// The number of intact blocks in this batch.
    count: usize,
    /// Position of the next byte: block, and offset in its content.
    at: (usize, usize),
    /// Position up to which blocks are not taken again, since the first of them was not intact.
    plain_until: u64,
}

#[derive(Default)]
struct Block {
    /// End of the block among all compressed bytes.
    end: usize,
    content: Vec<u8>,
    is_intact: bool,
}

impl Batch {
    /// Reads and decompresses the next batch of whole, intact blocks, and returns whether there are any.
    /// Bytes behind them, and a read error, are put back.
    pub(super) fn take<R: BufRead>(&mut self, raw: &mut Counted<R>) -> bool {
        self.compressed.clear();
        (self.count, self.at) = (0, (0, 0));
        if raw.position() < self.plain_until {
            return false;
        }
        let mut failed = None;
        while self.count < BLOCKS_PER_THREAD * threads() {
            match self.take_block(raw) {
                Ok(true) => self.count += 1,
                Ok(false) => break,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        self.decompress(threads());
        let whole = start(&self.blocks, self.count);
        let intact = self.blocks[..self.count].iter();
        self.count = intact.take_while(|block| block.is_intact).count();
        let end = start(&self.blocks, self.count);
        raw.put_back(&self.compressed[end..], failed);
        if self.count == 0 {
            self.plain_until = raw.position() + whole as u64;
        }
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
            let mut shares = self.blocks[..self.count].chunks_mut(share).map(|blocks| {
                let start = begin;
                begin = blocks.last().map_or(start, |last| last.end);
                for block in &mut *blocks {
                    block.is_intact = false;
                }
                move || decompress(compressed, start, blocks)
            });
            let first = shares.next();
            for share in shares {
                // Blocks without a thread stay unmarked and are decompressed as plain members.
                drop(thread::Builder::new().spawn_scoped(scope, share));
            }
            // This thread takes the first share: without other threads, there are still intact blocks.
            if let Some(mut share) = first {
                share();
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

    /// Returns the number of intact blocks in this batch.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Whether a file does not end with the last block, since that has content.
    pub(super) fn is_cut(&self) -> bool {
        let last = self.blocks[..self.count].last();
        last.is_some_and(|block| !block.content.is_empty())
    }
}

/// Returns the start of a block.
fn start(blocks: &[Block], index: usize) -> usize {
    match index {
        0 => 0,
        _ => blocks[index - 1].end,
    }
}

/// Returns the number of threads that decompress, which it asks the system for only once.
fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| {
        let available = thread::available_parallelism().map_or(1, usize::from);
        available.min(MOST_THREADS)
    })
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
        block.is_intact = matches!(status, Ok(Status::StreamEnd))
            && (inflate.total_in(), inflate.total_out()) == (data.len() as u64, size)
            && crc32fast::hash(&block.content) == sum;
        if !block.is_intact {
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
