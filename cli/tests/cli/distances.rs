//! The subcommand `distances` as its user meets it: what it prints, writes and refuses.

use std::fs;

use gridstride::distances::{Component, Metric, reference};
use ndarray::{Array2, Array3, ArrayView2, ShapeBuilder, array};
use ndarray_npy::{WritableElement, read_npy, write_npy};

use crate::common::{Random, devices};
use crate::program::{Folder, Program, gzip, name_of, says, words};

const PROGRAM: Program = Program("distances");

/// Three points on a line: distances of 5 and 10.
fn line() -> Array2<f64> {
    array![[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]
}

/// Numbers in [-1, 1).
fn random(shape: (usize, usize), seed: u64) -> Array2<f64> {
    let mut random = Random(seed);
    Array2::from_shape_simple_fn(shape, || random.within(-1_000_000, 999_999) as f64 * 1e-6)
}

/// Writes a matrix, and returns the path for a command line.
fn npy<T: WritableElement>(folder: &Folder, name: &str, matrix: &Array2<T>) -> String {
    write_npy(folder.path(name), matrix).unwrap();
    folder.argument(name)
}

/// Whether distances are within the bound of the library's documentation for rows of so many
/// numbers.
#[track_caller]
fn check<T: Component>(found: &Array2<f64>, a: ArrayView2<T>, b: ArrayView2<T>, metric: Metric) {
    let expected = reference::distances(a, b, metric);
    assert_eq!(found.dim(), expected.dim());
    let n = (a.ncols() + 4) as f64 * T::UNIT_ROUNDOFF;
    let bound = n / (1.0 - n);
    for (found, expected) in found.iter().zip(&expected) {
        assert!(
            (found - expected).abs() <= bound * expected,
            "{found} {expected}"
        );
    }
}

#[test]
fn types_metrics_and_devices() {
    let folder = Folder::new();
    let (a, b) = (random((40, 7), 1), random((30, 7), 2));
    let (single_a, single_b) = (a.mapv(|x| x as f32), b.mapv(|x| x as f32));
    let files = [npy(&folder, "a.npy", &a), npy(&folder, "b.npy", &b)];
    let single = [
        npy(&folder, "a32.npy", &single_a),
        npy(&folder, "b32.npy", &single_b),
    ];
    let [a_file, b_file] = files.each_ref().map(|file| &**file);
    let [a_single, b_single] = single.each_ref().map(|file| &**file);
    let read = |options: &[&str], device: &str| -> Array2<f64> {
        let options = [options, &["--device", device]].concat();
        read_npy(PROGRAM.write(&folder, "out.npy", &options)).unwrap()
    };
    for device in devices() {
        let device = &*device.kind().to_string();
        let (a, b) = (a.view(), b.view());
        check(&read(&[a_file, b_file], device), a, b, Metric::L2);
        check(&read(&[a_file], device), a, a, Metric::L2);
        let squared = ["--metric", "squared-l2", a_file, b_file];
        check(&read(&squared, device), a, b, Metric::SquaredL2);
        // Of different types, or rounded.
        let rounded = single_b.mapv(f64::from);
        check(
            &read(&[a_file, b_single], device),
            a,
            rounded.view(),
            Metric::L2,
        );
        let (a, b) = (single_a.view(), single_b.view());
        for options in [
            &[a_single, b_single][..],
            &["--type", "f32", a_file, b_file],
        ] {
            check(&read(options, device), a, b, Metric::L2);
        }
        let found = read(&[a_single], device);
        check(&found, a, a, Metric::L2);
        assert!(found.diag().iter().all(|&distance| distance == 0.0));
        assert_eq!(found, found.t());
    }
    let said = PROGRAM.succeed(&[a_single, b_file]);
    says(
        &said,
        &[format!(
            "rows: 40 in {a_single}, 30 in {b_file}, of 7 numbers, f64\n"
        )],
    );
    says(&PROGRAM.succeed(&[a_single]), &["of 7 numbers, f32\n"]);
}

#[test]
fn tables_with_names() {
    let folder = Folder::new();
    let rows = npy(&folder, "rows.npy", &line());
    let other = npy(&folder, "other.npy", &array![[0.0, 0.0], [3.0, 4.0]]);
    let names = folder.file("names.txt", "Homo sapiens\r\n a \"b\" \r\nc\td\r\n");
    let others = folder.file("others.txt.gz", gzip(b"x\ny\n\n"));
    for device in devices() {
        let device = &*device.kind().to_string();
        let read = |options: &[&str]| {
            let options = [options, &["--device", device]].concat();
            fs::read_to_string(PROGRAM.write(&folder, "out.tsv", &options)).unwrap()
        };
        assert_eq!(
            read(&[&rows]),
            "\t0\t1\t2\n0\t0\t5\t10\n1\t5\t0\t5\n2\t10\t5\t0\n"
        );
        assert_eq!(
            read(&["--names", &names, &rows]),
            "\tHomo sapiens\t\"a \"\"b\"\"\"\t\"c\td\"\nHomo sapiens\t0\t5\t10\n\
             \"a \"\"b\"\"\"\t5\t0\t5\n\"c\td\"\t10\t5\t0\n"
        );
        assert_eq!(
            read(&[&rows, &other, "--other-names", &others]),
            "\tx\ty\n0\t0\t5\n1\t5\t0\n2\t10\t5\n"
        );
        assert_eq!(
            read(&[&rows, &other, "--names", &names]),
            "\t0\t1\nHomo sapiens\t0\t5\n\"a \"\"b\"\"\"\t5\t0\n\"c\td\"\t10\t5\n"
        );
    }
    // The format is that of the name, unless it is given.
    let table = ["--format", "tsv", &rows];
    let text = fs::read_to_string(PROGRAM.write(&folder, "table.npy", &table)).unwrap();
    assert!(text.starts_with("\t0\t1\t2\n"), "{text}");
    let matrix = ["--format", "npy", &rows];
    let matrix: Array2<f64> = read_npy(PROGRAM.write(&folder, "matrix", &matrix)).unwrap();
    assert_eq!(
        matrix,
        array![[0.0, 5.0, 10.0], [5.0, 0.0, 5.0], [10.0, 5.0, 0.0]]
    );
    PROGRAM.write(&folder, "OUT.NPY", &[&rows]);
}

#[test]
fn the_summary_shows_the_nearest_rows() {
    let folder = Folder::new();
    let rows = npy(&folder, "rows.npy", &line());
    let names = folder.file("names.txt", "\u{1b}a\nb\nc\n");
    for device in devices() {
        let kind = device.kind().to_string();
        let said = PROGRAM.succeed(&["--device", &kind, "--names", &names, &rows]);
        let lines = words(&said);
        assert_eq!(lines[0], ["distance", "row", "other"]);
        // Terminals obey control characters.
        assert_eq!(lines[1], ["5.000000e0", "\u{fffd}a", "b"]);
        assert_eq!(lines[2], ["5.000000e0", "b", "c"]);
        assert_eq!(lines[3], ["1.000000e1", "\u{fffd}a", "c"]);
        says(
            &said,
            &[
                format!("rows: 3 in {rows}, of 2 numbers, f64\n"),
                "distances: 3 pairs, least 5.000000e0, mean 6.666667e0, greatest 1.000000e1\n"
                    .into(),
                format!(", on {}: reading ", name_of(device.kind())),
            ],
        );
    }
    // Rows of another file are compared with all, also with those that are the same.
    let said = PROGRAM.succeed(&["--device", "cpu", "--metric", "squared-l2", &rows, &rows]);
    assert_eq!(words(&said)[1], ["0.000000e0", "0", "0"]);
    says(
        &said,
        &["squared distances: 9 pairs, least 0.000000e0, mean 3.333333e1, greatest 1.000000e2"],
    );

    // Twelve pairs of rows at a distance of 1, of which ten are shown, in order: two of the others
    // are as near.
    let thirteen = Array2::from_shape_fn((13, 1), |(i, _)| i as f64);
    let said = PROGRAM.succeed(&[npy(&folder, "thirteen.npy", &thirteen)]);
    let lines = words(&said);
    for i in 0..10 {
        assert_eq!(
            lines[i + 1],
            ["1.000000e0", &i.to_string(), &(i + 1).to_string()]
        );
    }
    assert!(
        said.contains("... and 68 more, none of them nearer\n"),
        "{said}"
    );
}

/// More distances than are in memory together.
#[test]
fn blocks_of_rows() {
    let folder = Folder::new();
    let count = 4300;
    let rows = Array2::from_shape_fn((count, 1), |(i, _)| i as f32);
    let rows = npy(&folder, "rows.npy", &rows);
    let options = ["--device", "cpu", "--memory", "64", &rows];
    let out = folder.argument("out.npy");
    let said = PROGRAM.succeed(&[&options[..], &["--out", &out]].concat());
    let (pairs, mean) = (count * (count - 1) / 2, (count + 1) as f64 / 3.0);
    says(
        &said,
        &[format!(
            "distances: {pairs} pairs, least 1.000000e0, mean {mean:.6e}, greatest {:.6e}\n",
            (count - 1) as f64
        )],
    );
    for (line, i) in words(&said)[1..11].iter().zip(0..) {
        assert_eq!(line[1..], [i.to_string(), (i + 1).to_string()]);
    }
    let found: Array2<f64> = read_npy(&out).unwrap();
    assert_eq!(found.dim(), (count, count));
    for ((i, j), &distance) in found.indexed_iter() {
        assert_eq!(distance, i.abs_diff(j) as f64, "{i} {j}");
    }
}

#[test]
fn no_rows_and_no_numbers() {
    let folder = Folder::new();
    let rows = npy(&folder, "rows.npy", &line());
    let none = npy(&folder, "none.npy", &Array2::<f64>::zeros((0, 2)));
    for device in devices() {
        let device = &*device.kind().to_string();
        for (files, expected) in [
            (&[&*none][..], "\n"),
            (&[&none, &rows], "\t0\t1\t2\n"),
            (&[&rows, &none], "\n0\n1\n2\n"),
        ] {
            let options = [files, &["--device", device]].concat();
            let out = PROGRAM.write(&folder, "out.tsv", &options);
            assert_eq!(fs::read_to_string(out).unwrap(), expected);
        }
        let said = PROGRAM.succeed(&["--device", device, &none]);
        says(&said, &["distances: none\n", "rows: 0 in "]);
    }
    // As many rows as the header likes, in no bytes.
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 0), }\n";
    let start = [
        &b"\x93NUMPY\x01\x00"[..],
        &(header.len() as u16).to_le_bytes(),
    ]
    .concat();
    let narrow = folder.file("narrow.npy", [&start, header.as_bytes()].concat());
    PROGRAM.refuse(&[&narrow], &["has 1000000000000 rows without numbers"]);
}

#[test]
fn files_in_other_orders_and_places() {
    let folder = Folder::new();
    let mut columns = Array2::zeros((3, 2).f());
    columns.assign(&line());
    let plain = folder.path("plain.npy");
    write_npy(&plain, &columns).unwrap();
    let bytes = fs::read(&plain).unwrap();
    let packed = folder.file("packed", gzip(&bytes));
    let expected = "\t0\t1\t2\n0\t0\t5\t10\n1\t5\t0\t5\n2\t10\t5\t0\n";
    for file in [plain.to_str().unwrap(), &packed] {
        let out = PROGRAM.write(&folder, "out.tsv", &[file]);
        assert_eq!(fs::read_to_string(out).unwrap(), expected);
    }
    let out = folder.argument("piped.tsv");
    PROGRAM.read(&["-", "--out", &out], &bytes);
    assert_eq!(fs::read_to_string(out).unwrap(), expected);
}

#[test]
fn mistakes() {
    let folder = Folder::new();
    let rows = npy(&folder, "rows.npy", &line());
    let kept = folder.file("kept.tsv", "as it was");
    let refuse = |options: &[&str], parts: &[&str]| {
        PROGRAM.refuse(&[options, &["--out", &kept]].concat(), parts);
        assert_eq!(fs::read(&kept).unwrap(), b"as it was");
    };
    refuse(
        &["missing.npy"],
        &["cannot read missing.npy", "No such file"],
    );
    refuse(
        &[&rows, "missing.npy"],
        &["cannot read missing.npy", "No such file"],
    );
    for inputs in [&["-", "-"][..], &["-", "--names", "-"]] {
        PROGRAM.refuse_usage(inputs, "stdin can be read only once");
    }

    let wide = npy(&folder, "wide.npy", &Array2::<f64>::zeros((2, 3)));
    let said = [
        "wide.npy have 3 numbers, those of ",
        "rows.npy have 2: all rows must have the same length",
    ];
    refuse(&[&rows, &wide], &said);
    for (number, name) in [
        (f64::NAN, "NaN"),
        (f64::INFINITY, "inf"),
        (f64::NEG_INFINITY, "-inf"),
    ] {
        let mut numbers = line();
        numbers[[2, 1]] = number;
        let bad = npy(&folder, "bad.npy", &numbers);
        let said = format!("bad.npy: row 2, column 1 is {name}: distances need finite numbers");
        refuse(&[&bad], &[&said]);
        refuse(&[&rows, &bad], &[&said]);
    }
    let large = npy(&folder, "large.npy", &array![[0.0, 1e39]]);
    refuse(
        &["--type", "f32", &large],
        &["large.npy: row 0, column 1: 1e39 is out of the range of f32"],
    );
    write_npy(folder.path("cube.npy"), &Array3::<f64>::zeros((2, 2, 2))).unwrap();
    refuse(
        &[&folder.argument("cube.npy")],
        &["3 axes, [2, 2, 2], not a matrix"],
    );
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (9000000000, 9000000000), }";
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(format!("{header:<117}\n").bytes());
    let endless = folder.file("endless.npy", file);
    let said = "endless.npy: 9000000000×9000000000 numbers are more than can be counted";
    refuse(&[&endless], &[said]);
    let whole = npy(&folder, "whole.npy", &Array2::<i64>::zeros((2, 2)));
    refuse(
        &[&whole],
        &["<i8", "not f16, bf16, f32 or f64", ".astype('float64')"],
    );

    let two = folder.file("two.txt", "a\nb\n");
    let said = [
        "two.txt has 2 names, but ",
        "rows.npy has 3 rows: there must be a name for each",
    ];
    refuse(&["--names", &two, &rows], &said);
    refuse(
        &[
            "--other-names",
            &two,
            &wide,
            &wide,
            "--names",
            "missing.txt",
        ],
        &["cannot read missing.txt"],
    );
    let blank = folder.file("blank.txt", "a\n \nb\n");
    refuse(
        &["--names", &blank, &rows],
        &["blank.txt: line 2 is blank: each line is a name"],
    );
    refuse(&["--device", "cuda:1000", &rows], &["cuda:1000"]);
    PROGRAM.refuse_usage(&["--memory", "0", &rows], "0 is not in 1..");
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = Folder::new();
    let rows = npy(&folder, "rows.npy", &line());
    for name in ["nowhere/out.npy", "nowhere/out.tsv"] {
        PROGRAM.refuse(
            &[&rows, "--out", &folder.argument(name)],
            &["cannot write", name],
        );
    }
    fs::create_dir(folder.path("folder.npy")).unwrap();
    let itself = folder.argument("folder.npy");
    PROGRAM.refuse(
        &[&rows, "--out", &itself],
        &["cannot write", "it is not a file"],
    );
    for name in ["out", "out.csv"] {
        let said = "ends in neither .npy nor .tsv: give the format by --format npy or --format tsv";
        PROGRAM.refuse_options(&[&rows, "--out", &folder.argument(name)], &[name, said]);
    }
    assert_eq!(folder.names(), ["folder.npy", "rows.npy"]);
    PROGRAM.refuse_usage(&[&rows, "--format", "npy"], "--out");
    PROGRAM.refuse_usage(&[&rows, "--other-names", "names.txt"], "OTHER");
    PROGRAM.refuse_usage(&[&rows, "--metric", "l1"], "l1");
    PROGRAM.refuse_usage(&[], "ROWS");
}

#[test]
fn nearest_rows() {
    let folder = Folder::new();
    let (rows, queries) = (
        npy(&folder, "rows.npy", &line()),
        npy(&folder, "queries.npy", &array![[6.0, 7.0], [0.0, 1.0]]),
    );
    let names = folder.file("names.txt", "near\nbetween\nfar\n");
    let expected = "row\trank\tother\tdistance\n0\t1\tfar\t1\n0\t2\tbetween\t4.242640687119285\n\
                    1\t1\tnear\t1\n1\t2\tbetween\t4.242640687119285\n";
    for device in devices() {
        let device = &*device.kind().to_string();
        let options = ["--nearest", "2", "--other-names", &names, &queries, &rows];
        let options = [&options[..], &["--device", device]].concat();
        let table = fs::read_to_string(PROGRAM.write(&folder, "nearest.tsv", &options)).unwrap();
        assert_eq!(table, expected, "{device}");
        // No row finds itself.
        let options = ["--nearest", "2", &rows, "--device", device];
        let found = PROGRAM.json(&options);
        assert_eq!(found["nearest"], 2);
        assert_eq!(found["pairs"], 6);
        assert_eq!(found["distances"]["least"], 5.0);
        assert_eq!(found["nearest_pairs"][5]["rank"], 2);
        let table = fs::read_to_string(PROGRAM.write(&folder, "other.tsv", &options)).unwrap();
        assert_eq!(
            table,
            "row\trank\tother\tdistance\n0\t1\t1\t5\n0\t2\t2\t10\n1\t1\t0\t5\n1\t2\t2\t5\n\
             2\t1\t1\t5\n2\t2\t0\t10\n"
        );
        let said = PROGRAM.succeed(&options);
        assert_eq!(words(&said)[0], ["distance", "rank", "row", "other"]);
        says(
            &said,
            &["nearest rows: 2 of each row, without the row itself"],
        );
    }
    PROGRAM.refuse(
        &["--nearest", "3", "--device", "cpu", &rows],
        &[
            "--nearest 3 of ",
            "needs 3 rows beside each row, but the file has 3 rows",
        ],
    );
    PROGRAM.refuse(
        &["--nearest", "4", "--device", "cpu", &rows, &rows],
        &[
            "--nearest 4 asks for more rows than the 3 of ",
            "choose a smaller K",
        ],
    );
    let many = npy(&folder, "many.npy", &random((1100, 1), 3));
    let most = ["--nearest", "1024", &many, "--device"];
    PROGRAM.refuse(
        &[&most[..], &["simulator"]].concat(),
        &[
            "more than the 1023 rows that kernels find beside each row",
            "--device cpu",
        ],
    );
    assert_eq!(
        PROGRAM.json(&[&most[..], &["cpu"]].concat())["pairs"],
        1100 * 1024
    );
    PROGRAM.refuse_usage(&["--nearest", "0", &rows], "0 is not in 1..");
    // The output is created before the search.
    let nowhere = folder.argument("nowhere/out.tsv");
    PROGRAM.refuse(
        &[
            "--nearest",
            "1024",
            "--device",
            "cpu",
            &many,
            "--out",
            &nowhere,
        ],
        &["cannot write", "nowhere/out.tsv"],
    );
    PROGRAM.refuse_options(
        &["--nearest", "1", "--out", &folder.argument("n.npy"), &rows],
        &["--nearest writes a table"],
    );
}

/// Sequences of 2, 1 and 3 windows of a number each: the slide distances are those of the windows
/// that both have.
#[test]
fn slide_distances() {
    let folder = Folder::new();
    let windows = npy(
        &folder,
        "windows.npy",
        &array![[0.0], [4.0], [3.0], [0.0], [1.0], [9.0]],
    );
    let other = npy(&folder, "other.npy", &array![[3.0], [8.0]]);
    let counts = folder.file("counts.txt", "2\n 1\n3\n");
    let one = folder.file("one.txt", "2\n");
    let names = folder.file("names.txt", "two\none\nthree\n");
    let expected = array![[0.0, 3.0, 3.0], [3.0, 0.0, 3.0], [3.0, 3.0, 0.0]];
    for device in devices() {
        let device = &*device.kind().to_string();
        let within = ["--windows", &counts, &windows, "--device", device];
        let found = PROGRAM.write(&folder, "out.npy", &within);
        let found: Array2<f64> = read_npy(found).unwrap();
        assert_eq!(found, expected);
        let among = [&within[..], &[&other, "--other-windows", &one]].concat();
        let found = PROGRAM.write(&folder, "other.tsv", &among);
        // Of the first windows √(3² + 4²), of single windows 0, and √(3² + 7²).
        let table = format!("\t0\n0\t5\n1\t0\n2\t{}\n", 58_f64.sqrt());
        assert_eq!(fs::read_to_string(found).unwrap(), table);

        let nearest = [&within[..], &["--nearest", "1", "--names", &names]].concat();
        let found = PROGRAM.write(&folder, "nearest.tsv", &nearest);
        // Of equal distances that to the first sequence.
        assert_eq!(
            fs::read_to_string(found).unwrap(),
            "row\trank\tother\tdistance\ntwo\t1\tone\t3\none\t1\ttwo\t3\nthree\t1\ttwo\t3\n"
        );
        let found = PROGRAM.json(&nearest);
        assert_eq!(found["rows"]["rows"], 6);
        assert_eq!(found["rows"]["sequences"], 3);
        assert_eq!(found["pairs"], 3);
        says(
            &PROGRAM.succeed(&nearest),
            &[
                "sequences of windows: 3\n",
                "nearest sequences: 1 of each sequence, without the sequence itself\n",
            ],
        );
        let both = [&among[..], &["--nearest", "1"]].concat();
        let found = PROGRAM.json(&both);
        assert_eq!(found["other"]["sequences"], 1);
        assert_eq!(found["distances"]["least"], 0.0);
        assert_eq!(found["distances"]["greatest"], 58_f64.sqrt());
        says(
            &PROGRAM.succeed(&both),
            &["sequences of windows: 3, 1 in the other file\n"],
        );
    }
}

/// The slide distances of single windows are those of the rows.
#[test]
fn windows_alone_are_rows() {
    let folder = Folder::new();
    let rows = random((70, 5), 4);
    let file = npy(&folder, "rows.npy", &rows);
    let counts = folder.file("counts.txt", "1\n".repeat(70));
    for device in devices() {
        let device = &*device.kind().to_string();
        let options = ["--windows", &counts, &file, "--device", device];
        let found = read_npy(PROGRAM.write(&folder, "out.npy", &options)).unwrap();
        check(&found, rows.view(), rows.view(), Metric::L2);
    }
}

#[test]
fn mistakes_of_windows() {
    let folder = Folder::new();
    let rows = npy(&folder, "rows.npy", &line());
    let three = folder.file("three.txt", "1\n1\n1\n");
    for (text, said) in [
        (
            "1\n0\n2\n",
            "line 2 is \"0\": each line is the number of windows of a sequence",
        ),
        ("1\ntwo\n", "line 2 is \"two\""),
        ("1\n-2\n", "line 2 is \"-2\""),
        (
            "1\n\n2\n",
            "line 2 is blank: each line is a number of windows",
        ),
        ("1\n1\n", "has 2 windows in all, but "),
        ("18446744073709551615\n1\n", "windows in all, but "),
    ] {
        let counts = folder.file("counts.txt", text);
        PROGRAM.refuse(&["--windows", &counts, &rows], &["counts.txt", said]);
    }
    // Neither is held in memory, nor quoted.
    let long = folder.file("long.txt", "a".repeat(1 << 20));
    for option in ["--windows", "--names"] {
        PROGRAM.refuse(
            &[option, &long, &rows],
            &[
                "cannot read ",
                "long.txt: line 1 has more than 65536 bytes: each line is a n",
            ],
        );
    }
    let many = folder.file("many.txt", "1\n".repeat(100_000));
    PROGRAM.refuse(
        &["--windows", &many, &rows],
        &["many.txt: it has more than 1006 lines: each line is a number of windows"],
    );
    let two = folder.file("two.txt", "2\n1\n");
    let options = ["--windows", &two, "--names", &three, &rows];
    PROGRAM.refuse(&options, &["has 3 names, but ", "has 2 sequences"]);
    PROGRAM.refuse(
        &[
            "--windows",
            &two,
            "--nearest",
            "2",
            "--device",
            "cpu",
            &rows,
        ],
        &["needs 2 sequences beside each sequence, but the file has 2 sequences"],
    );
    PROGRAM.refuse_options(
        &["--windows", &two, &rows, &rows],
        &["--windows needs the windows of OTHER.npy too"],
    );
    PROGRAM.refuse_usage(&["--other-windows", &two, &rows, &rows], "--windows");
    PROGRAM.refuse_usage(
        &["--windows", &two, "--other-windows", &two, &rows],
        "OTHER",
    );
}
