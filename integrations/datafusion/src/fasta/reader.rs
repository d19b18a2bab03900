//! Opens a file of an object store for blocking reads, decompressed.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use datafusion::common::Result;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::object_store::path::Path;
use datafusion::object_store::{Error, GetResultPayload, ObjectStore, ObjectStoreExt};
use datafusion::physical_plan::metrics::Count;
use futures::{Stream, StreamExt};
use tokio::runtime::Handle;

/// Bytes that are read, and that are parsed, in one go.
const BUFFER: usize = 1 << 18;

/// Bytes that tell how a file is compressed.
const HEAD: u64 = 6;

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
    Ok(Box::new(Counted { inner, bytes }))
}

/// Returns the text of a file, decompressed if its first bytes say so.
pub fn decompressed(mut raw: Box<dyn Read + Send>) -> Result<impl BufRead> {
    let mut head = Vec::new();
    raw.by_ref().take(HEAD).read_to_end(&mut head)?;
    let compression = compression(&head);
    let whole = BufReader::with_capacity(BUFFER, Cursor::new(head).chain(raw));
    let text = compression.convert_read(whole)?;
    Ok(BufReader::with_capacity(BUFFER, text))
}

fn compression(head: &[u8]) -> FileCompressionType {
    match head {
        [0x1f, 0x8b, ..] => FileCompressionType::GZIP,
        // A frame, or a frame to skip.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            FileCompressionType::ZSTD
        }
        [b'B', b'Z', b'h', ..] => FileCompressionType::BZIP2,
        [0xfd, b'7', b'z', b'X', b'Z', 0] => FileCompressionType::XZ,
        _ => FileCompressionType::UNCOMPRESSED,
    }
}

/// Counts the bytes that are read.
struct Counted {
    inner: Box<dyn Read + Send>,
    bytes: Count,
}

impl Read for Counted {
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
