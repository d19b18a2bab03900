//! The example `tensor_sketch` as its user meets it: what it prints, writes and refuses.

mod common;

use common::example::{Example, Folder, gzip, printed};
use common::sketch::{Reference, codes};

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use gridstride::Device;
use gridstride::distances::pairwise;
use gridstride::tensor_sketch::{Alphabet, Form, Sequences, Tables, TensorSketch, Unknown};
use ndarray::{Array2, ArrayView1, array};
use ndarray_npy::read_npy;

/// The genome. Tests run in the package's folder, also those of a bundle that was moved elsewhere.
const LAMBDA: &str = "examples/data/lambda_phage.fa";

const EXAMPLE: Example = Example("tensor_sketch");

/// Runs the example with `--out`, and reads what it wrote.
fn sketches(folder: &Folder, arguments: &[&str]) -> Array2<f32> {
    let out = folder.path("sketches.npy");
    EXAMPLE.succeed(&[arguments, &["--out", out.to_str().unwrap()]].concat());
    read_npy(out).unwrap()
}

/// Codes of DNA as text.
fn dna_text(codes: &[u8]) -> String {
    let letters = codes.iter().map(|&code| b"ACGT"[usize::from(code)]);
    letters.map(char::from).collect()
}

/// The library's sketches of `texts`.
fn library(
    device: &Device,
    alphabet: &Alphabet,
    tables: Tables,
    normalize: bool,
    texts: &[&str],
) -> Array2<f32> {
    let mut sequences = Sequences::new();
    for text in texts {
        let encoded = alphabet.encode(text.as_bytes(), Unknown::Skip).unwrap();
        sequences.push(encoded.codes).unwrap();
    }
    let sketcher = TensorSketch::new(tables).normalize(normalize);
    sketcher.sketch(device, &sequences).unwrap()
}

fn dna(texts: &[&str]) -> Array2<f32> {
    library(
        &Device::auto(),
        &Alphabet::dna(),
        Tables::from_seed(4, 4, 96, 0).unwrap(),
        false,
        texts,
    )
}

#[test]
fn the_genome_of_lambda() {
    let folder = Folder::new();
    let printed = EXAMPLE.succeed(&[LAMBDA]);
    let line = printed.lines().nth(1).unwrap();
    let fields: Vec<_> = line.split_whitespace().collect();
    assert_eq!(fields[..3], ["gi|9626243|ref|NC_001416.1|", "48502", "0"]);
    assert!(printed.contains("48502 letters in "), "{printed}");
    for part in [
        "waiting for input",
        "parsing",
        "waiting for sketches",
        "writing",
    ] {
        assert!(printed.contains(&format!("{part} ")), "{printed}");
    }

    let genome = fs::read_to_string(LAMBDA).unwrap();
    let letters: String = genome.lines().skip(1).collect();
    assert_eq!(sketches(&folder, &[LAMBDA]), dna(&[&letters]));
}

#[test]
fn all_options_of_a_sketch() {
    let folder = Folder::new();
    let texts = ["MKVLAAGIVGLCAKAYWDE", "MKVLAXXGIVGLAKAYWDE*", "mkv"];
    let [a, b, c] = texts;
    let first = folder.file("first.fa", format!(">a\n{a}\n>b\n{b}\n"));
    let second = folder.file("second.fa", format!(">c\n{c}\n"));
    let options = "--alphabet protein --dim 40 --tuple 3 --seed 18446744073709551615 --normalize";
    let options: Vec<_> = options.split(' ').chain([&*first, &*second]).collect();
    for device in common::devices() {
        let name = device.kind().to_string();
        let options = [&options[..], &["--device", &name]].concat();
        let tables = Tables::from_seed(20, 3, 40, u64::MAX).unwrap();
        let expected = library(&device, &Alphabet::protein(), tables, true, &texts);
        assert_eq!(sketches(&folder, &options), expected);
        assert!(EXAMPLE.succeed(&options).contains(&format!("on {name}")));
    }

    let printed = EXAMPLE.succeed(&options);
    let fields = |line: usize| -> Vec<_> {
        printed
            .lines()
            .nth(line)
            .unwrap()
            .split_whitespace()
            .take(3)
            .collect()
    };
    assert_eq!(
        [fields(1), fields(2), fields(3)],
        [["a", "19", "0"], ["b", "17", "3"], ["c", "3", "0"]]
    );
}

#[test]
fn one_sketch_a_file() {
    let folder = Folder::new();
    let first = folder.file("first.fa", ">a\nACGTAC\n>b\nGGNTT\n>c\n");
    let second = folder.file("second.fa", ">a\nTTTTTT\n");
    let sketches = sketches(&folder, &["--per-file", &first, &second]);
    assert_eq!(sketches, dna(&["ACGTACGGTT", "TTTTTT"]));
    let printed = EXAMPLE.succeed(&["--per-file", &first, &second]);
    let line: Vec<_> = printed.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(line[..3], [&first, "10", "1"]);
}

#[test]
fn forms_and_f64() {
    let folder = Folder::new();
    let text = "ACGTTGCAAC".repeat(500);
    let fasta = folder.file("a.fa", format!(">a\n{text}\n>b\n>c\nACGTT\n"));
    let dna = Alphabet::dna();
    let texts =
        [&text, "", "ACGTT"].map(|text| dna.encode(text.as_bytes(), Unknown::Error).unwrap());
    let sequences: Sequences = texts.iter().map(|encoded| &encoded.codes).collect();
    let sketcher = TensorSketch::new(Tables::from_seed(4, 4, 96, 0).unwrap());
    for (name, form) in [
        ("auto", Form::Auto),
        ("direct", Form::Direct),
        ("fourier", Form::Fourier),
    ] {
        let expected = sketcher
            .clone()
            .form(form)
            .sketch(&Device::cpu(), &sequences)
            .unwrap();
        assert_eq!(
            sketches(&folder, &["--device", "cpu", "--form", name, &fasta]),
            expected
        );

        let sketcher = sketcher.clone().form(form).double();
        let expected = sketcher.sketch(&Device::cpu(), &sequences).unwrap();
        let out = folder.path("double.npy");
        let options = [
            "--device",
            "cpu",
            "--form",
            name,
            "--f64",
            "--out",
            out.to_str().unwrap(),
            &fasta,
        ];
        assert!(EXAMPLE.succeed(&options).contains("f64"));
        assert_eq!(read_npy::<_, Array2<f64>>(out).unwrap(), expected);
    }
    EXAMPLE.refuse_usage(&["--form", "cubic", LAMBDA], "cubic");
}

#[test]
fn windows_of_each_record() {
    let folder = Folder::new();
    // Windows begin on both sides of the ends of blocks of 1 MiB.
    let long = "ACGTTGCAACCATG".repeat(100_000);
    let lines: Vec<_> = long
        .as_bytes()
        .chunks(70)
        .map(|line| str::from_utf8(line).unwrap())
        .collect();
    let fasta = format!(
        ">a\nACGTACGTN\nTT\n>short\nACG\n>b\n{}\n>c\nACGT\n",
        lines.join("\n")
    );
    let fasta = folder.file("a.fa", fasta);
    let texts = ["ACGTACGTTT", "ACG", &long, "ACGT"];
    for (width, stride) in [
        (4, 3),
        (4, 4),
        (1, 1_000_000),
        (5, 200_000),
        (700_000, 350_000),
    ] {
        let mut windows = Vec::new();
        let mut names = Vec::new();
        for (text, name) in texts.iter().zip(["a", "short", "b", "c"]) {
            let starts = (0..text.len()).step_by(stride);
            for start in starts.filter(|start| start + width <= text.len()) {
                windows.push(&text[start..start + width]);
                names.push(format!("{name}:{start}"));
            }
        }
        let option = format!("{width}:{stride}");
        let tables = Tables::from_seed(4, 3, 4, 0).unwrap();
        let options = ["--windows", &option, "--tuple", "3", "--dim", "4", &fasta];
        let sketches = sketches(&folder, &options);
        assert_eq!(sketches.nrows(), windows.len(), "{option}");
        for (sketch, window) in sketches.outer_iter().zip(windows) {
            let codes = Alphabet::dna().encode(window.as_bytes(), Unknown::Error);
            // Products on the way to both ends, at most, and a few more.
            Reference::new(&tables, ArrayView1::from(&codes.unwrap().codes))
                .after_products(2 * width + 64)
                .check_last_row(sketch, false, Form::Fourier);
        }
        let printed = EXAMPLE.succeed(&options);
        for (line, name) in printed.lines().skip(1).zip(names.iter().take(20)) {
            let fields: Vec<_> = line.split_whitespace().take(3).collect();
            assert_eq!(fields, [name, &width.to_string(), "-"]);
        }
        assert!(printed.contains("1400017 letters in "), "{printed}");
    }
    for bad in ["5", "5:", "0:1", "1:0", "-1:1", "a:b", "1:1:1"] {
        EXAMPLE.refuse_usage(
            &[&format!("--windows={bad}"), LAMBDA],
            "not WIDTH:STRIDE, two positive numbers",
        );
    }
}

/// More windows than are sketched at a time.
#[test]
fn many_windows() {
    let folder = Folder::new();
    let codes = codes(20_000, 4, 1);
    let fasta = folder.file("a.fa", format!(">a\n{}\n", dna_text(&codes)));
    let tables = Tables::from_seed(4, 1, 1024, 0).unwrap();
    let sketches = sketches(
        &folder,
        &["--windows", "10:3", "--tuple", "1", "--dim", "1024", &fasta],
    );
    let windows = codes.windows(10).step_by(3);
    assert_eq!(sketches.nrows(), windows.len());
    for (sketch, window) in sketches.outer_iter().zip(windows) {
        Reference::new(&tables, window.into()).check_last_row(sketch, false, Form::Fourier);
    }
    EXAMPLE.refuse(
        &["--windows", "10:3", "--form", "direct", &fasta],
        &["not with --form direct"],
    );
}

/// Records with little to share between windows, and one with much, keep their order; errors name the
/// window.
#[test]
fn windows_of_short_and_long_records() {
    let folder = Folder::new();
    let texts = [(300, 1), (30_000, 2), (299, 3), (300, 4)];
    let texts = texts.map(|(length, seed)| codes(length, 4, seed));
    let records: String = (0..)
        .zip(&texts)
        .map(|(i, codes)| format!(">{i}\n{}\n", dna_text(codes)))
        .collect();
    let fasta = folder.file("a.fa", records);
    let tables = Tables::from_seed(4, 2, 6, 0).unwrap();
    let options = ["--windows", "200:1", "--tuple", "2", "--dim", "6", &fasta];
    let sketches = sketches(&folder, &options);
    let windows: Vec<_> = texts.iter().flat_map(|codes| codes.windows(200)).collect();
    assert_eq!(sketches.nrows(), windows.len());
    for (sketch, window) in sketches.outer_iter().zip(windows) {
        Reference::new(&tables, window.into())
            .after_products(464)
            .check_last_row(sketch, false, Form::Fourier);
    }

    // C(300 000, 8) is 1.6e39: equal letters leave f32's range, in any form.
    let zeros = folder.path("zeros.json");
    let table = |value| vec![vec![value; 8]; 4];
    let json = serde_json::json!({ "hashes": table(0), "signs": table(1) });
    fs::write(&zeros, json.to_string()).unwrap();
    let records = format!(">short\nACGT\n>long\n{}\n", "A".repeat(300_100));
    let fasta = folder.file("long.fa", records);
    let zeros = zeros.to_str().unwrap();
    for (windows, named) in [("300000:90", "long:0"), ("300000:300000", "long:0")] {
        let options = [
            "--tables",
            zeros,
            "--dim",
            "1",
            "--windows",
            windows,
            &fasta,
        ];
        EXAMPLE.refuse(&options, &[&format!("cannot sketch {named}")]);
    }
}

#[test]
fn from_stdin() {
    let folder = Folder::new();
    let out = folder.path("sketches.npy");
    let text = ">a\nACGTACGTAC\n>b\nTTTTT\n";
    let first = folder.file("first.fa", ">first\nGGG\n");
    for input in [text.as_bytes(), &gzip(text.as_bytes())] {
        let options = ["--out", out.to_str().unwrap(), &first, "-"];
        printed(EXAMPLE.run_with_stdin(&options, |mut stdin| stdin.write_all(input).unwrap()));
        assert_eq!(
            read_npy::<_, Array2<f32>>(&out).unwrap(),
            dna(&["GGG", "ACGTACGTAC", "TTTTT"])
        );
    }
    let shown = printed(EXAMPLE.run_with_stdin(&["--per-file", "-"], |mut stdin| {
        stdin.write_all(text.as_bytes()).unwrap();
    }));
    let line: Vec<_> = shown.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(line[..3], ["-", "15", "0"]);
    let output = EXAMPLE.run_with_stdin(&["-"], drop);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.contains("cannot read -: the file is empty"),
        "{errors}"
    );
}

#[test]
fn many_records() {
    let folder = Folder::new();
    let texts: Vec<_> = (0..30_000)
        .map(|i: usize| "ACGGTTAAC".repeat(i % 4))
        .collect();
    let records = texts
        .iter()
        .enumerate()
        .map(|(i, text)| format!(">{i}\n{text}\n"));
    let fasta = folder.file("a.fa", records.collect::<String>());
    let printed = EXAMPLE.succeed(&["--dim", "8", &fasta]);
    assert!(printed.contains("... and 29980 more"), "{printed}");
    assert!(printed.contains("sketches: 30000,"), "{printed}");
    let device = Device::auto();
    let tables = Tables::from_seed(4, 4, 8, 0).unwrap();
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    let expected = library(&device, &Alphabet::dna(), tables, false, &texts);
    assert_eq!(sketches(&folder, &["--dim", "8", &fasta]), expected);
}

/// One record that is much longer than what may be in memory: 25 million letters in batches, and a few
/// blocks of text.
#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_record() {
    const MIB: usize = 1 << 20;
    let line = ["ACGTTGCATT".repeat(8), "\n".into()].concat();
    let block = line.repeat(MIB / line.len());
    let peak = |blocks: usize| {
        let options = ["--dim", "1", "--tuple", "1", "--device", "cpu", "-"];
        let output = EXAMPLE.run_with_stdin(&options, |mut stdin| {
            stdin.write_all(b">long\n").unwrap();
            for _ in 0..blocks {
                stdin.write_all(block.as_bytes()).unwrap();
            }
        });
        let printed = printed(output);
        let letters = blocks * block.len() / 81 * 80;
        assert!(
            printed.contains(&format!("{letters} letters in ")),
            "{printed}"
        );
        let (_, peak) = printed.rsplit_once("peak memory ").unwrap();
        peak.trim_end()
            .strip_suffix(" MiB")
            .unwrap()
            .parse::<f64>()
            .unwrap()
    };
    let (small, large) = (peak(1), peak(120));
    assert!(
        large - small < 60.0,
        "{large} MiB for 120 MiB of text, {small} for one"
    );
}

/// C(300 000, 8) is 1.6e39, and all tuples fall on one place with one sign.
#[test]
fn overflow_names_the_record() {
    let folder = Folder::new();
    let long = "A".repeat(300_000);
    let first = folder.file("first.fa", ">a\nACGT\n>b\nACGT\n");
    let second = folder.file("second.fa", format!(">c\nACGT\n>long one\n{long}\n>d\nA\n"));
    let options = ["--tuple", "8", "--dim", "1", "--out"];
    let out = folder.path("sketches.npy");
    let files = [out.to_str().unwrap(), &first, &second];
    EXAMPLE.refuse(
        &[&options[..], &files].concat(),
        &[
            "cannot sketch long: ",
            "the sketch of sequence 3 leaves the range of f32",
        ],
    );
    assert_eq!(folder.names(), ["first.fa", "second.fa"]);
    EXAMPLE.succeed(&["--tuple", "8", "--dim", "1", "--normalize", &second]);
    EXAMPLE.succeed(&["--tuple", "8", "--dim", "1", "--f64", &second]);
}

#[test]
fn tables_from_json() {
    let folder = Folder::new();
    let fasta = folder.file("a.fa", ">a\nACGTACGTTT\n");
    let json = r#"{"signs": [[1, -1], [1, 1], [-1, -1], [1, 1]],
                   "hashes": [[0, 4], [1, 3], [2, 2], [3, 0]]}"#;
    let tables_file = folder.file("tables.json", json);
    let hashes = array![[0, 4], [1, 3], [2, 2], [3, 0]];
    let signs = array![[1, -1], [1, 1], [-1, -1], [1, 1]];
    let tables = Tables::new(hashes.view(), signs.view(), 5).unwrap();
    let expected = library(
        &Device::auto(),
        &Alphabet::dna(),
        tables,
        false,
        &["ACGTACGTTT"],
    );
    let options = ["--tables", &tables_file, "--dim", "5", &fasta];
    assert_eq!(sketches(&folder, &options), expected);
    assert_eq!(
        sketches(&folder, &[&options[..], &["--tuple", "2"]].concat()),
        expected
    );
    EXAMPLE.refuse(
        &[&options[..], &["--tuple", "3"]].concat(),
        &["tables.json", "tuples of 2"],
    );
    EXAMPLE.refuse_usage(
        &[&options[..], &["--seed", "0"]].concat(),
        "cannot be used with",
    );
}

#[test]
fn bad_tables() {
    let folder = Folder::new();
    let fasta = folder.file("a.fa", ">a\nACGT\n");
    let cases = [
        ("{", "EOF"),
        ("[]", "tables.json"),
        (r#"{"hashes": [[0]]}"#, "missing field `signs`"),
        (
            r#"{"hashes": [[0]], "signs": [[1]], "dim": 4}"#,
            "unknown field `dim`",
        ),
        (r#"{"hashes": [[0.5]], "signs": [[1]]}"#, "floating point"),
        (
            r#"{"hashes": [[0], [1]], "signs": [[1], [1]]}"#,
            "for 2 letters, but the alphabet has 4",
        ),
        (
            r#"{"hashes": [[0], [1, 2]], "signs": [[1], [1]]}"#,
            "row 1 of the hashes has 2 numbers",
        ),
        (
            r#"{"hashes": [[0]], "signs": [[1, 1]]}"#,
            "the hashes are (1, 1), the signs (1, 2)",
        ),
        (
            r#"{"hashes": [[96]], "signs": [[1]]}"#,
            "row 0, column 0 is 96, not in [0, 96)",
        ),
        (r#"{"hashes": [[0]], "signs": [[2]]}"#, "is 2, not 1 or -1"),
        (
            r#"{"hashes": [], "signs": []}"#,
            "alphabet_size, the number of letters, is 0",
        ),
    ];
    for (json, expected) in cases {
        let tables = folder.file("tables.json", json);
        EXAMPLE.refuse(&["--tables", &tables, &fasta], &["tables.json", expected]);
    }
    EXAMPLE.refuse(
        &["--tables", "missing.json", &fasta],
        &["missing.json", "No such file"],
    );
}

#[test]
fn distances_as_a_table() {
    let folder = Folder::new();
    let fasta = folder.file(
        "a.fa",
        ">one first\nACGTACGT\n>two\nACGTTCGT\n>three\nGGGGGG\n",
    );
    let path = folder.path("distances.tsv");
    EXAMPLE.succeed(&["--distances", path.to_str().unwrap(), &fasta]);
    let sketches = dna(&["ACGTACGT", "ACGTTCGT", "GGGGGG"]);
    // The example takes the same device, where distances are the same to the bit.
    let expected = pairwise(&Device::auto(), sketches.view()).unwrap();
    let table = fs::read_to_string(path).unwrap();
    let lines: Vec<Vec<_>> = table
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0], ["", "one", "two", "three"]);
    for (i, line) in lines[1..].iter().enumerate() {
        assert_eq!(line[0], lines[0][i + 1]);
        let values: Vec<f64> = line[1..]
            .iter()
            .map(|value| value.parse().unwrap())
            .collect();
        assert_eq!(values, expected.row(i).to_vec());
    }
}

#[test]
fn every_way_to_write_fasta() {
    let folder = Folder::new();
    let expected = dna(&["ACGTACGTAC", "", "TTTTT"]);
    for text in [
        ">a\nACGTACGTAC\n>b\n>c\nTTTTT\n",
        ">a\nACGTA\nCGTAC\n\n>b\n\n>c\nTTTTT",
        ">a x y\r\nACGTA\r\nCGTAC\r\n>b\r\n>c\r\nTTTTT\r\n",
        ">a\nacgtacgtac\n>b\nNN-\n>c\nuuUUt\n",
    ] {
        assert_eq!(
            sketches(&folder, &[&folder.file("a.fa", text)]),
            expected,
            "{text:?}"
        );
        let compressed = gzip(text.as_bytes());
        assert_eq!(
            sketches(&folder, &[&folder.file("a.fa.gz", compressed)]),
            expected,
            "{text:?}"
        );
    }
    for text in [">", ">\n", ">a", ">a\n", ">a\r\n", ">a\n\n"] {
        assert_eq!(
            sketches(&folder, &[&folder.file("a.fa", text)]),
            dna(&[""]),
            "{text:?}"
        );
    }
    let members = [
        gzip(b">a\nACGTA"),
        gzip(b"CGTAC\n>b\n>c\nT"),
        gzip(b"TTTT\n"),
    ]
    .concat();
    assert_eq!(
        sketches(&folder, &[&folder.file("members.fa.gz", members)]),
        expected
    );
}

#[test]
fn a_record_longer_than_any_buffer() {
    let folder = Folder::new();
    let text = "ACGGTTAAC".repeat(30_000);
    let lines: Vec<_> = text
        .as_bytes()
        .chunks(61)
        .map(|line| str::from_utf8(line).unwrap())
        .collect();
    let fasta = format!(">short\nACGT\n>long\n{}\n>last\nTTTT\n", lines.join("\n"));
    assert_eq!(
        sketches(&folder, &[&folder.file("a.fa", fasta)]),
        dna(&["ACGT", &text, "TTTT"])
    );
}

/// The text is read in blocks of 1 MiB. Wherever one ends, lines are what they are: a `>` inside of
/// one begins no record, and a carriage return is a part of a line end or of the text.
#[test]
fn lines_across_blocks() {
    let folder = Folder::new();
    let lines = "AC>GT\r\nA\rC\r\n\r\n>b c\r\nTT\r\n>\n>d\n\nG\r\r\nC";
    let expected = dna(&[&format!("{}ACGTAC", "C".repeat(1 << 10)), "TT", "", "GC"]);
    for before in 0..=lines.len() {
        // So many bytes of the lines are in the first block.
        let name = "n".repeat((1 << 20) - (1 << 10) - 3 - before);
        let fasta = format!(">{name}\n{}\n{lines}", "C".repeat(1 << 10));
        assert_eq!(fasta.len() - lines.len(), (1 << 20) - before);
        let fasta = folder.file("a.fa", fasta);
        assert_eq!(
            sketches(&folder, &[&fasta]),
            expected,
            "{before} bytes before"
        );
        let printed = EXAMPLE.succeed(&[&fasta]);
        let skipped: Vec<_> = printed
            .lines()
            .skip(1)
            .take(4)
            .map(|line| {
                let fields: Vec<_> = line.split_whitespace().collect();
                fields[fields.len() - 6].to_owned()
            })
            .collect();
        assert_eq!(skipped, ["2", "0", "0", "1"], "{before} bytes before");
        EXAMPLE.refuse(
            &["--unknown", "error", &fasta],
            &["'>' (byte 62) at position 1026"],
        );
    }
}

#[test]
fn truncated_gzip() {
    let folder = Folder::new();
    // Stored, so that the place of each record is known.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder
        .write_all(format!(">a\nACGT\n>b\n{}\n>c\nACGT\n", "ACGT".repeat(9)).as_bytes())
        .unwrap();
    let whole = encoder.finish().unwrap();
    let cases = [
        (whole.len() - 1, "the file ends badly in record 3 (c)"),
        (whole.len() - 30, "the file ends badly in record 2 (b)"),
        (20, "the file ends badly in record 1 (a)"),
        (5, "nothing before the first record"),
    ];
    let kept = folder.file("kept.npy", "as it was");
    for (length, place) in cases {
        let path = folder.file("cut.fa.gz", &whole[..length]);
        EXAMPLE.refuse(&[&path, "--out", &kept], &["cut.fa.gz", place]);
    }
    assert_eq!(fs::read(&kept).unwrap(), b"as it was");
    assert_eq!(folder.names(), ["cut.fa.gz", "kept.npy"]);

    let mut damaged = whole.clone();
    damaged[whole.len() - 12] ^= 1;
    EXAMPLE.refuse(
        &[&folder.file("bad.fa.gz", damaged)],
        &["bad.fa.gz", "record 3 (c)", "corrupt"],
    );
}

#[test]
fn unknown_letters() {
    let folder = Folder::new();
    let fasta = folder.file("a.fa", ">a\nACGT\n>b note\nAC\nGRT\n");
    let place = [
        "cannot read ",
        "a.fa: record 2 (b): 'R' (byte 82) at position 3 is not a letter",
    ];
    EXAMPLE.refuse(&["--unknown", "error", &fasta], &place);
    EXAMPLE.refuse(&["--unknown", "error", "--per-file", &fasta], &place);
    assert_eq!(
        sketches(&folder, &["--unknown", "skip", &fasta]),
        dna(&["ACGT", "ACGT"])
    );
}

#[test]
fn files_that_are_not_fasta() {
    let folder = Folder::new();
    EXAMPLE.refuse(
        &[&folder.file("empty.fa", "")],
        &["empty.fa", "the file is empty"],
    );
    EXAMPLE.refuse(
        &[&folder.file("empty.fa.gz", gzip(b""))],
        &["empty.fa.gz", "the file is empty"],
    );
    EXAMPLE.refuse(
        &[&folder.file("words.fa", "words")],
        &["words.fa", "it begins with 'w', not with '>'"],
    );
    EXAMPLE.refuse(&[LAMBDA, "missing.fa"], &["missing.fa", "No such file"]);
    EXAMPLE.refuse(&[folder.0.path()], &["cannot read"]);
}

#[test]
fn parameters_that_cannot_be() {
    EXAMPLE.refuse(&["--dim", "0", LAMBDA], &["the dimension, is 0"]);
    EXAMPLE.refuse(&["--dim", "4097", LAMBDA], &["the dimension, is 4097"]);
    EXAMPLE.refuse(
        &["--tuple", "9", LAMBDA],
        &["tuple_length, the number of letters of a tuple, is 9"],
    );
    EXAMPLE.refuse_usage(&["--alphabet", "greek", LAMBDA], "greek");
    EXAMPLE.refuse_usage(&["--seed=-1", LAMBDA], "--seed");
    EXAMPLE.refuse_usage(
        &["--device", "cuda:x", LAMBDA],
        "not auto, cpu, cuda, cuda:N or simulator: cuda:x",
    );
    EXAMPLE.refuse_usage(&[], "<FASTA>");
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = Folder::new();
    let nowhere = folder.path("nowhere/sketches.npy");
    EXAMPLE.refuse(
        &["--out", nowhere.to_str().unwrap(), LAMBDA],
        &["cannot write", "sketches.npy"],
    );
    let itself = folder.0.path().to_str().unwrap();
    EXAMPLE.refuse(
        &["--distances", itself, LAMBDA],
        &["cannot write", "it is not a file"],
    );
    let both = folder.path("both");
    let both = both.to_str().unwrap();
    EXAMPLE.refuse(
        &["--out", both, "--distances", both, LAMBDA],
        &["name the same file"],
    );
    assert!(folder.names().is_empty());
}
