//! Several devices, and limits on their memory, in every subcommand.

use std::fs;

use gridstride::Device;

use crate::common::devices;
use crate::program::{Folder, Program, says};

/// Lists of devices of one kind, whose results have the bits of one device of that kind.
fn lists() -> Vec<(String, String)> {
    let name = |device: &Device| device.kind().to_string();
    let twice = |name: String| (name.clone(), format!("{name},{name},{name}"));
    devices().iter().map(name).map(twice).collect()
}

/// Runs a subcommand with each list and with one device, and expects the same file.
#[track_caller]
fn check(program: Program, name: &str, arguments: &[&str]) {
    let folder = Folder::new();
    for (one, several) in lists() {
        let read = |device: &str, memory: &[&str]| {
            let arguments = [arguments, &["--device", device], memory].concat();
            fs::read(program.write(&folder, name, &arguments)).unwrap()
        };
        let expected = read(&one, &[]);
        for memory in [&[][..], &["--memory", "64"]] {
            assert!(read(&several, memory) == expected, "{several} {memory:?}");
        }
        assert!(read(&one, &["--memory", "64"]) == expected, "{one}");
    }
}

/// Sequences of many lengths, some of them empty.
fn fasta(folder: &Folder) -> String {
    let mut text = String::new();
    for i in 0..150 {
        let letters = (0..i * 37 % 211).map(|j| ['A', 'C', 'G', 'T'][(i + j * j / 3) % 4]);
        text += &format!(">s{i}\n{}\n", letters.collect::<String>());
    }
    folder.file("many.fa", text)
}

#[test]
fn sketches() {
    let folder = Folder::new();
    let fasta = fasta(&folder);
    let program = || Program("tensor-sketch");
    check(
        program(),
        "out.npy",
        &["--quiet", "--dim", "24", "--tuple", "3", &fasta],
    );
    let windows = ["--dim", "24", "--tuple", "3", "--windows", "32:16"];
    check(
        program(),
        "out.npy",
        &[&windows[..], &["--quiet", &fasta]].concat(),
    );
    for (_, list) in lists() {
        let said = program().warn(&["--device", &list, &fasta], &["shorter than a tuple"]);
        says(&said, &["sketches: 150, "]);
        let devices = said
            .split("a second, on ")
            .nth(1)
            .unwrap()
            .lines()
            .next()
            .unwrap();
        assert_eq!(devices.split(", ").count(), 3, "{said}");
    }
}

/// An overflow is said of the sequence, whichever device has found it.
#[test]
fn an_overflow_in_one_of_several_sessions() {
    let folder = Folder::new();
    let long = "A".repeat(300_000);
    let text = format!(">a\nACGT\n>b\nACG\n>c\n\n>long\n{long}\n>e\nAC\n");
    let fasta = folder.file("long.fa", text);
    for (_, list) in lists() {
        let said = [
            "cannot sketch long: ",
            "the sketch of sequence 3 leaves the range of f32",
        ];
        let options = ["--tuple", "8", "--dim", "1", "--device", &list, &fasta];
        Program("tensor-sketch").refuse(&options, &said);
    }
}

#[test]
fn other_subcommands() {
    let folder = Folder::new();
    let matrix = ["--type", "f64", "--m", "70", "--k", "40", "--n", "30"];
    check(Program("matmul"), "out.npy", &matrix);
    let fasta = fasta(&folder);
    let sketches =
        Program("tensor-sketch").write(&folder, "rows.npy", &["--quiet", "--dim", "24", &fasta]);
    let rows = sketches.to_str().unwrap();
    check(Program("distances"), "out.npy", &[rows]);
    check(Program("distances"), "out.tsv", &[rows, rows]);
    let pipes = [
        "../examples/data/pipes/set1.csv",
        "../examples/data/pipes/set2.csv",
    ];
    check(Program("box-overlap"), "out.csv", &pipes);
    check(
        Program("box-overlap"),
        "out.csv",
        &["--join", "id", pipes[0], pipes[1]],
    );
    let rooms = [
        "../examples/data/rooms.csv",
        "--every",
        "6h",
        "--aggregate",
        "min,count",
    ];
    check(Program("time-series"), "out.csv", &rooms);

    let said = Program("matmul").succeed(&["--device", "simulator,cpu", "--repeat", "1"]);
    says(
        &said,
        &[
            "A: 64×48",
            "on simulator: ",
            " and cpu: ",
            "from and to the host's memory: ",
        ],
    );
    assert!(!said.contains("in the device's memory"), "{said}");
    let said = Program("matmul").succeed(&["--device", "cpu,cpu", "--m", "9"]);
    says(&said, &["in the host's memory: "]);
}

#[test]
fn lists_that_are_refused() {
    let names = ["cpu,gpu", "cpu,", ",cpu", "cuda:x,cpu"];
    for name in [
        "matmul",
        "distances",
        "tensor-sketch",
        "box-overlap",
        "time-series",
    ] {
        let file = if name == "matmul" { &[][..] } else { &["file"] };
        for list in names {
            let options = [&["--device", list], file].concat();
            Program(name).refuse_usage(&options, "there is no device");
        }
        Program(name).refuse_usage(&[&["--memory", "-1"], file].concat(), "-1");
    }
    Program("matmul").refuse_usage(&["--memory", "0"], "0 is not in 1..");
}
