//! Outputs and inputs that exclude each other, and symbolic links.

use std::fs;
use std::process::Stdio;

use crate::program::{Folder, Program, says};

const ROOMS: &str = "../examples/data/rooms.csv";
const LAMBDA: &str = "../examples/data/lambda_phage.fa";
const WELDS: &str = "../examples/data/pipes/set1.csv";
const SEGMENTS: &str = "../examples/data/pipes/set2.csv";

/// Expects exit code 2, and that a file stays as it was.
#[track_caller]
fn refuse_overwriting(program: &'static str, file: &str, arguments: &[&str]) {
    let before = fs::read(file).unwrap();
    Program(program).refuse_options(arguments, &["would overwrite the input"]);
    assert_eq!(fs::read(file).unwrap(), before);
}

/// Expects exit code 2 of a subcommand with its arguments.
#[track_caller]
fn refuse(arguments: &[&'static str], said: &str) {
    Program(arguments[0]).refuse_options(&arguments[1..], &[said]);
}

#[test]
fn inputs_are_not_overwritten() {
    let folder = Folder::new();
    let fasta = folder.file("a.fa", fs::read(LAMBDA).unwrap());
    let dotted = folder.argument("./a.fa");
    for option in ["--out", "--distances", "--tree", "--plot", "--plot-tree"] {
        refuse_overwriting("tensor-sketch", &fasta, &[&fasta, option, &fasta]);
        refuse_overwriting("tensor-sketch", &fasta, &[LAMBDA, &fasta, option, &dotted]);
    }
    let tables = folder.file("tables.json", "{}");
    let options = [LAMBDA, "--tables", &tables, "--out", &tables];
    refuse_overwriting("tensor-sketch", &tables, &options);
    let rooms = folder.file("rooms.csv", fs::read(ROOMS).unwrap());
    for option in ["--out", "--plot"] {
        let options = [&rooms, "--every", "1d", option, &rooms];
        refuse_overwriting("time-series", &rooms, &options);
    }
    let (set1, set2) = (
        folder.file("set1.csv", fs::read(WELDS).unwrap()),
        folder.file("set2.csv", fs::read(SEGMENTS).unwrap()),
    );
    for set in [&set1, &set2] {
        for option in ["--out", "--matrix", "--plot"] {
            refuse_overwriting("box-overlap", set, &[&set1, &set2, option, set]);
        }
    }
    let matrix = folder.file("a.npy", "");
    let options = ["--a", &matrix, "--b", "b.npy", "--out", &matrix];
    refuse_overwriting("matmul", &matrix, &options);
    let options = ["--b", &matrix, "--a", "a.npy", "--out", &matrix];
    refuse_overwriting("matmul", &matrix, &options);
    refuse_overwriting("distances", &matrix, &[&matrix, "--out", &matrix]);
    refuse_overwriting("distances", &matrix, &["a.npy", &matrix, "--out", &matrix]);
    let list = folder.file("list.txt", "");
    for inputs in [
        &["--names", &*list][..],
        &["--windows", &list],
        &["b.npy", "--other-names", &list],
        &["b.npy", "--windows", "w.txt", "--other-windows", &list],
    ] {
        let options = [&["a.npy"], inputs, &["--out", &list]].concat();
        refuse_overwriting("distances", &list, &options);
    }
    for option in ["--out", "--plot"] {
        refuse_overwriting("edit-distance", &fasta, &[&fasta, LAMBDA, option, &fasta]);
        refuse_overwriting("edit-distance", &fasta, &[LAMBDA, &fasta, option, &fasta]);
    }
}

#[test]
fn outputs_are_distinct_and_named() {
    let folder = Folder::new();
    let (plain, dotted) = (folder.argument("a"), folder.argument("./a"));
    let options = ["--every", "1d", "--out", &plain, "--plot", &dotted, ROOMS];
    Program("time-series").refuse_options(&options, &["--out and --plot name the same file"]);
    let stdout = "--out and --plot both write to standard output";
    refuse(&["box-overlap", WELDS, "--out", "-", "--plot", "-"], stdout);
    #[cfg(unix)]
    refuse(
        &["box-overlap", WELDS, "--out", "-", "--plot", "/dev/stdout"],
        stdout,
    );
    assert!(!fs::exists("-").unwrap());
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn stdin_is_read_once() {
    for arguments in [
        &["box-overlap", "-", "-"][..],
        &["matmul", "--a", "-", "--b", "-"],
        &["tensor-sketch", "-", "-"],
        &["tensor-sketch", "-", "--tables", "-"],
        &["distances", "-", "-"],
        &["edit-distance", "-", "-"],
        &["distances", "-", "--names", "-"],
    ] {
        refuse(arguments, "stdin can be read only once");
    }
}

/// The file that a link names is replaced, the link is not.
#[test]
#[cfg(unix)]
fn links_stay_links() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new();
    fs::create_dir(folder.path("data")).unwrap();
    let target = folder.file("data/out.csv", "as it was");
    for (name, target) in [
        ("link", "data/out.csv"),
        ("second", "link"),
        ("new", "data/new.csv"),
        ("data/stdout", "/dev/stdout"),
        ("device", "/dev/null"),
        ("deep", "data/stdout"),
        ("itself", "itself"),
    ] {
        symlink(target, folder.path(name)).unwrap();
    }
    let program = Program("time-series");
    for name in ["link", "second", "new"] {
        let out = folder.argument(name);
        program.succeed(&[ROOMS, "--every", "1d", "--out", &out]);
        assert!(folder.path(name).is_symlink());
        assert!(fs::read(folder.path(name)).unwrap().len() > 100);
    }
    assert_ne!(fs::read(&target).unwrap(), b"as it was");
    assert!(!folder.path("data/new.csv").is_symlink());
    symlink("set1.csv", folder.path("data/set2.csv")).unwrap();
    Program("box-overlap").refuse_options(
        &["--generate", "1", "--force", &folder.argument("data")],
        &["set1.csv and set2.csv name the same file"],
    );
    // Devices take the results as they come.
    for (name, begins) in [
        ("data/stdout", "series,timestamp,mean"),
        ("device", ""),
        ("deep", "series,timestamp,mean"),
    ] {
        let out = folder.argument(name);
        let output = program.run(&[ROOMS, "--every", "1d", "--out", &out, "--quiet"]);
        assert!(output.status.success() && output.stderr.is_empty());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with(begins) && text.is_empty() == begins.is_empty());
        assert!(folder.path(name).is_symlink());
    }
    let out = folder.argument("itself");
    let options = [ROOMS, "--every", "1d", "--out", &out];
    program.refuse(&options, &["cannot write", "symbolic link to itself"]);
    let (link, plain) = (folder.argument("second"), folder.argument("data/out.csv"));
    let options = [ROOMS, "--every", "1d", "--out", &link, "--plot", &plain];
    program.refuse_options(&options, &["--out and --plot name the same file"]);
    let options = [&plain, "--every", "1d", "--out", &link];
    program.refuse_options(&options, &["would overwrite the input"]);
}

/// Before an input is read.
#[test]
#[cfg(unix)]
fn paths_that_cannot_be_written_are_refused_first() {
    let folder = Folder::new();
    let long = folder.argument(&"n".repeat(300));
    let inner = folder.argument("new/");
    let dotted = folder.argument("new/.");
    for (path, said) in [
        (&long, "name too long"),
        (&inner, "it is not a file"),
        (&dotted, "it is not a file"),
    ] {
        let options = ["nothing.csv", "--every", "1d", "--out", path];
        Program("time-series").refuse(&options, &["cannot write", said]);
    }
    assert_eq!(folder.names(), [""; 0]);
}

/// A file that others may not read stays so.
#[test]
#[cfg(unix)]
fn replaced_files_keep_their_permissions() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new();
    for mode in [0o600, 0o640, 0o666] {
        let out = folder.file("out.csv", "as it was");
        fs::set_permissions(&out, fs::Permissions::from_mode(mode)).unwrap();
        Program("time-series").succeed(&[ROOMS, "--every", "1d", "--out", &out]);
        assert_ne!(fs::read(&out).unwrap(), b"as it was");
        let found = fs::metadata(&out).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode);
    }
}

/// The error of a device comes although stdin stays open.
#[test]
fn missing_devices_are_reported_at_once() {
    for arguments in [
        &["time-series", "-", "--every", "1d"][..],
        &["box-overlap", "-"],
        &["matmul", "--a", "-", "--b", "b.npy"],
        &["distances", "-"],
        &["edit-distance", "-", "b.fa"],
        &["tensor-sketch", "-"],
    ] {
        let arguments = [arguments, &["--device", "cuda:1000"]].concat();
        let mut command = Program(arguments[0]).command(&arguments[1..]);
        let command = command.stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?} {errors}");
        assert!(errors.contains("cuda:1000"), "{arguments:?} {errors}");
    }
}

/// Test data replaces files only if it is asked to, unlike results.
#[test]
fn generated_files_replace_none() {
    let folder = Folder::new();
    for (name, line) in [
        (
            "a.fa",
            &["edit-distance", "--generate", "1", "a.fa", "b.fa"][..],
        ),
        (
            "b.fa",
            &["edit-distance", "--generate", "1", "c.fa", "b.fa"],
        ),
        ("set2.csv", &["box-overlap", "--generate", "1", "."]),
        (
            "rooms.csv",
            &["time-series", "--generate", "1", "--out", "rooms.csv"],
        ),
    ] {
        fs::write(folder.path(name), "as it was").unwrap();
        let run = |options: &[&str]| {
            let mut command = Program(line[0]).command(&[&line[1..], options].concat());
            command.current_dir(folder.0.path()).output().unwrap()
        };
        let refused = run(&[]);
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(1), "{said}");
        says(
            &said,
            &[&format!("{name} exists already: --force replaces it")],
        );
        assert_eq!(fs::read(folder.path(name)).unwrap(), b"as it was");
        assert!(run(&["--force"]).status.success());
        assert_ne!(fs::read(folder.path(name)).unwrap(), b"as it was");
        for name in folder.names() {
            fs::remove_file(folder.path(&name)).unwrap();
        }
    }
}
