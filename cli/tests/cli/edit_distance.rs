//! The subcommand `edit-distance` as its user meets it: what it prints, writes and refuses.

use std::fs;
use std::path::Path;

use gridstride::edit_distance::reference::edit_distance;
use gridstride::sequences::{Alphabet, Sequences, Unknown};
use gridstride::tensor_sketch::{Tables, reference};
use ndarray::{Array1, ArrayView1};

use crate::common::devices;
use crate::program::{Folder, Program, gzip, name_of, says};

const PROGRAM: Program = Program("edit-distance");

/// Parameters of the sketches of a test: letters of a tuple, the dimension, and the windows.
const TUPLE: usize = 2;
const DIM: usize = 16;
const WIDTH: usize = 20;
const STRIDE: usize = 8;

/// Makes pairs, and returns the paths of their files.
fn generate(folder: &Folder, name: &str, options: &[&str]) -> [String; 2] {
    let paths = ["a", "b"].map(|file| folder.argument(&format!("{name}_{file}.fa")));
    let [a, b] = &paths;
    PROGRAM.succeed(&[options, &[a, b]].concat());
    paths
}

/// Returns the names and codes of the records of a file.
fn records(path: impl AsRef<Path>) -> (Vec<String>, Sequences) {
    let text = fs::read_to_string(path).unwrap();
    let records = text.split('>').skip(1).map(|record| {
        let (name, letters) = record.split_once('\n').unwrap();
        let letters = letters.replace('\n', "");
        let codes = Alphabet::dna().encode(letters.as_bytes(), Unknown::Error);
        (name.to_owned(), codes.unwrap().codes)
    });
    records.unzip()
}

/// Returns the cells of a table, without its header.
fn cells(path: impl AsRef<Path>) -> (String, Vec<Vec<String>>) {
    let text = fs::read_to_string(path).unwrap();
    let (header, lines) = text.split_once('\n').unwrap();
    let line = |line: &str| line.split('\t').map(str::to_owned).collect();
    (header.to_owned(), lines.lines().map(line).collect())
}

/// Returns the normalised sketch by its definition.
fn sketch(codes: ArrayView1<u8>, tables: &Tables) -> Array1<f64> {
    let mut rows = reference::tensor_sketch(codes, tables);
    reference::normalize(&mut rows, codes.len() as u64);
    rows.row(tables.tuple_length()).to_owned()
}

fn l2(a: &[Array1<f64>], b: &[Array1<f64>]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| (a - b).mapv(|x| x * x).sum());
    squares.sum::<f64>().sqrt()
}

/// Expects a distance of so many numbers of sketches.
///
/// Of sequences as short as these, sketches are whole numbers, and exact until they are divided by
/// the number of tuples. So each number, at most 1, has one rounding of u = 2⁻²⁴ or less, and the
/// distance is wrong by 2u·√n at most. Computing the distance adds γ of n + 4 of it.
#[track_caller]
fn check(cell: &str, expected: f64, numbers: usize) {
    let found: f64 = cell.parse().unwrap();
    let (n, u) = (numbers as f64, 2f64.powi(-24));
    let bound = 2.0 * u * n.sqrt() + 1.01 * (n + 4.0) * u * expected;
    assert!((found - expected).abs() <= bound, "{found} {expected}");
}

#[test]
fn distances_on_every_device() {
    let folder = Folder::new();
    // Rates up to 1 make sequences of different lengths.
    let [a, b] = generate(&folder, "pairs", &["--generate", "12", "--length", "50"]);
    let ((names_a, codes_a), (names_b, codes_b)) = (records(&a), records(&b));
    let tables = Tables::from_seed(4, TUPLE, DIM, 5).unwrap();
    let windows = |codes: ArrayView1<u8>| -> Vec<Array1<f64>> {
        let windows = codes.windows(WIDTH);
        let each = windows.into_iter().step_by(STRIDE);
        each.map(|window| sketch(window, &tables)).collect()
    };
    for device in devices() {
        let device = device.kind();
        let options = [
            "--tuple",
            "2",
            "--dim",
            "16",
            "--windows",
            "20:8",
            "--seed",
            "5",
        ];
        let files = ["--device", &device.to_string(), &a, &b];
        let out = PROGRAM.write(&folder, "out.tsv", &[&options[..], &files].concat());
        let (header, lines) = cells(out);
        let names = "a\tb\tlength_a\tlength_b\tedit_distance\tsketch_distance\tslide_distance";
        assert_eq!(header, names);
        assert_eq!(lines.len(), 12);
        for (i, line) in lines.iter().enumerate() {
            let (x, y) = (codes_a.get(i).unwrap(), codes_b.get(i).unwrap());
            assert_eq!(line[..2], [names_a[i].clone(), names_b[i].clone()]);
            assert_eq!(
                line[2..4],
                [x.len(), y.len()].map(|length| length.to_string())
            );
            assert_eq!(line[4], edit_distance(x, y).to_string());
            check(
                &line[5],
                l2(&[sketch(x, &tables)], &[sketch(y, &tables)]),
                DIM,
            );
            let (x, y) = (windows(x), windows(y));
            check(&line[6], l2(&x, &y), DIM * x.len().min(y.len()));
        }
        let printed = PROGRAM.succeed(&[&options[..], &files].concat());
        says(
            &printed,
            &[
                &format!("on {}", name_of(device)),
                "pairs: 12,",
                "windows 20:8 0.",
            ],
        );
    }
}

/// What the sketch is for. The pairs and tables are the same on every machine, and the sketches
/// nearly so: the correlations were 0.78 and 0.95.
#[test]
fn sketches_rank_as_edit_distances() {
    let folder = Folder::new();
    let [a, b] = generate(&folder, "pairs", &["--generate", "300", "--length", "1000"]);
    let options = [
        "--tuple",
        "2",
        "--windows",
        "100:10",
        "--device",
        "cpu",
        &a,
        &b,
    ];
    let found = PROGRAM.json(&options);
    let [plain, slide] = ["spearman", "spearman_slide"].map(|key| found[key].as_f64().unwrap());
    assert!(plain > 0.75, "{plain}");
    assert!(slide > 0.945, "{slide}");
}

/// Strides beyond the sequences leave their first windows, and take no memory.
#[test]
fn strides_beyond_the_sequences() {
    let folder = Folder::new();
    let [a, b] = generate(&folder, "pairs", &["--generate", "9", "--length", "60"]);
    let options = ["--tuple", "2", "--device", "cpu", &a, &b];
    let read = |windows: &str| {
        let options = [&["--windows", windows], &options[..]].concat();
        cells(PROGRAM.write(&folder, "out.tsv", &options))
    };
    let expected = read("20:1000");
    assert!(expected.1.iter().any(|line| line[6] != "0"));
    for windows in ["20:1000000000000", "20:18446744073709551615"] {
        assert_eq!(read(windows), expected);
    }
}

#[test]
fn a_grid_has_the_correlations_of_single_runs() {
    let folder = Folder::new();
    let [a, b] = generate(&folder, "pairs", &["--generate", "20", "--length", "60"]);
    let out = folder.argument("grid.tsv");
    let lists = [
        "--tuple",
        "2,3",
        "--dim",
        "8,16",
        "--windows",
        "20:5,30:10",
        "--seeds",
        "2",
    ];
    let files = ["--device", "cpu", &a, &b];
    let grid = ["--grid", "--seed", "3", "--out", &out];
    let found = PROGRAM.json(&[&grid[..], &lists, &files].concat());
    let points = found["grid"].as_array().unwrap();
    let (header, lines) = cells(&out);
    assert_eq!(header, "tuple\tdim\twidth\tstride\tseed\tspearman");
    assert_eq!((points.len(), lines.len()), (24, 24));
    for (point, line) in points.iter().zip(&lines) {
        let [tuple, dim, seed] = ["tuple", "dim", "seed"].map(|key| point[key].to_string());
        assert_eq!([&line[0], &line[1], &line[4]], [&tuple, &dim, &seed]);
        let spearman = point["spearman"].as_f64().unwrap();
        assert!((line[5].parse::<f64>().unwrap() - spearman).abs() < 1e-15);
    }
    // The last combination: tuple 3, dim 16, windows 30:10, and the second seed.
    let single = [
        "--tuple",
        "3",
        "--dim",
        "16",
        "--windows",
        "30:10",
        "--seed",
        "4",
    ];
    let single = PROGRAM.json(&[&single[..], &files].concat());
    assert_eq!(single["spearman_slide"], points[23]["spearman"]);
    assert_eq!(single["spearman"], points[19]["spearman"]);
    assert_eq!(lines[19][2..4], ["", ""]);

    let printed = PROGRAM.succeed(&[&["--grid"][..], &lists, &files].concat());
    says(&printed, &["windows 30:10", "best: 0.", " with --tuple "]);
}

#[test]
fn generated_pairs() {
    let folder = Folder::new();
    let read = |paths: &[String; 2]| paths.each_ref().map(|path| fs::read(path).unwrap());
    let options = ["--generate", "5", "--length", "300"];
    let pairs = generate(&folder, "first", &options);
    let same = generate(&folder, "same", &[&options[..], &["--seed", "0"]].concat());
    assert_eq!(read(&pairs), read(&same));
    let other = generate(&folder, "other", &[&options[..], &["--seed", "1"]].concat());
    assert_ne!(read(&pairs), read(&other));
    let (names, sequences) = records(&pairs[0]);
    assert_eq!(names, ["0.0", "1.0", "2.0", "3.0", "4.0"]);
    assert!((0..5).all(|i| sequences.get(i).unwrap().len() == 300));

    // Without edits, pairs are equal; at a rate, distances are near it and not above.
    let equal = generate(
        &folder,
        "equal",
        &[&options[..], &["--rates", "0:0"]].concat(),
    );
    assert_eq!(records(&equal[0]).1, records(&equal[1]).1);
    let few = generate(
        &folder,
        "few",
        &[&options[..], &["--rates", "0.1:0.1"]].concat(),
    );
    let (a, b) = (records(&few[0]).1, records(&few[1]).1);
    for i in 0..5 {
        let distance = edit_distance(a.get(i).unwrap(), b.get(i).unwrap());
        assert!((10..60).contains(&distance), "{distance}");
    }

    // All pairs of groups of three, each sequence edited from the one before.
    let groups = generate(
        &folder,
        "groups",
        &["--generate", "2", "--group", "3", "--length", "200"],
    );
    let ((a, first), (b, second)) = (records(&groups[0]), records(&groups[1]));
    assert_eq!(a, ["0.0", "0.0", "0.1", "1.0", "1.0", "1.1"]);
    assert_eq!(b, ["0.1", "0.2", "0.2", "1.1", "1.2", "1.2"]);
    assert_eq!(first.get(0), first.get(1));
    assert_eq!(second.get(0), first.get(2));
    assert_eq!(second.get(1), second.get(2));
}

#[test]
fn empty_sequences() {
    let folder = Folder::new();
    let empty = folder.file("empty.fa", ">x\n>y\n>z\n");
    let printed = PROGRAM.succeed(&["--device", "cpu", &empty, &empty]);
    says(
        &printed,
        &[
            "pairs: 3, 0 letters",
            "rank correlation with the edit distance: sketches undefined",
        ],
    );
}

#[test]
fn empty_and_short_records() {
    let folder = Folder::new();
    let a = folder.file("a.fa", ">x\n>y\nACGTACGTAC\n>z\nAC\nGT\n>w\nACGTACGTACGT\n");
    let b = folder.file(
        "b.fa.gz",
        gzip(b">x'\nACG\n>y'\nACGTACGTACG\n>z'\n>w'\nTTTTTTTTTT\n"),
    );
    let options = [
        "--tuple",
        "2",
        "--windows",
        "8:2",
        "--device",
        "cpu",
        &a,
        &b,
    ];
    let out = folder.argument("out.tsv");
    let output = PROGRAM.run(&[&options[..], &["--out", &out]].concat());
    assert!(output.status.success());
    let warning = String::from_utf8(output.stderr).unwrap();
    says(
        &warning,
        &["2 of 4 pairs have a sequence of less than 8 letters"],
    );
    assert_eq!(warning.lines().count(), 1);
    let lines = cells(&out).1;
    let distances: Vec<_> = lines.iter().map(|line| &*line[4]).collect();
    assert_eq!(distances, ["3", "1", "4", "9"]);
    let has_windows: Vec<_> = lines.iter().map(|line| !line[6].is_empty()).collect();
    assert_eq!(has_windows, [false, true, false, true]);
    assert_eq!(lines[0][1], "x'");
    let long = ["--tuple", "2", "--windows", "12:2", &a, &b];
    let said = [
        "no pair has two sequences of 12 letters; the longest has two of 10",
        "smaller WIDTH",
    ];
    PROGRAM.refuse(&long, &said);
}

#[test]
fn letters_outside_of_the_alphabet() {
    let folder = Folder::new();
    let a = folder.file("a.fa", ">x\nACGT\n>y\nACNGT\n");
    let b = folder.file("b.fa", ">x\nACGT\n>y\nACGT\n");
    let said = [
        "cannot read",
        "a.fa",
        "record 2 (y)",
        "letter 3 is 'N' (byte 78)",
        "--unknown skip",
    ];
    PROGRAM.refuse(&[&a, &b], &said);
    PROGRAM.refuse(&[&b, &a], &said);
    let out = folder.argument("out.tsv");
    let output = PROGRAM.run(&[
        "--unknown",
        "skip",
        "--device",
        "cpu",
        "--out",
        &out,
        &a,
        &b,
    ]);
    says(
        &String::from_utf8(output.stderr).unwrap(),
        &["1 characters are not in the alphabet and were skipped"],
    );
    assert_eq!(cells(&out).1[1][4], "0");
    let proteins = folder.file("p.fa", ">p\nMKVLAW\n");
    let printed = PROGRAM.succeed(&["--alphabet", "protein", &proteins, &proteins]);
    says(&printed, &["pairs: 1, 12 letters, edit distances 0 to 0"]);
}

#[test]
fn files_that_do_not_fit() {
    let folder = Folder::new();
    let one = folder.file("one.fa", ">x\nACGT\n");
    let two = folder.file("two.fa", ">x\nACGT\n>y\nACGT\n");
    let kept = folder.file("kept.tsv", "as it was");
    let options = ["--out", &kept, &one, &two];
    PROGRAM.refuse(
        &options,
        &["one.fa has 1 records and", "two.fa has 2", "equally many"],
    );
    let text = folder.file("text.fa", "ACGT\n");
    PROGRAM.refuse(
        &["--out", &kept, &one, &text],
        &["cannot read", "text.fa", "not FASTA"],
    );
    let empty = folder.file("empty.fa", "");
    PROGRAM.refuse(
        &["--out", &kept, &empty, &one],
        &["cannot read", "empty.fa", "the file is empty"],
    );
    let missing = folder.argument("missing.fa");
    PROGRAM.refuse(&[&one, &missing], &["cannot read", "missing.fa"]);
    let whole = gzip(b">x\nACGT\n");
    let cut = folder.file("cut.fa.gz", &whole[..whole.len() - 1]);
    PROGRAM.refuse(&["--out", &kept, &one, &cut], &["cannot read", "cut.fa.gz"]);
    assert_eq!(fs::read(&kept).unwrap(), b"as it was");
    assert_eq!(folder.names().len(), 6);
    let through = PROGRAM.read(&["--device", "cpu", "-", &one], b">x\nTCGA\n");
    says(&through, &["edit distances 2 to 2"]);
}

#[test]
fn options_that_do_not_fit() {
    let folder = Folder::new();
    let file = folder.file("a.fa", ">x\nACGT\n");
    let other = folder.file("b.fa", ">x\nACGT\n");
    let refuse = |options: &[&str], said: &str| {
        PROGRAM.refuse_options(&[options, &[&file, &other]].concat(), &[said]);
    };
    for list in [
        ["--tuple", "2,3"],
        ["--dim", "8,16"],
        ["--windows", "4:2,4:1"],
    ] {
        refuse(&list, "take lists only with --grid");
    }
    refuse(
        &["--windows", "2:1"],
        "--windows of 2 letters have no tuples of 3 letters",
    );
    refuse(
        &["--grid", "--tuple", "2,5", "--windows", "4:1"],
        "no tuples of 5 letters",
    );
    refuse(&["--out", &file], "would overwrite the input");
    refuse(&["--plot", &other], "would overwrite the input");
    refuse(
        &["--out", "same", "--plot", "same"],
        "--out and --plot name the same file",
    );
    refuse(&["--out", "-"], "--out needs a file name");
    PROGRAM.refuse_options(&["-", "-"], &["stdin can be read only once"]);
    PROGRAM.refuse_options(
        &["--generate", "1", &file, &file],
        &["A.fa and B.fa name the same file"],
    );
    PROGRAM.refuse_options(
        &["--generate", "1", "-", &file],
        &["A.fa needs a file name"],
    );
    PROGRAM.refuse_options(
        &[
            "--generate",
            "18446744073709551615",
            "--group",
            "3",
            "c",
            "d",
        ],
        &[
            "groups of 3 pairs are more pairs than can be counted",
            "smaller --generate or --group",
        ],
    );
    let nowhere = folder.argument("nowhere/file");
    for option in ["--out", "--plot"] {
        let options = [option, &nowhere, &file, &other];
        PROGRAM.refuse(&options, &["cannot write", "nowhere/file"]);
    }
    for (options, said) in [
        (&["--seeds", "2"][..], "--grid"),
        (&["--length", "2"], "--generate"),
        (&["--generate", "1", "--tuple", "2"], "cannot be used with"),
        (&["--generate", "1", "--rates", "0.5:0.1"], "not LEAST:MOST"),
        (&["--generate", "1", "--rates", "0:1.5"], "not LEAST:MOST"),
        (&["--generate", "1", "--group", "1"], "--group"),
        (&["--generate", "0"], "0 is not in 1.."),
        (&["--generate", "1", "--length", "0"], "0 is not in 1.."),
        (&["--generate", "1", "--length", "4294967297"], "--length"),
        (&["--tuple", "9"], "--tuple"),
        (&["--windows", "4"], "not WIDTH:STRIDE"),
    ] {
        PROGRAM.refuse_usage(&[options, &[&file, &other]].concat(), said);
    }
    assert_eq!(folder.names(), ["a.fa", "b.fa"]);
}
