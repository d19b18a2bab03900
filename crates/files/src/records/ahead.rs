//! Reading on a separate thread, ahead of parsing.

use std::io::Read;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread;

use anyhow::{Context, Result};

use super::blocks::{Block, Blocks, Stop};

/// Blocks for each thread that are parsed together. As many may wait in the queue.
const BLOCKS_PER_THREAD: usize = 2;

/// A block, nothing at the end of the text, or an error.
type Next = Result<Option<Block>, Stop>;

/// Reads blocks of a text.
pub struct Ahead {
    blocks: Receiver<Next>,
    spent: Sender<Vec<u8>>,
    /// A block that comes next.
    first: Option<Block>,
    together: usize,
}

/// Some blocks, and how the text ends if they are the last.
#[derive(Default)]
pub struct Wave {
    pub blocks: Vec<Block>,
    pub end: Option<Result<(), Stop>>,
}

impl Ahead {
    /// Begins to read, in blocks of about `size` bytes. `delimiter` is between cells.
    pub fn start(source: impl Read + Send + 'static, size: usize, delimiter: u8) -> Result<Ahead> {
        let together = BLOCKS_PER_THREAD * rayon::current_num_threads();
        let (to_user, blocks) = mpsc::sync_channel(together);
        let (spent, to_fill) = mpsc::channel();
        // It is not waited for: after an error stdin may stay open.
        thread::Builder::new()
            .name("blocks".into())
            .spawn(move || hand_over(Blocks::new(source, size, delimiter), &to_user, &to_fill))
            .context("reading needs a thread")?;
        Ok(Ahead {
            blocks,
            spent,
            first: None,
            together,
        })
    }

    /// Waits for the next block. There is none after an error or the end.
    pub fn next(&mut self) -> Next {
        match self.first.take() {
            Some(block) => Ok(Some(block)),
            None => self.blocks.recv().unwrap_or(Err(Stop::Gone)),
        }
    }

    /// Makes a block the next one.
    pub fn put_back(&mut self, block: Block) {
        self.first = Some(block);
    }

    /// Waits for the next block, and adds those that have been read, up to a limit.
    pub fn wave(&mut self) -> Wave {
        let mut wave = Wave::default();
        let mut next = Some(self.next());
        while let Some(message) = next.take() {
            match message {
                Ok(Some(block)) => wave.blocks.push(block),
                Ok(None) => wave.end = Some(Ok(())),
                Err(stop) => wave.end = Some(Err(stop)),
            }
            if wave.blocks.len() < self.together && wave.end.is_none() {
                next = self.blocks.try_recv().ok();
            }
        }
        wave
    }

    /// Gives a block back, to be filled anew.
    pub fn give_back(&self, block: Block) {
        // After the last one nobody needs it.
        let _ = self.spent.send(block.text);
    }
}

/// Hands all blocks over, also those before an error, and at last the end or the error.
fn hand_over(mut blocks: Blocks<impl Read>, to_user: &SyncSender<Next>, spent: &Receiver<Vec<u8>>) {
    loop {
        let next = blocks.next(spent.try_recv().unwrap_or_default());
        let is_last = !matches!(next, Ok(Some(_)));
        // If nobody wants more, another error has been found.
        if to_user.send(next).is_err() || is_last {
            return;
        }
    }
}
