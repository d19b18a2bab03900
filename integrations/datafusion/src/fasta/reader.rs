//! Opens a file of an object store for blocking reads, decompressed.

use std::io::{self, Cursor, Read};

use datafusion::common::Result;
use datafusion::object_store::path::Path;
use datafusion::object_store::{Error, GetResultPayload, ObjectStore, ObjectStoreExt};
use datafusion::physical_plan::metrics::Count;
use files::Monitor;
use futures::{Stream, StreamExt};
use tokio::runtime::Handle;

/// Opens a file, whose bytes are counted in `bytes` as they are in the store.
pub async fn open(
    store: &dyn ObjectStore,
    path: &Path,
    bytes: Count,
) -> Result<Box<dyn Read + Send>> {
    let inner: Box<dyn Read + Send> = match store.get(path).await?.payload {
        GetResultPayload::File(file, _) => Box::new(file),
        GetResultPayload::Stream(stream) => Box::new(Chunks {
            stream,
            runtime: Handle::current(),
            chunk: Cursor::new(None),
        }),
    };
    Ok(Box::new(Metered { inner, bytes }))
}

/// Returns the text of a file, decompressed if its first bytes say so. `name` stands before warnings
/// in the log.
///
/// # Errors
/// If the file cannot be read, or is compressed in a way that is not read.
pub fn decompressed(raw: Box<dyn Read + Send>, name: &str) -> io::Result<Box<dyn Read + Send>> {
    let monitor = Monitor::new(|_| (), |warning| log::warn!("{warning}"));
    let text = files::decompressed(raw, name, &monitor);
    text.map_err(|error| io::Error::other(format!("{error:#}")))
}

/// Counts the bytes that are read, for the metrics.
struct Metered {
    inner: Box<dyn Read + Send>,
    bytes: Count,
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes.add(count);
        Ok(count)
    }
}

/// Reads a stream of chunks on a thread that may block.
struct Chunks<S, B> {
    stream: S,
    runtime: Handle,
    chunk: Cursor<Option<B>>,
}

impl<S, B> Read for Chunks<S, B>
where
    S: Stream<Item = Result<B, Error>> + Unpin,
    B: AsRef<[u8]>,
{
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match self.chunk.get_ref() {
                Some(chunk) => {
                    let start = self.chunk.position() as usize;
                    (&chunk.as_ref()[start..]).read(buffer)?
                }
                None => 0,
            };
            if read > 0 || buffer.is_empty() {
                self.chunk.set_position(self.chunk.position() + read as u64);
                return Ok(read);
            }
            match self.runtime.block_on(self.stream.next()) {
                Some(chunk) => self.chunk = Cursor::new(Some(chunk?)),
                None => return Ok(0),
            }
        }
    }
}
