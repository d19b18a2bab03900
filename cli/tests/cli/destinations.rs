//! Where results go: compressed files, pictures of pixels, standard output, pipes, and disks that are
//! too small.

use std::fs;
use std::io::Read;
use std::process::Output;

use flate2::read::MultiGzDecoder;
use ndarray::Array2;
use ndarray_npy::{ReadNpyExt, read_npy, write_npy};

use crate::program::{Folder, Program, says};

const ROOMS: &str = "../examples/data/rooms.csv";
const WELDS: &str = "../examples/data/pipes/set1.csv";
const SEGMENTS: &str = "../examples/data/pipes/set2.csv";
const LAMBDA: &str = "../examples/data/lambda_phage.fa";

/// A command line, the option of an output, and the ending of its format.
const WRITING: [(&[&str], &str, &str); 11] = [
    (&["time-series", ROOMS, "--every", "6h"], "--out", "csv"),
    (&["time-series", ROOMS, "--every", "6h"], "--plot", "svg"),
    (&["time-series", "--generate", "20000"], "--out", "csv"),
    (&["box-overlap", WELDS, SEGMENTS], "--out", "csv"),
    (&["box-overlap", WELDS, SEGMENTS], "--matrix", "npy"),
    (
        &["box-overlap", WELDS, SEGMENTS, "--join", "id"],
        "--out",
        "csv",
    ),
    (&["tensor-sketch", LAMBDA], "--out", "npy"),
    (&["tensor-sketch", LAMBDA, LAMBDA], "--distances", "tsv"),
    (&["tensor-sketch", LAMBDA, LAMBDA, LAMBDA], "--tree", "nwk"),
    (
        &[
            "matmul", "--m", "9", "--k", "3", "--n", "4", "--device", "cpu",
        ],
        "--out",
        "npy",
    ),
    (
        &["edit-distance", "--generate", "20", "--length", "50"],
        "",
        "fa",
    ),
];

/// Runs a command line with an output.
fn run(arguments: &[&str], option: &str, path: &str) -> Output {
    let output = match option {
        "" => vec![path],
        option => vec![option, path],
    };
    let mut command = Program(Box::leak(arguments[0].to_owned().into_boxed_str()))
        .command(&[&arguments[1..], &output].concat());
    command.output().unwrap()
}

#[track_caller]
fn succeed(output: Output) -> Output {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    output
}

fn unzipped(file: &[u8], ending: &str) -> Vec<u8> {
    let mut content = Vec::new();
    match ending {
        "gz" => MultiGzDecoder::new(file).read_to_end(&mut content).unwrap(),
        _ => zstd::Decoder::new(file)
            .unwrap()
            .read_to_end(&mut content)
            .unwrap(),
    };
    content
}

#[test]
fn compressed_outputs() {
    for (arguments, option, format) in WRITING {
        let folder = Folder::new();
        let write = |name: &str| {
            succeed(run(arguments, option, &folder.argument(name)));
            fs::read(folder.path(name)).unwrap()
        };
        let plain = write(&format!("plain.{format}"));
        for ending in ["gz", "zst"] {
            let file = write(&format!("file.{format}.{ending}"));
            assert!(unzipped(&file, ending) == plain, "{arguments:?} {ending}");
        }
        assert_eq!(folder.names().len(), 3, "{arguments:?}");
    }
}

/// The result alone is on stdout, and the summary on stderr.
#[test]
fn results_on_standard_output() {
    for (arguments, option, format) in WRITING {
        let folder = Folder::new();
        let path = folder.argument(&format!("plain.{format}"));
        let with_file = succeed(run(arguments, option, &path));
        assert!(!with_file.stdout.is_empty());
        let plain = fs::read(&path).unwrap();
        let names: &[&str] = match cfg!(unix) {
            true => &["-", "/dev/stdout"],
            false => &["-"],
        };
        for name in names {
            let output = succeed(run(arguments, option, name));
            assert!(output.stdout == plain, "{arguments:?} {name}");
            let lines = |text: &[u8]| text.iter().filter(|&&byte| byte == b'\n').count();
            // Trees of equal sequences come with a warning.
            assert_eq!(
                lines(&output.stderr),
                lines(&with_file.stdout) + lines(&with_file.stderr),
                "{arguments:?}"
            );
            let json = [arguments, &["--json"]].concat();
            let output = succeed(run(&json, option, name));
            assert!(output.stdout == plain, "{arguments:?} {name}");
            let errors = String::from_utf8(output.stderr).unwrap();
            let summary = errors.lines().next_back().unwrap();
            let summary: serde_json::Value = serde_json::from_str(summary).unwrap();
            assert!(summary.is_object());
        }
    }
    assert!(!fs::exists("-").unwrap());
}

#[test]
fn distances_on_standard_output() {
    let folder = Folder::new();
    let rows = Array2::from_shape_fn((7, 3), |(i, j)| (i * 3 + j * j) as f64);
    write_npy(folder.path("rows.npy"), &rows).unwrap();
    let rows = folder.argument("rows.npy");
    let (npy, tsv) = (folder.argument("d.npy"), folder.argument("d.tsv"));
    succeed(run(&["distances", &rows], "--out", &npy));
    succeed(run(&["distances", &rows], "--out", &tsv));
    let table = succeed(run(&["distances", &rows], "--out", "-"));
    assert_eq!(table.stdout, fs::read(&tsv).unwrap());
    let matrix = succeed(run(&["distances", &rows, "--format", "npy"], "--out", "-"));
    let expected: Array2<f64> = read_npy(&npy).unwrap();
    assert_eq!(Array2::<f64>::read_npy(&*matrix.stdout).unwrap(), expected);
    let zipped = folder.argument("d.npy.gz");
    succeed(run(&["distances", &rows], "--out", &zipped));
    assert_eq!(
        unzipped(&fs::read(zipped).unwrap(), "gz"),
        fs::read(npy).unwrap()
    );
}

#[test]
fn pictures_of_pixels() {
    let folder = Folder::new();
    let (a, b) = (folder.argument("a.fa"), folder.argument("b.fa"));
    Program("edit-distance").succeed(&["--generate", "9", "--length", "50", &a, &b]);
    for (arguments, option) in [
        (&["time-series", ROOMS, "--every", "6h"][..], "--plot"),
        (&["box-overlap", WELDS, SEGMENTS], "--plot"),
        (&["tensor-sketch", LAMBDA, LAMBDA, LAMBDA], "--plot"),
        (&["tensor-sketch", LAMBDA, LAMBDA, LAMBDA], "--plot-tree"),
        (&["edit-distance", &a, &b, "--device", "cpu"], "--plot"),
    ] {
        let [png, svg] = ["a.PNG", "a.svg"].map(|name| folder.argument(name));
        succeed(run(arguments, option, &png));
        succeed(run(arguments, option, &svg));
        let png = fs::read(png).unwrap();
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"), "{arguments:?}");
        let side = |place: usize| u32::from_be_bytes(png[place..place + 4].try_into().unwrap());
        let svg = fs::read_to_string(svg).unwrap();
        let size = format!("width=\"{}\" height=\"{}\"", side(16) / 2, side(20) / 2);
        says(&svg, &[&size]);
    }
}

/// No font has characters for private use.
#[test]
fn characters_that_no_font_has_are_named() {
    let folder = Folder::new();
    let rooms = folder.argument("rooms.csv");
    let lines = "timestamp,series,value\n2026-03-02T00:00:00Z,caf\u{e9} \u{10fffd},1\n\
                 2026-03-02T06:00:00Z,caf\u{e9} \u{10fffd},2\n";
    fs::write(&rooms, lines).unwrap();
    let arguments = ["time-series", &rooms, "--every", "6h"];
    let [png, svg] = ["a.png", "a.svg"].map(|name| folder.argument(name));
    let said = String::from_utf8(succeed(run(&arguments, "--plot", &png)).stderr).unwrap();
    says(
        &said,
        &["warning: ", "a.png has boxes in place of", "(U+10FFFD)"],
    );
    let said = String::from_utf8(succeed(run(&arguments, "--plot", &svg)).stderr).unwrap();
    assert!(!said.contains("boxes"), "{said}");
}

#[test]
fn endings_of_other_formats_are_refused() {
    for (arguments, option, format) in WRITING {
        let endings: &[&str] = match format {
            "svg" => &["pdf", "jpg", "csv"],
            "npy" => &["csv", "npz", "npy.bz2"],
            "csv" => &["parquet", "csv.xz", "npy", "tsv"],
            _ => &["xlsx", "npy", "tsv.zip"],
        };
        for ending in endings {
            let folder = Folder::new();
            let name = folder.argument(&format!("a.{ending}"));
            let output = run(arguments, option, &name);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{name}: {said}");
            let possible = format!("a.{ending}: possible endings are .");
            says(&said, &["cannot write ", &possible, &format!(".{format}")]);
            assert!(folder.names().is_empty());
        }
    }
}

#[test]
#[cfg(unix)]
fn pipes_and_devices() {
    use std::process::Command;

    let folder = Folder::new();
    let pipe = folder.argument("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let reading = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    let arguments = ["time-series", ROOMS, "--every", "6h"];
    succeed(run(&arguments, "--out", &pipe));
    let plain = folder.argument("plain.csv");
    succeed(run(&arguments, "--out", &plain));
    assert_eq!(reading.join().unwrap(), fs::read(plain).unwrap());
    assert_eq!(folder.names(), ["pipe", "plain.csv"]);
    #[cfg(target_os = "linux")]
    {
        let output = run(&arguments, "--out", "/dev/full");
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        says(&said, &["cannot write /dev/full: No space left"]);
    }
}

/// Who reads the result may stop, as `head` does.
#[test]
#[cfg(unix)]
fn readers_that_stop() {
    use std::process::Stdio;

    let folder = Folder::new();
    let plot = folder.argument("plot.svg");
    let arguments = [ROOMS, "--every", "1s", "--out", "-", "--plot", &plot];
    let mut command = Program("time-series").command(&arguments);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    succeed(child.wait_with_output().unwrap());
    assert!(fs::read_to_string(plot).unwrap().ends_with("</svg>\n"));
}

/// Results whose size is known before are refused if the disk cannot hold them.
#[test]
#[cfg(unix)]
fn results_larger_than_the_disk() {
    let folder = Folder::new();
    let boxes = "0,0,1,1\n".repeat(1 << 20);
    let boxes = folder.file("boxes.csv", format!("minX,minY,maxX,maxY\n{boxes}"));
    let (matrix, rooms) = (folder.argument("m.npy"), folder.argument("rooms.csv"));
    let count = "9999999999999";
    for (arguments, option, path, remedy) in [
        // 64 TiB.
        (
            &["box-overlap", &boxes, "--limit", "16777216"][..],
            "--matrix",
            &matrix,
            "--limit",
        ),
        (
            &["time-series", "--generate", count],
            "--out",
            &rooms,
            "--generate",
        ),
    ] {
        let output = run(arguments, option, path);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        let name = format!("cannot write {path}: the result takes at least ");
        let remedy = format!("GiB free: choose a smaller {remedy}");
        says(&said, &[&name, " GiB, and the disk has ", &remedy]);
        assert_eq!(folder.names(), ["boxes.csv"]);
    }
}
