use std::io::{BufReader, Cursor, Write};
use std::sync::mpsc;

use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};

use super::*;

/// Bytes of the header of a block, of which the last are its size.
const HEADER: usize = 18;

fn block(text: &[u8]) -> Vec<u8> {
    let header = GzBuilder::new().extra(*b"BC\x02\0\0\0");
    let mut encoder = header.write(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    let mut block = encoder.finish().unwrap();
    let size = block.len() as u16 - 1;
    block[HEADER - 2..HEADER].copy_from_slice(&size.to_le_bytes());
    block
}

fn plain(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let (text, warnings) = read_and_warn(bytes)?;
    assert_eq!(warnings, [""; 0]);
    Ok(text)
}

/// Returns the content and the warnings.
fn read_and_warn(bytes: &[u8]) -> io::Result<(Vec<u8>, Vec<String>)> {
    let mut text = Vec::new();
    let raw = BufReader::with_capacity(7, Cursor::new(bytes.to_vec()));
    let (warning, warnings) = mpsc::channel();
    let warn = move |sentence: &str| warning.send(sentence.to_owned()).unwrap();
    gzip(raw, warn).read_to_end(&mut text)?;
    Ok((text, warnings.iter().collect()))
}

fn kind(bytes: &[u8]) -> ErrorKind {
    read(bytes).unwrap_err().kind()
}

#[test]
fn a_file_without_the_last_block_is_read_with_a_warning() {
    let blocks = [
        block(b">a\nAC"),
        block(b"GT\n>b\n"),
        block(b"TT\n"),
        block(b""),
    ];
    assert_eq!(read(&blocks.concat()).unwrap(), b">a\nACGT\n>b\nTT\n");
    for end in 1..blocks.len() {
        let (text, warnings) = read_and_warn(&blocks[..end].concat()).unwrap();
        assert!(b">a\nACGT\n>b\nTT\n".starts_with(&text), "{end}");
        assert_eq!(warnings, [MISSING_BLOCK], "{end}");
    }
}

#[test]
fn members_of_both_kinds_are_read() {
    let [one, two, end] = [&b"one"[..], b"two", b""].map(block);
    let plain = plain(b"plain");
    for (members, text) in [
        (vec![&plain], &b"plain"[..]),
        (vec![&plain, &plain], b"plainplain"),
        (vec![&one, &plain], b"oneplain"),
        (vec![&one, &end, &plain, &two, &end], b"oneplaintwo"),
        (vec![&one, &end, &two, &end], b"onetwo"),
        (vec![&end], b""),
    ] {
        let bytes: Vec<u8> = members.into_iter().flatten().copied().collect();
        assert_eq!(read(&bytes).unwrap(), text);
    }
    let (text, warnings) = read_and_warn(&[plain, one].concat()).unwrap();
    assert_eq!(
        (&text[..], &*warnings),
        (&b"plainone"[..], &[MISSING_BLOCK.to_owned()][..])
    );
}

#[test]
fn zeros_may_follow() {
    let blocks = [block(b"one"), block(b"")].concat();
    for member in [plain(b"one"), blocks] {
        assert_eq!(read(&[&member[..], &[0; 100]].concat()).unwrap(), b"one");
    }
    // A block that is cut off is not hidden by them.
    let cut = [&block(b"one")[..], &[0; 100]].concat();
    assert_eq!(read_and_warn(&cut).unwrap().1, [MISSING_BLOCK]);
}

/// As gunzip reads them. A published human genome has such bytes.
#[test]
fn bytes_behind_the_last_member_are_ignored_with_a_warning() {
    let blocks = [block(b"one"), block(b"")].concat();
    for member in [plain(b"one"), blocks] {
        for rest in [&[0, 1][..], b"no member", b"\n"] {
            let bytes = [&member[..], rest].concat();
            let (text, warnings) = read_and_warn(&bytes).unwrap();
            assert_eq!(text, b"one");
            let zeros = rest.iter().take_while(|byte| **byte == 0).count();
            let warning = format!(
                "the bytes behind the gzip data, from byte {} on, are not gzip and are ignored",
                member.len() + zeros
            );
            assert_eq!(warnings, [warning]);
        }
    }
    // Behind a block there is another one, whose header may be damaged.
    let damaged = [&block(b"one")[..], b"no block, but a text"].concat();
    assert_eq!(kind(&damaged), ErrorKind::InvalidInput);
}

/// Blocks before a read error are whole, whether or not the error comes within one.
#[test]
fn reading_fails_within_a_batch_of_blocks() {
    let blocks = [block(b"one"), block(b"two"), block(b"three")];
    let bytes = blocks.concat();
    let whole = blocks[0].len() + blocks[1].len();
    for length in whole..=bytes.len() {
        let text = match length == bytes.len() {
            true => &b"onetwothree"[..],
            false => b"onetwo",
        };
        let failing = BufReader::with_capacity(7, Failing(&bytes[..length]));
        let mut batch = Batch::default();
        assert!(batch.take(&mut Counted::new(failing)));
        assert_eq!(batch.count(), 2 + usize::from(length == bytes.len()));
        let failing = BufReader::with_capacity(7, Failing(&bytes[..length]));
        let mut found = Vec::new();
        let error = gzip(failing, |_| ()).read_to_end(&mut found).unwrap_err();
        assert_eq!(error.to_string(), "the disk is on fire", "{length}");
        assert!(found.starts_with(text), "{length}");
    }
}

/// A member with more content than a block may have is read as plain gzip, and tried as a block only
/// once.
#[test]
fn blocks_that_are_not_intact_are_taken_once() {
    let long = block(&[b'a'; (1 << 16) + 1]);
    let blocks = [&long[..], &long, &block(b"one"), &long, &block(b"")].concat();
    let text = [&[b'a'; 2 << 16][..], b"aaone", &[b'a'; (1 << 16) + 1]].concat();
    assert!(read(&blocks).unwrap() == text);
    let (mut raw, mut batch) = (Counted::new(&*blocks), Batch::default());
    assert!(!batch.take(&mut raw));
    assert_eq!(raw.position(), 0);
    raw.read_exact(&mut vec![0; 2 * long.len()]).unwrap();
    assert!(!batch.take(&mut raw));
    raw.read_exact(&mut vec![0; blocks.len() - 2 * long.len()])
        .unwrap();
    assert!(!batch.take(&mut raw));
}

/// Fails once it has given its bytes.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::new(
                ErrorKind::InvalidData,
                "the disk is on fire",
            )),
            count => Ok(count),
        }
    }
}

#[test]
fn errors_name_the_place_but_those_of_the_reader_below_stay() {
    let member = plain(b"one");
    for length in 1..member.len() {
        let message = read(&member[..length]).unwrap_err().to_string();
        let expected =
            format!("the gzip data is cut short after {length} bytes: copy or download it again");
        assert_eq!(message, expected);
        let failing = BufReader::new(Failing(&member[..length]));
        let failed = gzip(failing, |_| ())
            .read_to_end(&mut Vec::new())
            .unwrap_err();
        assert_eq!(failed.to_string(), "the disk is on fire");
    }
    let mut damaged = [&member[..], &member].concat();
    damaged[2 * member.len() - 8] ^= 1;
    let message = read(&damaged).unwrap_err().to_string();
    let start = format!("the gzip data is damaged near byte {} (", 2 * member.len());
    assert!(message.starts_with(&start), "{message}");
    assert!(
        message.ends_with("): copy or download it again"),
        "{message}"
    );
}

/// There are more blocks than are taken together, and what is wrong with one has its place.
#[test]
fn blocks_are_decompressed_on_threads() {
    let byte = |number: u32| (number.wrapping_mul(number) >> 7) as u8 & 63;
    let text: Vec<u8> = (0..3_000_000).map(byte).collect();
    let mut blocks: Vec<_> = text.chunks(10_000).map(block).collect();
    blocks.push(block(b""));
    assert!(read(&blocks.concat()).unwrap() == text);
    let bytes = blocks.concat();
    let mut raw = Counted::new(&*bytes);
    let mut batch = Batch::default();
    let (mut taken, mut batches) = (0, Vec::new());
    while batch.take(&mut raw) {
        taken += batch.count();
        batches.push(batch.count());
    }
    assert_eq!(
        (taken, raw.position()),
        (301, bytes.len() as u64),
        "{batches:?}"
    );
    assert!(!batch.is_cut());
    let sum = blocks[200].len() - 8;
    blocks[200][sum] ^= 1;
    let mut found = Vec::new();
    let error = gzip(&*blocks.concat(), |_| ()).read_to_end(&mut found);
    let end: usize = blocks[..=200].iter().map(Vec::len).sum();
    let message = error.unwrap_err().to_string();
    let start = format!("the gzip data is damaged near byte {end} (corrupt gzip stream");
    assert!(message.starts_with(&start), "{message}");
    assert!(found == text[..201 * 10_000]);
}

#[test]
fn damaged_lengths_are_found() {
    let (one, two) = (block(b"one"), block(b"two"));
    let whole = [&one[..], &two, &block(b"")].concat();
    for (place, bits) in [
        (HEADER - 2, 1),
        (HEADER - 1, 1),
        (one.len() + HEADER - 2, 8),
    ] {
        let mut damaged = whole.clone();
        damaged[place] ^= bits;
        assert_eq!(kind(&damaged), ErrorKind::InvalidData, "{place}");
    }
    // The extra field of the first block seems to end where the text of the second begins.
    let mut damaged = whole;
    let length = one.len() as u16 + 6;
    damaged[10..12].copy_from_slice(&length.to_le_bytes());
    assert_eq!(kind(&damaged), ErrorKind::InvalidData);
}

#[test]
fn the_size_may_follow_other_fields() {
    assert_eq!(bgzip::size_of_block(b"BC\x02\0\x1b\0"), Some(28));
    assert_eq!(bgzip::size_of_block(b"XY\x01\0zBC\x02\0\x1b\0"), Some(28));
    for extra in [&b""[..], b"BC", b"BC\x02\0\x1b", b"XY\x01\0z", b"BC\x01\0z"] {
        assert_eq!(bgzip::size_of_block(extra), None);
    }
}
