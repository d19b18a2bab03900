//! `--json` of every subcommand: its numbers are those of the output files, and the guide lists all
//! keys.

use std::fs;

use gridstride::Device;
use ndarray::{Array2, array};
use ndarray_npy::{read_npy, write_npy};
use program_tests::keys;
use serde_json::{Value, json};

use crate::new::folder_with_checkout;
use crate::program::{Folder, Program};

const PAGE: &str = include_str!("../../../docs/guide/cli.md");
const LAMBDA: &str = "../examples/data/lambda_phage.fa";
const WELDS: &str = "../examples/data/pipes/set1.csv";
const SEGMENTS: &str = "../examples/data/pipes/set2.csv";
const ROOMS: &str = "../examples/data/rooms.csv";

/// Expects exactly the keys that the guide has for a subcommand, in runs that together have them
/// all.
#[track_caller]
fn check_keys(section: &str, runs: &[&Value]) {
    keys::check(PAGE, &[section, "Keys of `--json`"], runs);
}

#[test]
fn sketches() {
    const PROGRAM: Program = Program("tensor-sketch");
    let folder = Folder::new();
    let (out, distances) = (folder.argument("s.npy"), folder.argument("d.tsv"));
    let options = ["--dim", "8", "--out", &out, "--distances", &distances];
    let found = PROGRAM.json(&[&options[..], &["--device", "simulator,cpu", LAMBDA]].concat());
    let sketches: Array2<f32> = read_npy(&out).unwrap();
    let first = &found["first_sketches"][0];
    assert_eq!(first["length"], 48502);
    for (i, value) in first["first_values"].as_array().unwrap().iter().enumerate() {
        assert_eq!(value.as_f64().unwrap() as f32, sketches[(0, i)]);
    }
    let norm = sketches.mapv(|x| f64::from(x).powi(2)).sum().sqrt();
    assert!((first["norm"].as_f64().unwrap() / norm - 1.0).abs() < 1e-12);
    assert_eq!(found["sketches"], 1);
    assert_eq!(found["dim"], 8);
    assert_eq!(found["letters"], 48502);
    assert_eq!(found["devices"][0]["id"], "simulator:0");
    assert_eq!(found["devices"][1]["id"], "cpu");
    assert_eq!(found["distances"], distances);
    assert_eq!(found["comparison"], Value::Null);

    let two = folder.file("two.fa", ">a\nACGTACGT\n>b\nACGTTTGT\n");
    let compared = PROGRAM.json(&[&options[..], &["--device", "cpu", &two]].concat());
    let sketches: Array2<f32> = read_npy(&out).unwrap();
    let difference = (&sketches.row(0) - &sketches.row(1)).mapv(|x| f64::from(x).powi(2));
    let distance = compared["comparison"]["distances"][0][1].as_f64().unwrap();
    assert!((distance / difference.sum().sqrt() - 1.0).abs() < 1e-6);
    assert_eq!(compared["comparison"]["names"], json!(["a", "b"]));
    assert!(
        compared["comparison"]["tree"]
            .as_str()
            .unwrap()
            .ends_with(';')
    );
    check_keys("tensor-sketch", &[&found, &compared]);
}

#[test]
fn distances_of_rows() {
    const PROGRAM: Program = Program("distances");
    let folder = Folder::new();
    let (rows, out) = (folder.argument("rows.npy"), folder.argument("d.npy"));
    write_npy(&rows, &array![[0.0f32, 0.0], [3.0, 4.0], [6.0, 8.0]]).unwrap();
    let alone = PROGRAM.json(&["--device", "cpu", &rows]);
    let found = PROGRAM.json(&["--device", "cpu", "--out", &out, &rows, &rows]);
    let distances: Array2<f64> = read_npy(&out).unwrap();
    assert_eq!(alone["pairs"], 3);
    assert_eq!(alone["other"], Value::Null);
    assert_eq!(alone["distances"]["greatest"], 10.0);
    assert_eq!(found["pairs"], 9);
    assert_eq!(found["distances"]["greatest"], distances[(0, 2)]);
    assert_eq!(found["distances"]["mean"], distances.sum() / 9.0);
    assert_eq!(
        found["nearest_pairs"][0],
        json!({"distance": 0.0, "row": "0", "other": "0"})
    );
    let nearest = PROGRAM.json(&["--device", "cpu", "--nearest", "2", &rows]);
    assert_eq!(nearest["nearest"], 2);
    assert_eq!(nearest["pairs"], 6);
    assert_eq!(nearest["distances"]["least"], 5.0);
    check_keys("distances", &[&alone, &found, &nearest]);
}

#[test]
fn edit_distances() {
    const PROGRAM: Program = Program("edit-distance");
    let folder = Folder::new();
    let paths = ["a.fa", "b.fa"].map(|name| folder.argument(name));
    let files: Vec<&str> = paths.iter().map(|path| &**path).collect();
    let made = PROGRAM.json(&[&["--generate", "15", "--length", "80"][..], &files].concat());
    assert_eq!(made["rows"], 15);
    assert_eq!(made["files"], json!(files));
    check_keys("Test data", &[&made]);

    let (out, plot) = (folder.argument("e.tsv"), folder.argument("e.svg"));
    let options = [
        "--windows",
        "20:5",
        "--out",
        &out,
        "--plot",
        &plot,
        "--device",
        "cpu",
    ];
    let found = PROGRAM.json(&[&options[..], &files].concat());
    let text = fs::read_to_string(&out).unwrap();
    let lines: Vec<Vec<&str>> = text
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(found["pairs"], lines.len());
    let first = found["first_pairs"].as_array().unwrap();
    assert_eq!(first.len(), 10);
    for (pair, line) in first.iter().zip(&lines) {
        assert_eq!((&pair["a"], &pair["b"]), (&json!(line[0]), &json!(line[1])));
        for (key, cell) in [
            ("edit_distance", 4),
            ("sketch_distance", 5),
            ("slide_distance", 6),
        ] {
            let expected: f64 = line[cell].parse().unwrap();
            assert!((pair[key].as_f64().unwrap() - expected).abs() <= 1e-15 * expected);
        }
    }
    let exact = lines.iter().map(|line| line[4].parse::<f64>().unwrap());
    assert_eq!(
        found["edit_distances"]["greatest"],
        exact.clone().fold(0.0, f64::max)
    );
    let mean = found["edit_distances"]["mean"].as_f64().unwrap();
    assert!((mean * 15.0 / exact.sum::<f64>() - 1.0).abs() < 1e-14);
    let cells: f64 = lines
        .iter()
        .map(|line| line[2].parse::<f64>().unwrap() * line[3].parse::<f64>().unwrap())
        .sum();
    let time = found["edit_distance_ms"].as_f64().unwrap();
    let rate = found["cell_updates_per_second"].as_f64().unwrap();
    assert!((rate * time * 1e-3 / cells - 1.0).abs() < 1e-9);
    assert_eq!(found["windows"], json!({"width": 20, "stride": 5}));
    let whole = PROGRAM.json(&[&["--device", "cpu"][..], &files].concat());
    assert_eq!(whole["windows"], Value::Null);
    assert_eq!(whole["spearman_slide"], Value::Null);
    let grid = [
        "--grid",
        "--tuple",
        "2,3",
        "--windows",
        "20:5",
        "--device",
        "cpu",
    ];
    let grid = PROGRAM.json(&[&grid[..], &files].concat());
    assert_eq!(grid["grid"][2]["spearman"], whole["spearman"]);
    check_keys("edit-distance", &[&found, &grid]);
}

#[test]
fn overlaps() {
    const PROGRAM: Program = Program("box-overlap");
    let folder = Folder::new();
    let (out, matrix) = (folder.argument("pairs.csv"), folder.argument("matrix.npy"));
    let files = ["--out", &out, "--matrix", &matrix, "--limit", "2"];
    let found = PROGRAM.json(&[&files[..], &["--device", "cpu", WELDS, SEGMENTS]].concat());
    let text = fs::read_to_string(&out).unwrap();
    let lines: Vec<_> = text.lines().skip(1).collect();
    assert_eq!(found["pairs"], lines.len());
    let shown = found["first_pairs"].as_array().unwrap();
    assert_eq!(shown.len(), 10);
    for (pair, line) in shown.iter().zip(&lines) {
        assert_eq!(format!("{},{}", pair["set1"], pair["set2"]), *line);
    }
    let rows: Vec<_> = lines
        .iter()
        .map(|line| line.split_once(',').unwrap().0)
        .collect();
    let counts = rows.chunk_by(|a, b| a == b).map(<[_]>::len);
    assert_eq!(found["most_pairs_of_a_box"], counts.clone().max().unwrap());
    let above = counts.filter(|&count| count > 2).count();
    assert_eq!(found["matrix"]["boxes_above_limit"], above);
    assert_eq!(found["sets"][1], json!({"path": SEGMENTS, "boxes": 1000}));
    let plot = folder.argument("plot.svg");
    let join = ["--join", "id", "--out", &out, "--plot", &plot];
    let joined = PROGRAM.json(&[&join[..], &[WELDS, SEGMENTS]].concat());
    assert_eq!(joined["plot"], plot);
    check_keys("box-overlap", &[&found, &joined]);

    let made = PROGRAM.json(&["--generate", "50", &folder.argument("pipes")]);
    assert_eq!(made["rows"], 50);
    let file = made["files"][1].as_str().unwrap();
    assert_eq!(fs::read_to_string(file).unwrap().lines().count(), 51);
    check_keys("Test data", &[&made]);
}

#[test]
fn products() {
    const PROGRAM: Program = Program("matmul");
    let folder = Folder::new();
    let out = folder.argument("c.npy");
    let sizes = ["--m", "20", "--k", "30", "--n", "10", "--out", &out];
    let on_host = PROGRAM.json(&[&sizes[..], &["--device", "cpu", "--repeat", "3"]].concat());
    let found = PROGRAM.json(&[&sizes[..], &["--device", "simulator", "--type", "tf32"]].concat());
    let product: Array2<f32> = read_npy(out).unwrap();
    for run in [&on_host, &found] {
        assert_eq!((&run["rows"], &run["columns"]), (&json!(20), &json!(10)));
        assert_eq!(product.dim(), (20, 10));
        assert_eq!(run["check"]["numbers"], 160);
        assert!(run["check"]["largest_share_of_bound"].as_f64().unwrap() <= 1.0);
    }
    assert_eq!(
        (&on_host["type"], &found["type"]),
        (&json!("f32"), &json!("tf32"))
    );
    let calls = &on_host["host_calls"];
    assert_eq!(calls["calls"], 3);
    let [least, median, most] =
        ["least_ms", "median_ms", "most_ms"].map(|key| calls[key].as_f64().unwrap());
    assert!(0.0 < least && least <= median && median <= most);
    let rate = calls["operations_per_second"].as_f64().unwrap();
    assert!((rate * median * 1e-3 / 12_000.0 - 1.0).abs() < 1e-9);
    assert_eq!(on_host["device_calls"], Value::Null);
    check_keys("matmul", &[&on_host, &found]);
}

#[test]
fn buckets() {
    const PROGRAM: Program = Program("time-series");
    let folder = Folder::new();
    let (out, plot) = (folder.argument("buckets.csv"), folder.argument("rooms.svg"));
    let options = [
        "--every",
        "1d",
        "--aggregate",
        "mean,count",
        ROOMS,
        "--device",
        "cpu",
    ];
    let shown = PROGRAM.json(&options);
    let found = PROGRAM.json(&[&options[..], &["--out", &out, "--plot", &plot]].concat());
    let text = fs::read_to_string(out).unwrap();
    let lines: Vec<_> = text.lines().skip(1).collect();
    for run in [&shown, &found] {
        assert_eq!(run["buckets"], lines.len());
        let count = |key: &str| run[key].as_u64().unwrap();
        assert_eq!(count("points") + count("missing_values"), 3000);
        assert!(count("missing_values") > 0);
        assert_eq!(run["every_ns"], 86_400_000_000_000_i64);
        assert_eq!(run["methods"], json!(["mean", "count"]));
    }
    let first = shown["first_buckets"].as_array().unwrap();
    assert_eq!(first.len(), 10);
    for (bucket, line) in first.iter().zip(lines) {
        let values = &bucket["values"];
        let cells: Vec<_> = line.split(',').collect();
        assert_eq!(bucket["series"], cells[0]);
        assert_eq!(bucket["timestamp_ns"].to_string(), cells[1]);
        let (mean, expected) = (
            values[0].as_f64().unwrap(),
            cells[2].parse::<f64>().unwrap(),
        );
        // serde_json reads numbers to the last bit but one.
        assert!((mean / expected - 1.0).abs() < 1e-15, "{mean} {expected}");
        assert_eq!(values[1].as_f64(), cells[3].parse().ok());
    }
    assert_eq!(found["first_buckets"], Value::Null);
    check_keys("time-series", &[&shown, &found]);
}

/// JSON has no NaN.
#[test]
fn nan_is_null() {
    let folder = Folder::new();
    let file = folder.file("a.csv", "timestamp,value\n0,1\n");
    let options = [
        "--unit",
        "ns",
        "--every",
        "1s",
        "--aggregate",
        "std",
        "--device",
        "cpu",
        &file,
    ];
    let found = Program("time-series").json(&options);
    assert_eq!(found["first_buckets"][0]["values"], json!([null]));
    assert_eq!(found["series"], Value::Null);
}

#[test]
fn vectors() {
    let options = [
        "--n",
        "1000",
        "--streams",
        "1,3",
        "--repeat",
        "1",
        "--device",
        "simulator,cpu",
    ];
    let found = Program("vector-add").json(&options);
    assert_eq!(found["elements"], 1000);
    assert_eq!(found["rows"][1]["streams"], 3);
    let time = found["rows"][0]["ordinary_ms"].as_f64().unwrap();
    let rate = found["rows"][0]["ordinary_bytes_per_second"]
        .as_f64()
        .unwrap();
    assert!((rate * time * 1e-3 / 16_000.0 - 1.0).abs() < 1e-9);
    check_keys("vector-add", &[&found]);
}

#[test]
fn devices() {
    let found = Program("devices").json(&["--measure"]);
    let all = found["devices"].as_array().unwrap();
    assert_eq!(
        (&all[0]["device"], &all[1]["device"]),
        (&json!("cpu"), &json!("simulator"))
    );
    assert!(all[0]["threads"].as_u64().unwrap() > 0);
    for device in all {
        let memory = ["memory_free_bytes", "memory_total_bytes"].map(|key| device[key].as_u64());
        assert!(memory[0] <= memory[1] && memory[1] > Some(0), "{device}");
        let kinds = device["copies"].as_array().unwrap();
        assert_eq!(
            (&kinds[0]["memory"], &kinds[1]["memory"]),
            (&json!("ordinary"), &json!("page-locked"))
        );
        for copies in kinds {
            assert!(copies["to_device_bytes_per_second"].as_f64().unwrap() > 1e6);
            assert!(copies["from_device_copies_per_second"].as_f64().unwrap() > 100.0);
        }
    }
    let problems = found["problems"].as_array().unwrap();
    match Device::cuda(0) {
        Ok(gpu) => {
            let gpu = gpu.info();
            assert_eq!(all[2]["device"], "cuda:0");
            assert_eq!(all[2]["name"], gpu.name);
            assert_eq!(all[2]["memory_total_bytes"].as_u64(), gpu.total_memory);
        }
        Err(_) => {
            assert_eq!(all.len(), 2);
            assert_eq!(problems.len(), 1);
            assert_eq!(problems[0]["device"], "cuda");
            check_keys("devices", &[&found]);
        }
    }
    let found = Program("devices").json(&[""; 0]);
    assert_eq!(found["devices"][0]["copies"], Value::Null);
}

#[test]
fn new_crates() {
    let folder = folder_with_checkout();
    let run = Program("new").json(&["blur", "--path", &folder.argument("blur")]);
    check_keys("new", &[&run]);
}

/// `warnings` has the sentences of stderr, in every object.
#[test]
fn warnings() {
    const PROGRAM: Program = Program("time-series");
    let folder = Folder::new();
    let text = "timestamp,value\n0,9007199254740993\n1,9.007199254740993e15\n2,1\n";
    let file = folder.file("large.csv", text);
    let options = ["--unit", "ns", "--every", "1s", "--device", "cpu", &file];
    let output = PROGRAM.run(&[&options[..], &["--json"]].concat());
    let errors = String::from_utf8(output.stderr).unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let warnings = found["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1);
    let sentence = warnings[0].as_str().unwrap();
    assert!(
        sentence.contains("2 values are numbers beyond 2^53"),
        "{sentence}"
    );
    assert_eq!(errors, format!("warning: {sentence}\n"));
    assert_eq!(found["rounded_values"], 2);

    let mut cut = crate::program::gzip(b">a\nACGT\n");
    cut.extend(b"behind");
    let file = folder.file("behind.fa.gz", cut);
    let options = ["--device", "cpu", "--json", &file];
    let output = Program("tensor-sketch").run(&options);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["warnings"].as_array().unwrap().len(), 1);
    let none = Program("matmul").json(&["--m", "9", "--k", "3", "--n", "4", "--device", "cpu"]);
    assert_eq!(none["warnings"], json!([]));
}
