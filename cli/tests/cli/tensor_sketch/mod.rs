//! The subcommand `tensor-sketch` as its user meets it: what it prints, writes and refuses.

mod short;
mod text;
mod trees;
mod windows;

use crate::common::devices;
use crate::common::sketch::{Reference, codes};
use crate::program::{Folder, Program, gzip, gzip_stored, printed, says, words};
use gridstride::Device;
use gridstride::distances::pairwise;
use gridstride::tensor_sketch::{Alphabet, Form, Sequences, Tables, TensorSketch, Unknown};
use ndarray::{Array2, ArrayView1, array};
use ndarray_npy::read_npy;
use std::fs;
use std::io::Write;

/// The genome. Tests run in the package's folder, in a bundle too.
const LAMBDA: &str = "../examples/data/lambda_phage.fa";

const PROGRAM: Program = Program("tensor-sketch");

/// Runs the program with `--out`, and reads what it wrote. Without warnings of short sequences.
fn sketches(folder: &Folder, arguments: &[&str]) -> Array2<f32> {
    let arguments = [arguments, &["--quiet"]].concat();
    read_npy(PROGRAM.write(folder, "sketches.npy", &arguments)).unwrap()
}

/// Codes of DNA as text.
fn dna_text(codes: &[u8]) -> String {
    let letters = codes.iter().map(|&code| b"ACGT"[usize::from(code)]);
    letters.map(char::from).collect()
}

/// A text in lines.
fn in_lines(text: &str, length: usize) -> String {
    let lines = text.as_bytes().chunks(length);
    let lines: Vec<_> = lines.map(|line| str::from_utf8(line).unwrap()).collect();
    lines.join("\n")
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
    let printed = PROGRAM.succeed(&[LAMBDA]);
    assert_eq!(
        words(&printed)[1][..3],
        ["gi|9626243|ref|NC_001416.1|", "48502", "0"]
    );
    says(&printed, &["48502 letters in "]);
    says(
        &printed,
        &[
            "waiting for input",
            "parsing",
            "waiting for sketches",
            "writing",
        ]
        .map(|part| format!("{part} ")),
    );

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
    for device in devices() {
        let name = device.kind().to_string();
        let options = [&options[..], &["--device", &name]].concat();
        let tables = Tables::from_seed(20, 3, 40, u64::MAX).unwrap();
        let expected = library(&device, &Alphabet::protein(), tables, true, &texts);
        assert_eq!(sketches(&folder, &options), expected);
        assert!(PROGRAM.succeed(&options).contains(&format!("on {name}")));
    }

    let printed = PROGRAM.succeed(&options);
    let expected = [["a", "19", "0"], ["b", "17", "3"], ["c", "3", "0"]];
    for (line, expected) in words(&printed)[1..4].iter().zip(expected) {
        assert_eq!(line[..3], expected);
    }
}

#[test]
fn one_sketch_a_file() {
    let folder = Folder::new();
    let first = folder.file("first.fa", ">a\nACGTAC\n>b\nGGNTT\n>c\n");
    let second = folder.file("second.fa", ">a\nTTTTTT\n");
    let sketches = sketches(&folder, &["--per-file", &first, &second]);
    assert_eq!(sketches, dna(&["ACGTACGGTT", "TTTTTT"]));
    let printed = PROGRAM.succeed(&["--per-file", &first, &second]);
    assert_eq!(words(&printed)[1][..3], [&first, "10", "1"]);
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
        let sketcher = sketcher.clone().form(form);
        let options = ["--device", "cpu", "--form", name, &fasta];
        let expected = sketcher.sketch(&Device::cpu(), &sequences).unwrap();
        assert_eq!(sketches(&folder, &options), expected);

        let expected = sketcher.double().sketch(&Device::cpu(), &sequences);
        let out = folder.argument("double.npy");
        let options = [&options[..], &["--f64", "--out", &out]].concat();
        says(
            &PROGRAM.warn(&options, &["their sketches are zero: b"]),
            &["f64"],
        );
        assert_eq!(read_npy::<_, Array2<f64>>(out).unwrap(), expected.unwrap());
    }
    PROGRAM.refuse_usage(&["--form", "cubic", LAMBDA], "cubic");
}

#[test]
fn proteins_as_dna() {
    let folder = Folder::new();
    let protein = folder.file("a.fa", ">a\nMKVLAAGIVGLCAKAYWDE\n");
    let errors = |options: &[&str]| {
        let output = PROGRAM.run(options);
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let said = errors(&[&protein]);
    assert!(said.starts_with("warning: more than 10 %"), "{said}");
    says(&said, &["--alphabet protein"]);
    assert_eq!(errors(&["--quiet", &protein]), "");
    assert_eq!(errors(&["--alphabet", "protein", &protein]), "");
    let unknown = folder.file("n.fa", ">a\nACGTNNNNNNNNNNRYKM\n");
    assert_eq!(errors(&[&unknown]), "");
}

#[test]
fn from_stdin() {
    let folder = Folder::new();
    let out = folder.argument("sketches.npy");
    let text = ">a\nACGTACGTAC\n>b\nTTTTT\n";
    let first = folder.file("first.fa", ">first\nGGGG\n");
    for input in [text.as_bytes(), &gzip(text.as_bytes())] {
        PROGRAM.read(&["--out", &out, &first, "-"], input);
        let found: Array2<f32> = read_npy(&out).unwrap();
        assert_eq!(found, dna(&["GGGG", "ACGTACGTAC", "TTTTT"]));
    }
    let shown = PROGRAM.read(&["--per-file", "-"], text.as_bytes());
    assert_eq!(words(&shown)[1][..3], ["-", "15", "0"]);
    let output = PROGRAM.run_with_stdin(&["-"], drop);
    let errors = String::from_utf8(output.stderr).unwrap();
    says(&errors, &["cannot read -: the file is empty"]);
}

#[test]
fn many_records() {
    let folder = Folder::new();
    let texts: Vec<_> = (0..30_000).map(|i| "ACGGTTAAC".repeat(i % 4)).collect();
    let records = (0..).zip(&texts);
    let records = records.map(|(i, text)| format!(">{i}\n{text}\n"));
    let fasta = folder.file("a.fa", records.collect::<String>());
    let said = [
        "7500 of 30000 sequences are shorter than a tuple",
        ": 0, 4, 8, 7497 more",
    ];
    let printed = PROGRAM.warn(&["--dim", "8", &fasta], &said);
    says(&printed, &["... and 29980 more"]);
    says(&printed, &["sketches: 30000,"]);
    let device = Device::auto();
    let tables = Tables::from_seed(4, 4, 8, 0).unwrap();
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    let expected = library(&device, &Alphabet::dna(), tables, false, &texts);
    assert_eq!(sketches(&folder, &["--dim", "8", &fasta]), expected);
}

/// One record that does not fit in the allowed memory: 25 million letters a batch, and a few blocks
/// of text.
#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_record() {
    const MIB: usize = 1 << 20;
    let line = ["ACGTTGCATT".repeat(8), "\n".into()].concat();
    let block = line.repeat(MIB / line.len());
    let peak = |blocks: usize| {
        let options = ["--dim", "1", "--tuple", "1", "--device", "cpu", "-"];
        let output = PROGRAM.run_with_stdin(&options, |mut stdin| {
            stdin.write_all(b">long\n").unwrap();
            for _ in 0..blocks {
                stdin.write_all(block.as_bytes()).unwrap();
            }
        });
        let printed = printed(output);
        let letters = blocks * block.len() / 81 * 80;
        says(&printed, &[format!("{letters} letters in ")]);
        let (_, peak) = printed.rsplit_once("peak memory ").unwrap();
        let peak = peak.trim_end().strip_suffix(" MiB").unwrap();
        peak.parse::<f64>().unwrap()
    };
    let (small, large) = (peak(1), peak(120));
    let what = "MiB for 120 MiB of text, and for one";
    assert!(large - small < 60.0, "{large} and {small} {what}");
}

/// C(300 000, 8) is 1.6e39, and all tuples fall on one place with one sign.
#[test]
fn overflow_names_the_record() {
    let folder = Folder::new();
    let long = "A".repeat(300_000);
    let first = folder.file("first.fa", ">a\nACGT\n>b\nACGT\n");
    let second = folder.file("second.fa", format!(">c\nACGT\n>long one\n{long}\n>d\nA\n"));
    let shape = ["--tuple", "8", "--dim", "1"];
    let out = folder.argument("sketches.npy");
    let range = "the sketch of sequence 3 leaves the range of f32";
    let said = ["cannot sketch long: ", range];
    PROGRAM.refuse(
        &[&shape[..], &["--out", &out, &first, &second]].concat(),
        &said,
    );
    assert_eq!(folder.names(), ["first.fa", "second.fa"]);
    for other in ["--normalize", "--f64"] {
        PROGRAM.warn(&[&shape[..], &[other, &second]].concat(), &["zero: c, d"]);
    }
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
    let (device, alphabet) = (Device::auto(), Alphabet::dna());
    let expected = library(&device, &alphabet, tables, false, &["ACGTACGTTT"]);
    let options = ["--tables", &tables_file, "--dim", "5", &fasta];
    let with = |other: &[&'static str]| [&options[..], other].concat();
    assert_eq!(sketches(&folder, &options), expected);
    assert_eq!(sketches(&folder, &with(&["--tuple", "2"])), expected);
    PROGRAM.refuse(&with(&["--tuple", "3"]), &["tables.json", "tuples of 2"]);
    PROGRAM.refuse_usage(&with(&["--seed", "0"]), "cannot be used with");
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
        PROGRAM.refuse(&["--tables", &tables, &fasta], &["tables.json", expected]);
    }
    let options = ["--tables", "missing.json", &fasta];
    PROGRAM.refuse(&options, &["missing.json", "No such file"]);
}

#[test]
fn distances_as_a_table() {
    let folder = Folder::new();
    let records = ">one first\nACGTACGT\n>two\nACGTTCGT\n>three\nGGGGGGG\n";
    let fasta = folder.file("a.fa", records);
    let path = folder.argument("distances.tsv");
    PROGRAM.succeed(&["--distances", &path, &fasta]);
    let sketches = dna(&["ACGTACGT", "ACGTTCGT", "GGGGGGG"]);
    // The program takes the same device, where distances are the same to the bit.
    let expected = pairwise(&Device::auto(), sketches.view()).unwrap();
    let table = fs::read_to_string(path).unwrap();
    let lines = table.lines();
    let lines: Vec<Vec<_>> = lines.map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0], ["", "one", "two", "three"]);
    for (i, line) in lines[1..].iter().enumerate() {
        assert_eq!(line[0], lines[0][i + 1]);
        let values = line[1..].iter().map(|value| value.parse().unwrap());
        assert_eq!(values.collect::<Vec<f64>>(), expected.row(i).to_vec());
    }
}

#[test]
fn parameters_that_cannot_be() {
    for (option, number, said) in [
        ("--dim", "0", "0 is not in 1..=4096"),
        ("--dim", "4097", "4097 is not in 1..=4096"),
        ("--tuple", "0", "0 is not in 1..=8"),
        ("--tuple", "9", "9 is not in 1..=8"),
    ] {
        PROGRAM.refuse_usage(&[option, number, LAMBDA], said);
    }
    PROGRAM.refuse_usage(&["--alphabet", "greek", LAMBDA], "greek");
    PROGRAM.refuse_usage(&["--seed=-1", LAMBDA], "--seed");
    let devices = "there is no device \"cuda:x\": possible are auto, cpu, cuda";
    PROGRAM.refuse_usage(&["--device", "cuda:x", LAMBDA], devices);
    PROGRAM.refuse_usage(&[], "<FASTA>");
}

#[test]
fn outputs_that_cannot_be_written() {
    PROGRAM.refuse_outputs(["--out", "--distances"], LAMBDA);
}
