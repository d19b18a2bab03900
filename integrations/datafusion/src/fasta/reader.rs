//! Opens a file of an object store for blocking reads, decompressed.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use datafusion::common::Result;
use datafusion::object_store::path::Path;
use datafusion::object_store::{Error, GetResultPayload, ObjectStore, ObjectStoreExt};
use datafusion::physical_plan::metrics::Count;
use futures::{Stream, StreamExt};
use gzip::Gzip;
use tokio::runtime::Handle;

/// Bytes that are read, and that are parsed, in one go.
const BUFFER: usize = 1 << 18;

/// Bytes that tell how a file is compressed.
const HEAD: u64 = 6;

/// The largest windows of zstd, those of `zstd --long=31`, as a power of 2.
const WINDOW_LOG: u32 = if cfg!(target_pointer_width = "64") {
    31
} else {
    30
};

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
///
/// # Errors
/// If the file cannot be read, has no bytes, or is compressed in another way.
pub fn decompressed(mut raw: Box<dyn Read + Send>) -> io::Result<impl BufRead> {
    let mut head = Vec::new();
    raw.by_ref().take(HEAD).read_to_end(&mut head)?;
    if head.is_empty() {
        let message = "it has no bytes: copy or download it again";
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    let compression = Compression::of(&head);
    let whole = BufReader::with_capacity(BUFFER, Cursor::new(head).chain(raw));
    let text: Box<dyn Read + Send> = match compression {
        Compression::None => Box::new(whole),
        Compression::Gzip => Box::new(Gzip::new(whole)),
        Compression::Zstd => {
            let mut decoder = zstd::Decoder::with_buffer(whole)?;
            decoder.window_log_max(WINDOW_LOG)?;
            Box::new(decoder)
        }
        Compression::Unknown(name) => {
            let message = format!("it is compressed by {name}: compress it by gzip or zstd");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
    };
    Ok(BufReader::with_capacity(BUFFER, text))
}

/// How a file is compressed.
enum Compression {
    None,
    Gzip,
    Zstd,
    /// A known format that cannot be read.
    Unknown(&'static str),
}

impl Compression {
    /// Tells the compression by the first bytes of a file.
    fn of(head: &[u8]) -> Compression {
        match head {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            // A frame, or a frame to skip.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Compression::Unknown("bzip2"),
            [0xfd, b'7', b'z', b'X', b'Z', 0] => Compression::Unknown("xz"),
            [b'P', b'K', 3, 4, ..] => Compression::Unknown("zip"),
            _ => Compression::None,
        }
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
