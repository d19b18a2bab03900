//! Copies of several threads through the same blocks, by a device that copies when it likes.

use super::{BLOCKS, Blocks, Copies};
use crate::device::lock;
use crate::sync::{Condvar, Mutex, thread};
use crate::{Error, Result};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

const CHUNK: usize = 2;

/// Two rounds of all blocks, and half a chunk.
const LENGTH: usize = 2 * BLOCKS * CHUNK + 1;

type Bytes = Arc<Mutex<Vec<u8>>>;

/// A block, and the number of the last copy that was started with it.
struct Block {
    memory: Bytes,
    copied: Mutex<Option<(Arc<Queue>, usize)>>,
}

/// Copies of a stream that the device has not done yet.
#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    copies: VecDeque<(Bytes, usize, Bytes, Range<usize>)>,
    started: usize,
    done: usize,
    is_closed: bool,
}

impl Queue {
    fn wait(&self, until: impl Fn(&Waiting) -> bool) {
        let waiting = lock(&self.waiting);
        let waited = self.changed.wait_while(waiting, |waiting| !until(waiting));
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Does the copies in order until the stream is closed.
    fn run(&self) {
        loop {
            self.wait(|waiting| waiting.is_closed || !waiting.copies.is_empty());
            let Some((from, start, to, range)) = lock(&self.waiting).copies.pop_front() else {
                return;
            };
            let bytes = lock(&from)[start..start + range.len()].to_vec();
            lock(&to)[range].copy_from_slice(&bytes);
            lock(&self.waiting).done += 1;
            self.changed.notify_all();
        }
    }
}

/// The step that the device leaves out.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    None,
    /// It does not wait for a block.
    Block,
    /// It does not wait at the end.
    End,
}

struct Stream {
    queue: Arc<Queue>,
    memory: Bytes,
    /// The number of the copy after which recording the block's event fails, from 1 on.
    fails: Option<usize>,
    mistake: Mistake,
}

impl Stream {
    fn start(
        &self,
        block: &mut Block,
        (from, start): (Bytes, usize),
        (to, range): (Bytes, Range<usize>),
    ) -> Result<()> {
        let mut waiting = lock(&self.queue.waiting);
        waiting.copies.push_back((from, start, to, range));
        waiting.started += 1;
        self.queue.changed.notify_all();
        if self.fails == Some(waiting.started) {
            return Err(Error::input("copy", "on purpose"));
        }
        block.copied = Mutex::new(Some((self.queue.clone(), waiting.started)));
        Ok(())
    }
}

impl Copies for Stream {
    type Block = Block;

    fn block(&self) -> Option<Block> {
        Some(Block {
            memory: Arc::new(Mutex::new(vec![0; CHUNK])),
            copied: Mutex::new(None),
        })
    }

    fn write(&self, block: &mut Block, bytes: &[u8]) {
        lock(&block.memory)[..bytes.len()].copy_from_slice(bytes);
    }

    fn read(&self, block: &Block, bytes: &mut [u8]) {
        bytes.copy_from_slice(&lock(&block.memory)[..bytes.len()]);
    }

    fn start_in(&self, block: &mut Block, to: Range<usize>) -> Result<()> {
        let from = (block.memory.clone(), 0);
        self.start(block, from, (self.memory.clone(), to))
    }

    fn start_out(&self, from: Range<usize>, block: &mut Block) -> Result<()> {
        let to = (block.memory.clone(), 0..from.len());
        self.start(block, (self.memory.clone(), from.start), to)
    }

    fn wait_for(&self, block: &Block) -> Result<()> {
        let copied = lock(&block.copied).clone();
        if let Some((queue, number)) = copied
            && self.mistake != Mistake::Block
        {
            queue.wait(|waiting| waiting.done >= number);
        }
        Ok(())
    }

    fn finish(&self) -> Result<()> {
        if self.mistake != Mistake::End {
            (self.queue).wait(|waiting| waiting.done == waiting.started);
        }
        Ok(())
    }
}

/// Copies bytes of its own to the device and back, and compares what has been copied.
fn copy(blocks: &Blocks<Block>, seed: u8, fails: Option<usize>, mistake: Mistake) {
    let source: Vec<u8> = (0..LENGTH).map(|index| seed + index as u8).collect();
    let stream = Stream {
        queue: Arc::default(),
        memory: Arc::new(Mutex::new(vec![0; LENGTH])),
        fails,
        mistake,
    };
    let queue = stream.queue.clone();
    let device = thread::spawn(move || queue.run());
    match blocks.copy_in(&stream, &source, CHUNK) {
        Some(Ok(())) => {
            assert_eq!(*lock(&stream.memory), source, "wrong bytes arrived");
            let mut target = vec![0; LENGTH];
            if let Some(Ok(())) = blocks.copy_out(&stream, &mut target, CHUNK) {
                assert_eq!(target, source, "wrong bytes arrived");
            }
        }
        Some(Err(_)) => {
            assert!(fails.is_some());
            let waiting = lock(&stream.queue.waiting);
            assert_eq!(waiting.done, waiting.started, "copies go on");
        }
        // Another thread uses the blocks.
        None => {}
    }
    lock(&stream.queue.waiting).is_closed = true;
    stream.queue.changed.notify_all();
    device.join().expect("the device ends");
    // Copies that go on after a failure read blocks of other threads.
    let memory = lock(&stream.memory);
    let right = |(&byte, &expected): (&u8, &u8)| byte == expected || byte == 0;
    assert!(
        memory.iter().zip(&source).all(right),
        "bytes of others: {memory:?}"
    );
}

fn check(fails: Option<usize>, mistake: Mistake) {
    let model = move || {
        let blocks = Arc::new(Blocks::new());
        let threads = [10, 60, 110].map(|seed| {
            let blocks = blocks.clone();
            let (fails, mistake) = match seed {
                10 => (fails, mistake),
                _ => (None, Mistake::None),
            };
            thread::spawn(move || copy(&blocks, seed, fails, mistake))
        });
        for thread in threads {
            thread.join().expect("the copies are right");
        }
    };
    shuttle::check_random(model, 1000);
}

#[test]
fn copies_of_several_threads_keep_apart() {
    check(None, Mistake::None);
}

#[test]
fn copies_end_before_an_error_returns() {
    for number in 1..=2 * BLOCKS {
        check(Some(number), Mistake::None);
    }
}

#[test]
#[should_panic(expected = "wrong bytes arrived")]
fn a_block_that_is_not_awaited_is_found() {
    check(None, Mistake::Block);
}

#[test]
#[should_panic(expected = "copies go on")]
fn a_copy_that_goes_on_after_an_error_is_found() {
    check(Some(2), Mistake::End);
}
