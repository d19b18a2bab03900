//! Reading files on a thread of its own, ahead of their use.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread;

use anyhow::{Context, Result};
use files::{Monitor, open};

use crate::common::report::warn;

/// Bytes of text that are handed over in one go.
const BLOCK: usize = 1 << 20;

/// Blocks that wait to be used, at most.
const AHEAD: usize = 4;

/// Reads files one after the other, and decompresses them. It ends when dropped.
pub struct ReadAhead {
    pieces: Receiver<Piece>,
    spent: Sender<Vec<u8>>,
}

/// A part of a file.
pub enum Piece {
    /// The next text, decompressed, at least a byte.
    Text(Block),
    /// The end of the file, or where reading it failed. The next piece is of the next file.
    End(Result<()>),
}

pub struct Block {
    pub text: Vec<u8>,
    /// Bytes that were read up to here, of all files, as they are in the files.
    pub read: u64,
}

impl ReadAhead {
    /// Begins to read; `-` stands for stdin.
    pub fn start(paths: &[PathBuf]) -> Result<ReadAhead> {
        let (to_user, pieces) = mpsc::sync_channel(AHEAD);
        let (spent, to_fill) = mpsc::channel();
        let paths = paths.to_vec();
        thread::Builder::new()
            .name("read-ahead".into())
            .spawn(move || read_files(&paths, &to_user, &to_fill))
            .context("reading needs a thread")?;
        Ok(ReadAhead { pieces, spent })
    }

    /// Waits for the next piece. There is none after the end of the last file.
    pub fn next(&self) -> Piece {
        let gone = || Piece::End(Err(io::Error::other("reading has stopped").into()));
        self.pieces.recv().unwrap_or_else(|_| gone())
    }

    /// Gives a block back, to be filled anew.
    pub fn give_back(&self, block: Block) {
        // After the last file nobody needs it.
        let _ = self.spent.send(block.text);
    }
}

fn read_files(paths: &[PathBuf], to_user: &SyncSender<Piece>, spent: &Receiver<Vec<u8>>) {
    let monitor = Monitor::new(|_| (), warn);
    for path in paths {
        let outcome = read_file(path, &monitor, |text| {
            let read = monitor.bytes_read();
            let sent = to_user.send(Piece::Text(Block { text, read })).is_ok();
            sent.then(|| spent.try_recv().unwrap_or_default())
        });
        if to_user.send(Piece::End(outcome)).is_err() {
            return;
        }
    }
}

/// Hands the text over block by block, also what comes before an error. `hand_over` gives a block
/// to fill next, or nothing if nobody wants more.
fn read_file(
    path: &Path,
    monitor: &Monitor,
    mut hand_over: impl FnMut(Vec<u8>) -> Option<Vec<u8>>,
) -> Result<()> {
    let mut text = open(path, monitor)?;
    let mut block = Vec::new();
    let mut any = false;
    loop {
        block.clear();
        block.reserve_exact(BLOCK);
        let outcome = text.by_ref().take(BLOCK as u64).read_to_end(&mut block);
        if !block.is_empty() {
            any = true;
            match hand_over(block) {
                Some(next) => block = next,
                None => return Ok(()),
            }
        }
        match outcome {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if any => return Err(error.into()),
            Err(error) => return Err(error).context("nothing before the first record"),
        }
    }
}
