//! The compression of files.

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Not in a way that is recognised.
    Plain,
    /// By gzip or bgzip.
    Gzip,
    /// By zstd.
    Zstd,
    /// By bzip2.
    Bzip2,
    /// By xz.
    Xz,
    /// In a zip archive.
    Zip,
    /// In a format that gridstride does not read: its name.
    Unsupported(&'static str),
}

impl Codec {
    /// The number of bytes at the start of a file that tell its codec.
    pub const HEAD_BYTES: usize = 10;

    /// Returns the codec of a file that begins with `head`: its first
    /// [`HEAD_BYTES`](Self::HEAD_BYTES) bytes, or all of them if there are fewer.
    ///
    /// # Examples
    /// ```
    /// use files::decoding::Codec;
    ///
    /// assert_eq!(Codec::from_head(b"\x1f\x8b\x08\x04\0\0\0\0\0\xff"), Codec::Gzip);
    /// assert_eq!(Codec::from_head(b"BZh91AY&SY"), Codec::Bzip2);
    /// assert_eq!(Codec::from_head(b">a\nGATTACA"), Codec::Plain);
    /// ```
    pub fn from_head(head: &[u8]) -> Codec {
        match head {
            [0x1f, 0x8b, ..] => Codec::Gzip,
            // A frame, or a frame to skip.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Codec::Zstd,
            // A file, or the end of an archive without files.
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Codec::Zip,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Codec::Xz,
            [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => Codec::Unsupported("7-Zip"),
            // A block, or the end of a file without blocks.
            [b'B', b'Z', b'h', b'1'..=b'9', block @ ..]
                if block.starts_with(b"1AY&SY")
                    || block.starts_with(b"\x17\x72\x45\x38\x50\x90") =>
            {
                Codec::Bzip2
            }
            _ => Codec::Plain,
        }
    }
}
