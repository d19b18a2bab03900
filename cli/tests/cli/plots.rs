//! Pictures of subcommands. What they look like is for people to judge; here they are read as XML.

use std::fs;

use program_tests::pictures::check_inside;

use crate::program::{Folder, Program, says};

const WELDS: &str = "../examples/data/pipes/set1.csv";
const SEGMENTS: &str = "../examples/data/pipes/set2.csv";
const ROOMS: &str = "../examples/data/rooms.csv";

/// Runs a subcommand with `--plot`, and returns the picture.
#[track_caller]
fn picture(program: &str, folder: &Folder, arguments: &[&str]) -> String {
    let path = folder.argument("picture.svg");
    let program = Program(Box::leak(program.to_owned().into_boxed_str()));
    let printed = program.succeed(&[arguments, &["--plot", &path]].concat());
    if !arguments.contains(&"-q") {
        says(&printed, &[format!("plot in {path}\n")]);
    }
    let svg = fs::read_to_string(path).unwrap();
    check_inside(&svg);
    svg
}

/// How often a colour is in a picture.
fn count(svg: &str, color: &str) -> usize {
    svg.matches(color).count()
}

/// Of the first set, the second set, and overlaps.
const COLORS: [&str; 3] = ["#0072B2", "#009E73", "#D55E00"];

#[test]
fn estimates_of_edit_distances() {
    let folder = Folder::new();
    let (a, b) = (folder.argument("a.fa"), folder.argument("b.fa"));
    let generated = ["--generate", "30", "--length", "100", &a, &b];
    Program("edit-distance").succeed(&generated);
    let windows = ["--windows", "20:5", "--device", "cpu", &a, &b];
    let svg = picture("edit-distance", &folder, &windows);
    says(
        &svg,
        &[
            "30 pairs: tensor sketches",
            "whole sequences, rank",
            "windows 20:5, rank",
            "slide distance",
        ],
    );
    assert_eq!(svg.matches("<circle").count(), 60);
    let svg = picture("edit-distance", &folder, &["--device", "cpu", &a, &b]);
    assert_eq!(svg.matches("<circle").count(), 30);
    let grid = ["--grid", "--tuple", "2,3,4", "--seeds", "2"];
    let svg = picture("edit-distance", &folder, &[&grid[..], &windows].concat());
    says(
        &svg,
        &[
            "of 30 pairs",
            "dim 64, whole sequences",
            "dim 64, windows 20:5",
        ],
    );
    assert_eq!(svg.matches("<circle").count(), 6);
    // A legend of more lines than the picture is usually high, all inside of it.
    let dims: Vec<_> = (1..=24).map(|dim| dim.to_string()).collect();
    let many = ["--grid", "--tuple", "2", "--dim", &dims.join(",")];
    let svg = picture(
        "edit-distance",
        &folder,
        &[&many[..], &["--device", "cpu", &a, &b]].concat(),
    );
    let legend = dims.iter().map(|dim| format!("dim {dim}, whole sequences"));
    says(&svg, &legend.collect::<Vec<_>>());
    // Without a correlation: a pair without letters, whose sketches are zero with a warning, and pairs
    // that are all equal.
    for (name, text) in [("none", ">x\n"), ("equal", ">x\nACGT\n>y\nACGT\n")] {
        let file = folder.file(name, text);
        picture(
            "edit-distance",
            &folder,
            &["-q", "--device", "cpu", &file, &file],
        );
        picture(
            "edit-distance",
            &folder,
            &["-q", "--grid", "--device", "cpu", &file, &file],
        );
    }
}

#[test]
fn boxes_from_above() {
    let folder = Folder::new();
    let svg = picture("box-overlap", &folder, &[WELDS, SEGMENTS]);
    says(
        &svg,
        &[
            "set1.csv: 1000 boxes",
            "set2.csv: 1000 boxes",
            "1953 overlaps",
        ],
    );
    // A filled rectangle and its outline for each, and one in the legend.
    let counts = COLORS.map(|color| count(&svg, color));
    assert_eq!(counts[..2], [2002, 2002]);
    assert!(counts[2] >= 1953 + 2);

    // The same picture with a join, whose pairs come the other way round.
    let out = folder.argument("joined.csv");
    let joined = ["--join", "id", "--out", &out, WELDS, SEGMENTS];
    let same = picture("box-overlap", &folder, &joined);
    assert_eq!(COLORS.map(|color| count(&same, color)), counts);
    says(&same, &["1953 overlaps"]);

    let svg = picture("box-overlap", &folder, &[SEGMENTS]);
    says(&svg, &["set2.csv: 1000 boxes"]);
    assert_eq!(count(&svg, COLORS[1]), 0);
}

#[test]
fn a_sample_of_many_boxes() {
    let folder = Folder::new();
    let sets = folder.argument("sets");
    Program("box-overlap").succeed(&["--generate", "20000", &sets]);
    let files = ["set1.csv", "set2.csv"].map(|name| format!("{sets}/{name}"));
    let svg = picture("box-overlap", &folder, &[&files[0], &files[1]]);
    says(&svg, &[" of 20000 boxes are drawn", " overlaps are drawn"]);
    let boxes = (count(&svg, COLORS[0]) - 2) / 2;
    says(
        &svg,
        &[format!("set1.csv: {boxes} of 20000 boxes are drawn")],
    );
    assert!((1800..2200).contains(&boxes), "{boxes}");
    assert!(svg.len() < 4 << 20);
}

#[test]
fn boxes_that_are_hard_to_draw() {
    let folder = Folder::new();
    let header = "minX,minY,maxX,maxY\n";
    for (lines, said) in [
        ("", "0 boxes"),
        ("3,4,3,4\n", "1 boxes"),
        ("-inf,-inf,inf,inf\n0,0,1,1\n", "1 overlaps"),
        ("-inf,-inf,inf,inf\n", "1 boxes"),
        ("0,0,1e308,1\n-1e308,0,0,1\n", "1 overlaps"),
        ("0,0,1000000,1\n", "1 boxes"),
        ("1e-300,0,2e-300,1e-300\n", "1 boxes"),
        ("1000000000,0,1000000000.5,0\n", "1 boxes"),
    ] {
        let set = folder.file("a<b>&\"c\".csv", format!("{header}{lines}"));
        let svg = picture("box-overlap", &folder, &["--type", "f64", &set]);
        says(&svg, &[said, "a&lt;b&gt;&amp;&quot;c&quot;.csv"]);
    }
    let same = folder.argument("same");
    for (options, said) in [
        (
            ["--out", &same, "--plot", &same, WELDS],
            "--out and --plot name the same file",
        ),
        (
            ["--matrix", &same, "--plot", &same, WELDS],
            "--matrix and --plot name the same file",
        ),
    ] {
        Program("box-overlap").refuse_usage(&options, said);
    }
    let nowhere = folder.argument("nowhere/a.svg");
    Program("box-overlap").refuse(&["--plot", &nowhere, WELDS], &["cannot write", "a.svg"]);
}

#[test]
fn series_that_are_hard_to_draw() {
    let folder = Folder::new();
    let draw = |lines: &str, options: &[&str]| {
        let file = folder.file("series.csv", format!("timestamp,series,value\n{lines}"));
        let options = [&["--unit", "ns", "--every", "10s", &*file], options].concat();
        picture("time-series", &folder, &options)
    };
    says(&draw("", &[]), &["no points"]);
    assert!(!draw("5,a,3\n", &[]).contains("no numbers"));
    let svg = draw("5,a,3\n", &["--aggregate", "mean,std"]);
    assert_eq!(svg.matches("no numbers").count(), 1);
    let svg = draw("5,a,\n6,a,NaN\n5,b,1\n", &[]);
    assert_eq!(svg.matches("no numbers").count(), 1);
    // Short labels of long numbers.
    let svg = draw("5,a,1000000000000\n99,a,1000000000000\n", &[]);
    says(&svg, &["1e12", "9.995e11"]);
    assert!(!svg.contains("00000000"), "{svg}");
    picture(
        "time-series",
        &folder,
        &[
            "--every",
            "6h",
            "--aggregate",
            "mean,std,p95,rate:max",
            ROOMS,
        ],
    );
}
