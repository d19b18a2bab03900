//! New crates: their files, and names and folders that are refused. `cargo xtask guide` compiles them.

use std::fs;
use std::io::{Write, stderr};
use std::path::Path;
use std::process::Command;

use crate::program::{Folder, Program, says};

const NEW: Program = Program("new");

/// A folder with a checkout of gridstride, as far as the program looks at it.
pub fn folder_with_checkout() -> Folder {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("gridstride/crates/cuda_builder")).unwrap();
    folder.file("gridstride/crates/cuda_builder/Cargo.toml", "");
    folder
}

/// Expects that rustfmt would change nothing.
fn is_formatted(source: &Path) {
    let mut command = Command::new("rustfmt");
    let command = command.args(["--edition", "2024", "--check"]).arg(source);
    match command.output() {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(_) => {
            let said = writeln!(stderr(), "skipped: rustfmt is not installed");
            said.expect("stderr is open");
        }
    }
}

#[test]
fn a_crate_has_all_files_and_is_formatted() {
    let folder = folder_with_checkout();
    let long = "sums_of_all_rows_of_a_matrix_of_numbers";
    for name in ["sums_of", "k", long] {
        let path = folder.argument(name);
        let found = NEW.json(&[name, "--path", &path]);
        assert_eq!(found["name"], name);
        assert_eq!(found["folder"], path);
        assert_eq!(found["gridstride"], "../gridstride");
        let files = found["files"].as_array().unwrap();
        assert_eq!(files.len(), 9);
        for file in files {
            let file = Path::new(&path).join(file.as_str().unwrap());
            assert!(file.is_file(), "{}", file.display());
            if file.extension().is_some_and(|extension| extension == "rs") {
                is_formatted(&file);
            }
        }
    }
    let kernel = fs::read_to_string(folder.path("k/src/kernels.rs")).unwrap();
    says(&kernel, &["#[kernel(block = 256)]\npub unsafe fn k("]);
    let manifest = fs::read_to_string(folder.path("k/Cargo.toml")).unwrap();
    says(&manifest, &["path = \"../gridstride/crates/cuda_std\""]);
}

#[test]
fn the_folder_is_the_name_by_default() {
    let folder = folder_with_checkout();
    let mut command = NEW.command(&["blur"]);
    let output = command.current_dir(folder.path("")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    says(
        &said,
        &[
            "blur in blur:\n",
            "  src/kernels.rs\n",
            "it depends on the checkout of gridstride in ../gridstride\n",
            "  cargo test\n",
        ],
    );
    assert_eq!(folder.names(), ["blur", "gridstride"]);
    // Nothing is replaced.
    let kernel = folder.file("blur/src/kernels.rs", "mine");
    let mut command = NEW.command(&["blur"]);
    let output = command.current_dir(folder.path("")).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    says(
        &String::from_utf8(output.stderr).unwrap(),
        &["error: blur exists already"],
    );
    assert_eq!(fs::read_to_string(kernel).unwrap(), "mine");
}

/// JSON has no place for other bytes: they are replaced.
#[test]
#[cfg(target_os = "linux")]
fn folders_whose_names_are_not_utf_8() {
    use std::os::unix::ffi::OsStrExt;

    let folder = folder_with_checkout();
    let path = folder.path("").join(std::ffi::OsStr::from_bytes(b"\xff"));
    let found = NEW.json(&["blur".as_ref(), "--path".as_ref(), path.as_os_str()]);
    assert_eq!(found["folder"], path.display().to_string());
}

#[test]
fn bad_names_and_checkouts_are_refused() {
    let folder = folder_with_checkout();
    for (name, said) in [
        ("Blur", "begin with a letter from a to z"),
        ("my-kernel", "only those, digits and _"),
        ("match", "a keyword of Rust"),
        ("matrix", "uses this word for something else"),
    ] {
        NEW.refuse_options(&[name, "--path", &folder.argument("a")], &[name, said]);
    }
    let nowhere = folder.argument("nowhere");
    let arguments = [
        "blur",
        "--path",
        &folder.argument("a"),
        "--gridstride",
        &nowhere,
    ];
    NEW.refuse(&arguments, &["nowhere is no checkout of gridstride"]);
    let file = folder.file("file", "");
    NEW.refuse(
        &["blur", "--path", &format!("{file}/blur")],
        &["cannot write"],
    );
    assert_eq!(folder.names(), ["file", "gridstride"]);
}
