//! Compressed files: what was written is read, and of a file that is cut short or changed no other
//! content.

#![no_main]

use std::io::{Cursor, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arbitrary::Arbitrary;
use files::{Monitor, open};
use flate2::{Compression, GzBuilder};
use libfuzzer_sys::fuzz_target;
use tempfile::NamedTempFile;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Decompressed bytes of a file of any bytes that are read.
const MOST: u64 = 1 << 20;

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Format {
    Gzip,
    /// Members as bgzip writes them.
    Blocks,
    Zstd,
    Stored,
    Deflated,
}

#[derive(Arbitrary, Debug)]
enum Change {
    None,
    Cut(u16),
    Flip(u16, u8),
}

#[derive(Arbitrary, Debug)]
enum Input<'a> {
    /// A file of any bytes.
    File(&'a [u8]),
    Content(Format, Change, &'a [u8]),
}

fn member(extra: &[u8], content: &[u8]) -> Vec<u8> {
    let builder = GzBuilder::new();
    let builder = match extra {
        [] => builder,
        _ => builder.extra(extra),
    };
    let mut encoder = builder.write(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn compressed(format: Format, content: &[u8]) -> Vec<u8> {
    let archive = |method| {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(method);
        archive.start_file("file", options).unwrap();
        archive.write_all(content).unwrap();
        archive.finish().unwrap().into_inner()
    };
    match format {
        Format::Gzip => member(&[], content),
        Format::Blocks => {
            let block = |content| {
                let of_size = |size: u16| {
                    let [low, high] = size.to_le_bytes();
                    member(&[b'B', b'C', 2, 0, low, high], content)
                };
                // The field has the size of the block, less one.
                of_size((of_size(0).len() - 1).try_into().unwrap())
            };
            let (first, second) = content.split_at(content.len() / 2);
            // The empty member that ends each such file (SAM specification, 4.1.2).
            let last = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0";
            [&block(first)[..], &block(second), last].concat()
        }
        Format::Zstd => {
            let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
            encoder.include_checksum(true).unwrap();
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        }
        Format::Stored => archive(CompressionMethod::Stored),
        Format::Deflated => archive(CompressionMethod::Deflated),
    }
}

/// Returns the content of a file, up to `most` bytes, and whether there were warnings.
fn read(file: &[u8], most: u64) -> anyhow::Result<(Vec<u8>, bool)> {
    // Another file each time: to truncate one would write it to the disk.
    let mut stored = NamedTempFile::new().unwrap();
    stored.write_all(file).unwrap();
    let mut content = Vec::new();
    let warned = Arc::new(AtomicBool::new(false));
    let warn = warned.clone();
    let monitor = Monitor::new(|_| (), move |_| warn.store(true, Ordering::Relaxed));
    open(stored.path(), &monitor)?
        .take(most)
        .read_to_end(&mut content)?;
    Ok((content, warned.load(Ordering::Relaxed)))
}

fuzz_target!(|input: Input| {
    let (format, change, content) = match input {
        Input::File(file) => return drop(read(file, MOST)),
        Input::Content(format, change, content) => (format, change, content),
    };
    // What is compressed within an archive is decompressed, too, so the content begins like text.
    let content = &[b"text", content].concat()[..];
    let mut file = compressed(format, content);
    let whole = file.clone();
    match change {
        Change::None => {}
        Change::Cut(place) => file.truncate(usize::from(place)),
        Change::Flip(place, bits) => {
            let place = usize::from(place) % file.len();
            file[place] ^= bits;
        }
    }
    match read(&file, u64::MAX) {
        // Without its first bytes a file is not known to be compressed.
        Ok((found, _)) if file[..file.len().min(4)] != whole[..4] => {
            assert!(found == content || found == file)
        }
        // What gunzip ignores may have been a member.
        Ok((found, true)) => assert!(content.starts_with(&found)),
        Ok((found, false)) => {
            assert_eq!(found, content);
            assert!(
                file.len() == whole.len(),
                "cut at {} of {}",
                file.len(),
                whole.len()
            );
        }
        Err(error) => assert_ne!(file, whole, "{error:#}"),
    }
});
