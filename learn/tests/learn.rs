//! The program as its users meet it: what it prints, writes and refuses.

use std::fs;

use program_tests::golden::{Case, On, check_all};
use program_tests::keys;
use program_tests::pictures::check_inside;
use program_tests::program::{Folder, Program, says};

/// The versions, and what is said of them. The program compares every result itself.
#[test]
fn golden() {
    check_all(
        [
            (
                "tensor_sketch",
                "tensor-sketch --sequences 5 --letters 200 --runs 1",
            ),
            ("box_overlap", "box-overlap --boxes 40 --runs 1"),
            ("matmul", "matmul --m 20 --k 9 --n 17 --runs 1"),
            (
                "block_shape",
                "block-shape --rows 40 --inner 9 --columns 10 --runs 1",
            ),
            ("vector_add", "vector-add --elements 1000 --runs 1"),
            ("timestamps", "timestamps --points 1000 --runs 1"),
        ]
        .map(|(name, line)| Case::new(name, line).on(On::Kernels)),
    );
}

#[test]
fn golden_on_the_cpu() {
    Case::new("on_the_cpu", "matmul --m 20 --k 9 --n 17 --runs 1")
        .on(On::Cpu)
        .check();
}

/// The page lists all keys.
#[test]
fn json() {
    const PAGE: &str = include_str!("../README.md");
    let found = Program("box-overlap").json(&["--device", "simulator", "--boxes", "10", "--sweep"]);
    let ladder = &found["ladders"][0];
    let device = ladder["device"].as_str().unwrap();
    assert!(device.starts_with("simulator: "));
    assert_eq!(ladder["rows"][0]["version"], "plain");
    assert_eq!(ladder["rows"][0]["speed_up"], 1.0);
    assert_eq!(ladder["rows"][0]["clock"], "whole-call");
    assert_eq!(ladder["rows"][2]["clock"], "kernel");
    assert_eq!(ladder["rows"][2]["occupancy"], 1.0);
    let sweep = &ladder["sweeps"][0];
    let threads = sweep["values"].as_array().unwrap().len();
    let times = sweep["lines"][0]["times_ms"].as_array().unwrap();
    assert_eq!((threads, times.len()), (64, 64));
    keys::check(PAGE, &["Keys of `--json`"], &[&found]);
}

#[test]
fn every_ladder_has_a_picture() {
    let folder = Folder::new();
    for (ladder, options, version) in [
        ("tensor-sketch", &[][..], "V15"),
        ("box-overlap", &[], "gridstride, all pairs"),
        ("matmul", &[], "tiled"),
        ("block-shape", &[], "1×256 transposed"),
        ("vector-add", &[], "five streams"),
        ("timestamps", &[], "round_timestamps"),
        ("box-overlap", &["--sweep"], "v2, 8 boxes"),
        ("block-shape", &["--sweep"], "1024 threads"),
        ("vector-add", &["--sweep"], "page-locked memory"),
    ] {
        let path = folder.argument("ladder.svg");
        let options = [&["--device", "simulator", "--plot", &path], options].concat();
        Program(ladder).succeed(&options);
        let svg = fs::read_to_string(path).unwrap();
        check_inside(&svg);
        let of_simulator = ["On simulator", "say nothing about a GPU"];
        says(&svg, &[&[version, "time (ms)"][..], &of_simulator].concat());
    }
}

#[test]
fn pictures_of_pixels() {
    let folder = Folder::new();
    let [png, svg] = ["a.PNG", "a.svg"].map(|name| folder.argument(name));
    for path in [&png, &svg] {
        Program("vector-add").succeed(&["--device", "cpu", "--plot", path]);
    }
    let png = fs::read(png).unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    let side = |place: usize| u32::from_be_bytes(png[place..place + 4].try_into().unwrap());
    let size = format!("width=\"{}\" height=\"{}\"", side(16) / 2, side(20) / 2);
    says(&fs::read_to_string(svg).unwrap(), &[size]);
}

#[test]
fn quiet_runs_print_nothing() {
    let options = ["--device", "simulator", "--rows", "40", "--inner", "9"];
    let program = Program("block-shape");
    assert_eq!(program.succeed(&[&options[..], &["--quiet"]].concat()), "");
    assert!(program.succeed(&options).lines().count() > 2);
}

#[test]
fn options_that_are_refused() {
    // Grids have at most so many blocks of one column.
    let columns = ["--columns", "65536"];
    Program("block-shape").refuse_usage(&columns, "65536 is not in 1..=65535");
    let said = "--no-cpu cannot be used with --whole-cpu";
    Program("--no-cpu").refuse_options(&["matmul", "--whole-cpu"], &[said]);
    Program("matmul").refuse_options(&["--no-cpu", "--whole-cpu"], &[said]);
    let seeded = ["--fasta", "a.fa", "--seed", "1"];
    Program("tensor-sketch").refuse_options(&seeded, &["--seed cannot be used with --fasta"]);
    for list in ["cpu,simulator", "gpus"] {
        let said = "a ladder runs on one device: name one, for example cuda:0";
        Program("matmul").refuse_usage(&["--device", list], said);
    }
    for (runs, said) in [
        ("0", "0 is not in 1.."),
        ("-1", "invalid value '-1' for '--runs <R>'"),
    ] {
        Program("matmul").refuse_usage(&["--runs", runs], said);
    }
    Program("matmul").refuse_usage(&["--device", "gpu"], "possible are auto, cpu, cuda");
    Program("unknown").refuse_usage(&[], "--help");
    Program("-q").refuse_usage(&[], "--help");
}

#[test]
fn inputs_are_not_overwritten() {
    let folder = Folder::new();
    let fasta = folder.file("a.fa", ">a\nACGT\n");
    let options = ["--fasta", &fasta, "--plot", &fasta];
    Program("tensor-sketch").refuse_options(&options, &["would overwrite the input"]);
    assert_eq!(fs::read_to_string(fasta).unwrap(), ">a\nACGT\n");
}

#[test]
fn every_help_has_groups_examples_and_exit_codes() {
    let groups = ["\nComputation:\n", "\nGlobal options:\n"];
    let codes = "Exit codes:\n  0  ";
    for ladder in [
        "tensor-sketch",
        "box-overlap",
        "matmul",
        "block-shape",
        "vector-add",
        "timestamps",
    ] {
        let help = Program(ladder).succeed(&["--help"]);
        says(&help, &[&groups[..], &[codes]].concat());
    }
    let help = Program("--help").succeed(&[""; 0]);
    says(
        &help,
        &[&groups[..], &[codes, "Examples:\n  gridstride_learn "]].concat(),
    );
    // There are others, such as cuda:1.
    assert!(!help.contains("possible values: auto"));
}

/// Although `auto` without a GPU stands for the CPU and the simulator.
#[test]
fn stdin_is_read_once() {
    let options = ["--no-cpu", "--runs", "1", "--fasta", "-"];
    let printed = Program("tensor-sketch").read(&options, b">a\nACGTACGTACGT\n>b\nACGGT\n");
    says(&printed, &["2 sequences, 17 letters"]);
}

/// Sweeps need kernels, which the CPU does not run.
#[test]
fn sweeps_on_the_cpu() {
    let options = ["--sweep", "--boxes", "40", "--device", "cpu"];
    let parts = ["--sweep is left out", "--device cuda or simulator"];
    Program("box-overlap").warn(&options, &parts);
}

/// Sizes for which there is no memory are refused by their options, before anything is left.
#[test]
#[cfg(target_os = "linux")]
fn sizes_beyond_the_memory() {
    for (line, said) in [
        ("vector-add --elements 1000000000", "lower --elements"),
        ("tensor-sketch --letters 2000000000", "lower --letters"),
        ("matmul --m 30000 --k 30000 --n 1", "choose smaller sizes"),
    ] {
        let folder = Folder::new();
        let line = format!("{line} --device cpu --plot out");
        let arguments: Vec<_> = line.split(' ').collect();
        // 1.5 GB of addresses.
        let mut shell = program_tests::program::shell("ulimit -v 1500000", &arguments, &folder);
        let output = shell.output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{line} {errors}");
        says(&errors, &["error: ", said]);
        assert_eq!(folder.names(), [""; 0], "{line}");
    }
}
