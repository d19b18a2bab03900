//! The subcommand `edit-distance` as its user meets it: what it prints, writes and refuses.

mod groups;
mod inputs;

use std::fs;
use std::path::Path;

use gridstride::edit_distance::reference::edit_distance;
use gridstride::sequences::{Alphabet, Sequences, Unknown};
use gridstride::tensor_sketch::{Tables, reference};
use ndarray::{Array1, ArrayView1};

use crate::common::devices;
use crate::program::{Folder, Program, name_of, says};

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
