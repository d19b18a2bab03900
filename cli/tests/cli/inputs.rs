//! Compressed inputs of all subcommands, whole and damaged.

use std::fs;
use std::io::{Cursor, Write};

use flate2::{Compression, GzBuilder};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::program::{Folder, Program, gzip, says};

/// A subcommand with an input, and what it is called with before and behind the input.
struct Case {
    program: Program,
    input: &'static str,
    before: Vec<String>,
    behind: Vec<String>,
}

impl Case {
    fn arguments(&self, input: &str) -> Vec<String> {
        let input = [input.to_owned()];
        [&self.before[..], &input, &self.behind].concat()
    }

    fn content(&self) -> Vec<u8> {
        fs::read(self.input).unwrap()
    }

    /// Returns the output of `--out`.
    fn output(&self, folder: &Folder, input: &str) -> Vec<u8> {
        let out = folder.argument("out");
        let arguments = [self.arguments(input), vec!["--out".into(), out]].concat();
        self.program.succeed(&arguments);
        fs::read(folder.path("out")).unwrap()
    }
}

fn cases(folder: &Folder) -> Vec<Case> {
    let strings = |texts: &[&str]| texts.iter().map(|&text| text.into()).collect();
    let numbers: Vec<u8> = (0..600u32)
        .flat_map(|i| ((i * i % 97) as f32).to_le_bytes())
        .collect();
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (20, 30), }";
    let header = format!("\u{1}\0\u{76}\0{header:<117}\n");
    let npy = [b"\x93NUMPY", header.as_bytes(), &numbers].concat();
    let npy: &'static str = folder.file("a.npy", npy).leak();
    vec![
        Case {
            program: Program("time-series"),
            input: "../examples/data/rooms.csv",
            before: strings(&["--every", "6h"]),
            behind: vec![],
        },
        Case {
            program: Program("box-overlap"),
            input: "../examples/data/pipes/set1.csv",
            before: vec![],
            behind: strings(&["../examples/data/pipes/set2.csv"]),
        },
        Case {
            program: Program("tensor-sketch"),
            input: "../examples/data/lambda_phage.fa",
            before: strings(&["--dim", "16"]),
            behind: vec![],
        },
        Case {
            program: Program("edit-distance"),
            input: "../examples/data/lambda_phage.fa",
            before: strings(&["--device", "cpu"]),
            behind: strings(&["../examples/data/lambda_phage.fa"]),
        },
        Case {
            program: Program("matmul"),
            input: npy,
            before: strings(&["--trans-b", "--b", npy, "--repeat", "1", "--a"]),
            behind: vec![],
        },
    ]
}

/// As bgzip writes it: blocks with their size in the header, and an empty one at the end.
fn bgzip(text: &[u8]) -> Vec<u8> {
    let block = |text: &[u8]| {
        let compress = |size: u16| {
            let [low, high] = size.to_le_bytes();
            let builder = GzBuilder::new().extra([b'B', b'C', 2, 0, low, high]);
            let mut encoder = builder.write(Vec::new(), Compression::default());
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        };
        compress((compress(0).len() - 1) as u16)
    };
    text.chunks(10_000).map(block).collect::<Vec<_>>().concat()
}

/// The empty block of the SAM specification.
const LAST_BLOCK: [u8; 28] = [
    0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, 0x42, 0x43, 2, 0, 0x1b, 0, 3, 0, 0, 0, 0, 0, 0, 0,
    0, 0,
];

fn zstd(text: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn xz(text: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(text: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), Default::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// As `zstd --long` writes it.
fn zstd_with_window(text: &[u8], log: u32) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(log).unwrap();
    encoder.write_all(text).unwrap();
    encoder.flush().unwrap();
    encoder.finish().unwrap()
}

fn zip(files: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, content) in files {
        match name.ends_with('/') {
            true => writer.add_directory(*name, options).unwrap(),
            false => writer.start_file(*name, options).unwrap(),
        }
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn zipped(text: &[u8]) -> Vec<u8> {
    zip(&[("folder/data", text)], CompressionMethod::Deflated)
}

/// Where the entry of the last file begins in the directory at the end of an archive.
fn directory(archive: &[u8]) -> usize {
    archive
        .windows(4)
        .rposition(|bytes| bytes == b"PK\x01\x02")
        .unwrap()
}

fn halves(text: &[u8], compress: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    halves_of(text, &compress, &compress)
}

fn halves_of(
    text: &[u8],
    first: impl Fn(&[u8]) -> Vec<u8>,
    second: impl Fn(&[u8]) -> Vec<u8>,
) -> Vec<u8> {
    let (start, end) = text.split_at(text.len() / 2);
    [first(start), second(end)].concat()
}

#[test]
fn every_format() {
    let folder = Folder::new();
    for case in cases(&folder) {
        let text = case.content();
        let expected = case.output(&folder, case.input);
        let skipped = [
            &[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3],
            &zstd(&text)[..],
        ]
        .concat();
        // A matrix is no text.
        let marked = match text.starts_with(b"\x93NUMPY") {
            true => text.clone(),
            false => ["\u{feff}".as_bytes(), &text].concat(),
        };
        let with_more = [
            ("data/", &b""[..]),
            ("data/file", &text),
            ("__MACOSX/._file", b"attributes"),
        ];
        for (name, content) in [
            ("gzip", gzip(&text)),
            ("gzip of two members", halves(&text, gzip)),
            (
                "gzip and an empty member",
                [gzip(&text), gzip(b"")].concat(),
            ),
            ("bgzip", [bgzip(&text), LAST_BLOCK.into()].concat()),
            ("bgzip and gzip", halves_of(&text, bgzip, gzip)),
            ("gzip and zeros", [gzip(&text), vec![0; 100_000]].concat()),
            (
                "bgzip and zeros",
                [&bgzip(&text), &LAST_BLOCK[..], &[0; 512]].concat(),
            ),
            ("text with a byte order mark", marked.clone()),
            ("gzip with a byte order mark", gzip(&marked)),
            ("zstd", zstd(&text)),
            ("zstd with a large window", zstd_with_window(&text, 28)),
            ("zstd of two frames", halves(&text, zstd)),
            ("zstd with a skippable frame", skipped),
            ("xz", xz(&text)),
            ("xz of two streams", halves(&text, xz)),
            ("bzip2", bzip2(&text)),
            ("bzip2 of two streams", halves(&text, bzip2)),
            ("zip", zipped(&text)),
            (
                "zip, stored",
                zip(&[("data", &text)], CompressionMethod::Stored),
            ),
            (
                "zip with folders",
                zip(&with_more, CompressionMethod::Deflated),
            ),
            (
                "zip of gzip",
                zip(&[("data.gz", &gzip(&text))], CompressionMethod::Stored),
            ),
        ] {
            // The name says nothing about the format.
            let file = folder.file("input", &content);
            assert_eq!(
                case.output(&folder, &file),
                expected,
                "{} {name}",
                case.program.0
            );
            let out = folder.argument("stdin");
            let arguments = [case.arguments("-"), vec!["--out".into(), out]].concat();
            case.program.read(&arguments, &content);
            let found = fs::read(folder.path("stdin")).unwrap();
            assert_eq!(found, expected, "{} {name} on stdin", case.program.0);
        }
    }
}

/// What gunzip ignores, and a file of bgzip that may be whole or not.
#[test]
fn doubtful_gzip_is_read_with_a_warning() {
    let folder = Folder::new();
    for case in cases(&folder) {
        let text = case.content();
        let expected = case.output(&folder, case.input);
        let padded = [&gzip(&text)[..], &[0; 9], b"no member of any kind"].concat();
        for (content, said) in [
            (
                bgzip(&text),
                "the empty block that ends each file of BGZF (bgzip) is missing",
            ),
            (padded, "are not gzip and are ignored"),
        ] {
            let file = folder.file("doubtful", content);
            let out = folder.argument("out");
            let arguments = [case.arguments(&file), vec!["--out".into(), out]].concat();
            let output = case.program.run(&arguments);
            let errors = String::from_utf8(output.stderr).unwrap();
            says(&errors, &["warning: ", "doubtful: ", said]);
            assert!(output.status.success(), "{errors}");
            assert_eq!(fs::read(folder.path("out")).unwrap(), expected);
        }
    }
}

#[test]
fn cut_and_damaged_files() {
    let folder = Folder::new();
    let kept = folder.file("kept", "as it was");
    let names = folder.names().len() + 2;
    for case in cases(&folder) {
        let text = case.content();
        let refuse = |name: &str, content: &[u8], parts: &[&str]| {
            let file = folder.file("bad", content);
            let arguments = [case.arguments(&file), vec!["--out".into(), kept.clone()]].concat();
            let remedy = ["cannot read ", "bad: ", "copy or download it again"];
            let remedy = if case.program.0 == "tensor-sketch" {
                &remedy[1..]
            } else {
                &remedy
            };
            println!("{} {name}", case.program.0);
            case.program.refuse(&arguments, &[remedy, parts].concat());
        };
        // What is decompressed first may show damage, as a bad line.
        let refuse_somehow = |content: &[u8]| {
            let file = folder.file("bad", content);
            let arguments = [case.arguments(&file), vec!["--out".into(), kept.clone()]].concat();
            case.program.refuse(&arguments, &["bad: "]);
        };
        for (name, whole) in [
            ("gzip", gzip(&text)),
            ("zstd", zstd(&text)),
            ("xz", xz(&text)),
            ("bzip2", bzip2(&text)),
        ] {
            // Behind the header, at the start of the data, in the middle, and in the checksum.
            for length in [11, 30, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
                let place = format!("the {name} data is cut short after {length} bytes");
                refuse(name, &whole[..length], &[&place]);
            }
        }
        for (name, whole) in [("gzip", gzip(&text)), ("zstd", zstd(&text))] {
            // In the second part as well.
            let two = halves(&text, if name == "gzip" { gzip } else { zstd });
            let place = format!("the {name} data is cut short after {} bytes", two.len() - 7);
            refuse(name, &two[..two.len() - 7], &[&place]);

            let mut damaged = whole.clone();
            damaged[whole.len() / 2..][..9].fill(0x55);
            refuse_somehow(&damaged);

            let mut damaged = whole.clone();
            damaged[whole.len() - 2] ^= 1;
            if name == "zstd" {
                refuse(
                    name,
                    &damaged,
                    &["the zstd data is damaged near byte ", "checksum"],
                );
            }
            damaged[whole.len() - 6] ^= 1;
            refuse(
                name,
                &damaged,
                &[&format!("the {name} data is damaged near byte ")],
            );
        }
        let whole = zipped(&text);
        for length in [10, whole.len() / 2, whole.len() - 1] {
            refuse(
                "zip",
                &whole[..length],
                &["the zip archive is cut short or damaged"],
            );
        }
        for method in [CompressionMethod::Deflated, CompressionMethod::Stored] {
            let whole = zip(&[("data", &text)], method);
            let mut damaged = whole.clone();
            damaged[whole.len() / 3] ^= 0x10;
            refuse_somehow(&damaged);
            // The checksum and the size in the directory at the end of the archive.
            let directory = directory(&whole);
            for (place, said) in [
                (16, "the checksum differs"),
                (24, " bytes than the archive says"),
            ] {
                let mut damaged = whole.clone();
                damaged[directory + place] ^= 1;
                refuse(
                    "zip",
                    &damaged,
                    &["the zip data is damaged near byte ", said],
                );
            }
        }
    }
    assert_eq!(fs::read(folder.path("kept")).unwrap(), b"as it was");
    assert_eq!(folder.names().len(), names, "{:?}", folder.names());
}

/// A header has no checksum. If its length is damaged, the data of the next block can seem to be its
/// own, and each of them has the right checksum.
#[test]
fn blocks_that_a_damaged_header_hides() {
    let folder = Folder::new();
    let record = |name: &str| format!("{name}{}\n", "ACGTTGCA".repeat(1249));
    let text = record(">first\n") + &record(">other\n");
    let mut damaged = bgzip(text.as_bytes());
    let size = u16::from_le_bytes([damaged[16], damaged[17]]) + 1;
    damaged[10..12].copy_from_slice(&(size + 6).to_le_bytes());
    let file = folder.file("bad", [&damaged[..], &LAST_BLOCK].concat());
    Program("tensor-sketch").refuse(
        &[&file],
        &[
            "bad: reading stopped in record 1 (other): the gzip data is damaged near byte ",
            "(a block does not have the size that its header says): copy or download it again",
        ],
    );
}

#[test]
fn quotes_that_are_not_closed() {
    let folder = Folder::new();
    let said = |line: &str| format!("{line}: the record has a quote that is not closed");
    let text = "timestamp,value,note\n1,1,ok\n2,2,\"oops\n3,3,x\n";
    let arguments = [
        "--unit",
        "ns",
        "--every",
        "1s",
        &folder.file("bad.csv", text),
    ];
    Program("time-series").refuse(&arguments, &["cannot read ", &said("bad.csv: line 3")]);
    let boxes = "name,minX,minY,maxX,maxY\na,0,0,1,1\n\"b,0,0,1,1\n";
    let boxes = folder.file("boxes.csv", boxes);
    Program("box-overlap").refuse(&[&boxes], &["cannot read ", &said("boxes.csv: line 3")]);
    let header = folder.file("header.csv", "minX,minY,maxX,maxY,\"name\n0,0,1,1,a\n");
    let out = folder.argument("out.csv");
    let join = [&header, &boxes, "--join", "name", "--out", &out];
    Program("box-overlap").refuse(&join, &[&said("header.csv: line 1")]);
}

/// An error in a compressed table names the line, and rows before it are checked first.
#[test]
fn lines_of_damaged_tables() {
    let folder = Folder::new();
    let program = Program("time-series");
    let text = fs::read_to_string("../examples/data/rooms.csv").unwrap();
    let refuse = |text: &str, end: usize, parts: &[&str]| {
        for compress in [gzip, zstd] {
            let whole = compress(text.as_bytes());
            let file = folder.file("bad.csv", &whole[..whole.len() - end]);
            program.refuse(&["--every", "1h", &file], parts);
        }
    };
    refuse(
        &text,
        1,
        &[
            "bad.csv: reading stopped in line 3002: the ",
            " data is cut short",
        ],
    );
    let bad = text.replacen("kitchen,1", "kitchen,x", 1);
    let line = 1 + bad[..bad.find("kitchen,x").unwrap()].matches('\n').count();
    refuse(
        &bad,
        1,
        &[&format!("bad.csv: line {line}, column value: 'x")],
    );
}

#[test]
fn archives_without_a_single_file() {
    let folder = Folder::new();
    let method = CompressionMethod::Deflated;
    let many: Vec<_> = (0..12).map(|i| format!("file{i}.csv")).collect();
    let many: Vec<_> = many.iter().map(|name| (name.as_str(), &b"a"[..])).collect();
    let nested = zipped(b"a");
    for case in cases(&folder) {
        let refuse = |files: &[(&str, &[u8])], parts: &[&str]| {
            let file = folder.file("bad.zip", zip(files, method));
            case.program
                .refuse(&case.arguments(&file), &[&["bad.zip: "], parts].concat());
        };
        let none = "the zip archive has no file";
        refuse(&[], &[none]);
        refuse(&[("folder/", b""), ("__MACOSX/._a", b"a")], &[none]);
        refuse(
            &[("b/a.csv", b"a"), ("b.csv\n", b"b")],
            &[
                "the zip archive has 2 files, not one: b/a.csv, b.csv\\n; unpack it and name the file",
            ],
        );
        refuse(
            &many,
            &[
                "has 12 files, not one: file0.csv, ",
                ", file9.csv and 2 more; unpack it",
            ],
        );
        // The zip crate writes no name twice.
        let mut twice = zip(&[("one.csv", b"a"), ("two.csv", b"b")], method);
        for start in 0..twice.len() - 7 {
            if twice[start..].starts_with(b"two.csv") {
                twice[start..start + 7].copy_from_slice(b"one.csv");
            }
        }
        let twice = folder.file("bad.zip", twice);
        let said = "bad.zip: the zip archive has several entries of the same name";
        case.program.refuse(
            &case.arguments(&twice),
            &[said, "unpack it and name the file"],
        );
        refuse(
            &[("inner.zip", &nested)],
            &["a zip archive in a zip archive: unpack it first"],
        );

        // Flags of the file in the directory at the end of the archive, and its method.
        let whole = zipped(&case.content());
        let directory = directory(&whole);
        for (place, byte, said) in [(8, 1, "encrypted"), (10, 12, "not by Deflate")] {
            let mut other = whole.clone();
            other[directory + place] = byte;
            let file = folder.file("bad.zip", other);
            let said = [
                "bad.zip: folder/data in the zip archive is ",
                said,
                "unpack it first",
            ];
            case.program.refuse(&case.arguments(&file), &said);
        }
    }
}

#[test]
fn formats_that_are_not_read() {
    let folder = Folder::new();
    for case in cases(&folder) {
        let file = folder.file("bad", b"7z\xbc\xaf\x27\x1c\0\x04".repeat(20));
        let output = case.program.run(&case.arguments(&file));
        let errors = String::from_utf8(output.stderr).unwrap();
        let said = "bad: it is compressed by 7-Zip: decompress it first";
        says(&errors, &[said, "gzip, zstd, xz, bzip2 or zip"]);
    }
}
