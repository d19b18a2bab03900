//! Outputs on full disks, of closed pipes and of interrupted runs.
#![cfg(unix)]

use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use ndarray::Array2;
use ndarray_npy::write_npy;

use crate::program::{Folder, Program, says, shell};

/// Arguments by which each subcommand writes more than 8 KiB to `out`.
const WRITING: [&[&str]; 12] = [
    &[
        "time-series",
        "../examples/data/rooms.csv",
        "--every",
        "1s",
        "--out",
        "out",
    ],
    &[
        "time-series",
        "../examples/data/rooms.csv",
        "--every",
        "1s",
        "--plot",
        "out",
    ],
    &["time-series", "--generate", "3000", "--out", "out"],
    &[
        "box-overlap",
        "../examples/data/pipes/set1.csv",
        "--out",
        "out",
        "--matrix",
        "m",
    ],
    &[
        "box-overlap",
        "../examples/data/pipes/set1.csv",
        "--matrix",
        "out",
    ],
    &["box-overlap", "--generate", "1000", "."],
    &[
        "edit-distance",
        "--generate",
        "20",
        "--length",
        "1000",
        "a.fa",
        "out",
    ],
    &[
        "edit-distance",
        "INPUTS/a.fa",
        "INPUTS/b.fa",
        "--out",
        "out",
    ],
    &[
        "edit-distance",
        "INPUTS/a.fa",
        "INPUTS/b.fa",
        "--plot",
        "out",
    ],
    &[
        "distances",
        "INPUTS/rows.npy",
        "--nearest",
        "9",
        "--out",
        "out",
        "--format",
        "tsv",
    ],
    &[
        "tensor-sketch",
        "../examples/data/lambda_phage.fa",
        "--windows",
        "100:100",
        "--out",
        "out",
    ],
    &[
        "matmul", "--m", "64", "--k", "3", "--n", "64", "--device", "cpu", "--out", "out",
    ],
];

/// Writes the files in the folder `INPUTS` of command lines.
fn inputs() -> Folder {
    let folder = Folder::new();
    let [a, b] = ["a.fa", "b.fa"].map(|name| folder.argument(name));
    let options = ["--generate", "400", "--length", "20", &a, &b];
    Program("edit-distance").succeed(&options);
    let rows = Array2::from_shape_fn((200, 2), |(i, j)| (i * i * (j + 1) % 101) as f64);
    write_npy(folder.path("rows.npy"), &rows).unwrap();
    folder
}

/// Returns the arguments with the path of the folder of inputs.
fn with_inputs(arguments: &[&str], inputs: &Folder) -> Vec<String> {
    let path = inputs.argument("");
    let arguments = arguments.iter();
    arguments
        .map(|text| text.replace("INPUTS/", &path))
        .collect()
}

#[test]
fn full_disks() {
    let inputs = inputs();
    for arguments in WRITING {
        let arguments = &with_inputs(arguments, &inputs);
        let folder = Folder::new();
        // Blocks of 512 or of 1024 bytes.
        let output = shell("ulimit -f 4", arguments, &folder).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?} {errors}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        let lines = errors.lines().count();
        assert!(
            errors.starts_with("error: cannot write ") && lines == 1,
            "{errors}"
        );
        says(
            &errors,
            &["File too large", "raise the limit of files (ulimit -f)"],
        );
        assert_eq!(folder.names(), [""; 0], "{arguments:?}");

        // With the limit out of reach.
        let output = shell("ulimit -f 4096", arguments, &folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}");
        assert!(!folder.names().is_empty());
    }
}

/// Sizes for which there is no memory are refused by their options, before anything is left.
#[test]
#[cfg(target_os = "linux")]
fn sizes_beyond_the_memory() {
    let line = "edit-distance --generate 1 --length 4294967296 out";
    let arguments: Vec<_> = line.split(' ').collect();
    let folder = Folder::new();
    // 1.5 GB of addresses.
    let output = shell("ulimit -v 1500000", &arguments, &folder)
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    says(
        &errors,
        &["error: ", "choose a smaller --length or --group"],
    );
    assert_eq!(folder.names(), [""; 0]);
}

/// Inputs for which there is no memory are refused while they are read, and nothing is left.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn inputs_beyond_the_memory() {
    let inputs = Folder::new();
    // Each MiB of a text is a frame of a compressed file.
    let write = |name: &str, start: &str, line: &str, mebibytes: usize| {
        let compressed = |text: &str| zstd::encode_all(text.as_bytes(), 1).unwrap();
        let frame = compressed(&line.repeat((1 << 20) / line.len()));
        inputs.file(name, [compressed(start), frame.repeat(mebibytes)].concat());
    };
    write("points.csv", "timestamp,value\n", "0,1\n", 80);
    write("boxes.csv", "minX,minY,maxX,maxY\n", "0,0,1,1\n", 160);
    write("letters.fa", ">a\n", "ACGT", 300);
    write("records.fa", "", ">a\n", 1);
    for (arguments, said) in [
        (
            "time-series INPUTS/points.csv --unit ns --every 1s",
            "points.csv: line ",
        ),
        (
            "box-overlap INPUTS/boxes.csv --matrix m",
            "boxes.csv: line ",
        ),
        (
            "edit-distance INPUTS/letters.fa INPUTS/letters.fa",
            "letters.fa: there is no memory for more letters",
        ),
        (
            "tensor-sketch INPUTS/records.fa --tuple 1 --dim 4096 --distances distances",
            "there is no memory for more sketches",
        ),
    ] {
        let arguments: Vec<_> = arguments.split(' ').collect();
        let arguments = with_inputs(&arguments, &inputs);
        let arguments = [
            &arguments[..],
            &["--device", "cpu", "--out", "out"].map(String::from),
        ]
        .concat();
        let folder = Folder::new();
        // The program, its threads and their heaps use little of this address space, in KiB.
        let limit = "export RAYON_NUM_THREADS=2 MALLOC_ARENA_MAX=1; ulimit -v 250000";
        let output = shell(limit, &arguments, &folder).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?} {errors}");
        says(&errors, &["error: ", said, "there is no memory for more "]);
        assert_eq!(folder.names(), [""; 0], "{arguments:?}");
    }
}

/// A file that is there already stays as it was.
#[test]
fn full_disks_leave_files_as_they_were() {
    let folder = Folder::new();
    folder.file("out", "as it was");
    let output = shell("ulimit -f 4", WRITING[0], &folder).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read(folder.path("out")).unwrap(), b"as it was");
    assert_eq!(folder.names(), ["out"]);
}

/// Who reads the summary may stop, as `head` does: the files are whole nevertheless.
#[test]
fn closed_pipes() {
    let inputs = inputs();
    for arguments in WRITING {
        let arguments = &with_inputs(arguments, &inputs);
        let folder = Folder::new();
        let mut command = shell(":", arguments, &folder);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.success() && errors.is_empty(),
            "{arguments:?} {errors}"
        );
        let names = folder.names();
        assert!(
            !names.is_empty() && names.iter().all(|name| !name.starts_with('.')),
            "{names:?}"
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn full_standard_output() {
    let folder = Folder::new();
    let output = shell("exec >/dev/full", WRITING[0], &folder)
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        errors.starts_with("error: cannot write to stdout: No space left"),
        "{errors}"
    );
}

const HEADER: &[u8] = b"timestamp,value\n0,1\n";

/// Starts the program on stdin, and waits until it has begun its output.
fn start(folder: &Folder, commands: &str) -> Child {
    let arguments = [
        "time-series",
        "-",
        "--unit",
        "ns",
        "--every",
        "1s",
        "--out",
        "out",
        "--plot",
        "plot.svg",
    ];
    let mut command = shell(commands, &arguments, folder);
    reset_signals(&mut command);
    let command = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(HEADER).unwrap();
    let start = Instant::now();
    while folder.names().len() < 2 {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "no temporary files"
        );
        thread::sleep(Duration::from_millis(5));
    }
    child
}

fn kill(child: &Child, signal: &str) {
    let mut kill = Command::new("sh");
    let script = format!("kill -{signal} {}", child.id());
    assert!(kill.args(["-c", &script]).status().unwrap().success());
}

#[test]
fn interrupted_runs_leave_nothing() {
    for (signal, number) in [
        ("HUP", libc::SIGHUP),
        ("INT", libc::SIGINT),
        ("QUIT", libc::SIGQUIT),
        ("TERM", libc::SIGTERM),
        ("XCPU", libc::SIGXCPU),
    ] {
        let folder = Folder::new();
        // Without a core file.
        let mut child = start(&folder, "ulimit -c 0");
        kill(&child, signal);
        // stdin is still open.
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(number), "{status}");
        assert_eq!(folder.names(), [""; 0], "{signal}");
    }
}

/// Gives a command the default actions of signals, which these tests may ignore, as under nohup.
fn reset_signals(command: &mut Command) {
    let reset = || {
        for signal in [
            libc::SIGHUP,
            libc::SIGINT,
            libc::SIGQUIT,
            libc::SIGTERM,
            libc::SIGXCPU,
        ] {
            // SAFETY: the default action of a signal refers to no memory.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: between fork and exec, `signal` alone is called, which is safe there.
    unsafe { command.pre_exec(reset) };
}

/// As under nohup.
#[test]
fn ignored_signals_stay_ignored() {
    let folder = Folder::new();
    let child = start(&folder, "trap '' HUP");
    kill(&child, "HUP");
    thread::sleep(Duration::from_millis(200));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(folder.names(), ["out", "plot.svg"]);
}
