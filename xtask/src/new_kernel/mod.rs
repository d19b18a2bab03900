//! Adds a kernel to this repository: the steps of CONTRIBUTING.md, "To add a kernel", as far as a
//! program can take them.

mod edits;

use std::fs;
use std::path::{Path, PathBuf};

use ::new_kernel::{Checkout, check_name, files};

use crate::{Result, cargo, ptx, workspace};
use edits::edits;

/// Makes pairs of a file's path and its text in the template.
macro_rules! template {
    ($($path:literal: $text:literal),* $(,)?) => {
        [$(($path, include_str!(concat!("template/", $text)))),*]
    };
}

/// New files, with the texts of the template, in which the kernel is `row_sums`.
const FILES: [(&str, &str); 14] = template! {
    "kernels-gpu/row_sums/Cargo.toml": "kernels-gpu/manifest.toml",
    "kernels-gpu/row_sums/README.md": "kernels-gpu/README.md",
    "crates/row_sums/Cargo.toml": "host/manifest.toml",
    "crates/row_sums/README.md": "host/README.md",
    "crates/row_sums/build.rs": "host/build.rs",
    "crates/row_sums/src/lib.rs": "host/lib.rs",
    "crates/row_sums/src/calls.rs": "host/calls.rs",
    "crates/row_sums/src/input.rs": "host/input.rs",
    "crates/row_sums/src/dispatch.rs": "host/dispatch.rs",
    "crates/row_sums/src/partition.rs": "host/partition.rs",
    "crates/row_sums/src/cpu.rs": "host/cpu.rs",
    "crates/row_sums/src/gpu/mod.rs": "host/gpu/mod.rs",
    "crates/row_sums/src/reference.rs": "host/reference.rs",
    "crates/row_sums/tests/row_sums/main.rs": "host/test.rs",
};

/// The steps that remain for people.
const LEFT: &str = "\
1. Replace the kernel in kernels-gpu/NAME, and the host code and the test in crates/NAME by yours, with the files and
   forms of calls that CONTRIBUTING.md lists. Correct the barriers in tests/repository/ptx.rs.
2. If options or results are serialized, give crates/NAME a feature `serde`, and list it in that of Cargo.toml.
3. `cargo test -p gridstride_NAME` and `cargo test --test repository`.
4. `cargo xtask ptx NAME` after each change of the kernels, and `cargo xtask api` for docs/public-api.
5. Write examples/NAME.rs and a subcommand in cli/src/NAME, a benchmark benches/NAME.rs with its [[bench]] in
   benches/Cargo.toml and its step in xtask/src/bench/steps.rs, and the page docs/guide/NAME.md. List the calls in
   crates/test_support/src/calls.rs.
6. List the kernel in README.md, docs/guide/README.md, docs/guide/calls.md, the release order of CONTRIBUTING.md and
   CHANGELOG.md.";

/// Writes a kernel that sums rows under this name, adds it to the lists, and compiles it to PTX if
/// there is a device compiler.
pub fn add(name: &str) -> Result<()> {
    let root = workspace();
    let changes = changes(&root, name)?;
    for (path, text) in changes {
        let folder = path.parent().unwrap_or(&root);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        println!("{}", path.strip_prefix(&root).unwrap_or(&path).display());
    }
    for folder in ["kernels-gpu", "crates"] {
        for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let path = root.join(folder).join(name).join(license);
            #[cfg(unix)]
            std::os::unix::fs::symlink(Path::new("../..").join(license), path)?;
            #[cfg(not(unix))]
            fs::copy(root.join(license), path)?;
        }
    }
    // Lines are broken elsewhere with longer names.
    cargo::format()?;
    if let Err(error) = ptx::rebuild(&[name.to_owned()]) {
        println!(
            "no PTX was written, which builds for GPUs and tests of the repository need: {error}"
        );
    }
    println!("\nleft to do:\n{}", LEFT.replace("NAME", name));
    Ok(())
}

/// The new and the changed files with their texts. Nothing is written yet, so that a name that does
/// not fit, or a list that has moved, leaves the repository as it is.
fn changes(root: &Path, name: &str) -> Result<Vec<(PathBuf, String)>> {
    check_name(name)?;
    // The library has the runtime's modules under their names.
    let modules = ["src", "crates/runtime/src"]
        .into_iter()
        .flat_map(|folder| [format!("{folder}/{name}"), format!("{folder}/{name}.rs")]);
    let modules: Vec<_> = modules.collect();
    let folders = ["kernels-gpu", "crates"].map(|folder| format!("{folder}/{name}"));
    for taken in modules.iter().chain(&folders) {
        if root.join(taken).exists() {
            return Err(format!("{taken} exists already, and nothing in it is replaced").into());
        }
    }
    let lock = fs::read_to_string(root.join("Cargo.lock"))?;
    if lock.contains(&format!("\nname = \"gridstride_{name}\"\n")) {
        let package = format!("the package gridstride_{name} exists already");
        return Err(format!("{package}: take another name").into());
    }
    // Features and dependencies in the manifest.
    let feature = name.replace('_', "-");
    let taken = [format!("\n{name} = "), format!("\n{feature} = ")];
    let of_crate = files(name, &Checkout::Beside).into_iter();
    // The kernel is that of a crate outside of the repository, where it is in a module.
    let kernel = of_crate.filter(|(file, _)| file == "src/kernels.rs");
    let kernel = kernel.map(|(_, text)| {
        let text = text.replacen("\n\n", "\n#![no_std]\n\n", 1);
        (format!("kernels-gpu/{name}/src/lib.rs"), text)
    });
    let renamed = |text: &str| {
        let text = text.replace("row_sums", name);
        text.replace("FEATURE", &feature)
    };
    let others = FILES.map(|(file, text)| (renamed(file), renamed(text)));
    let mut changes: Vec<_> = kernel.chain(others).collect();
    for edit in edits(name) {
        let path = root.join(edit.file);
        let text = fs::read_to_string(&path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        if let Some(taken) = taken.iter().find(|taken| text.contains(&***taken)) {
            let (file, taken) = (edit.file, taken.trim());
            return Err(format!("{file} has `{taken}` already: take another name").into());
        }
        changes.push((edit.file.to_owned(), edit.of(&text)?));
    }
    let at = |(file, text)| (root.join(file), text);
    Ok(changes.into_iter().map(at).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_in_every_list() {
        let changes = changes(&workspace(), "blur_2d").unwrap();
        let text = |file: &str| {
            let of_file = changes
                .iter()
                .find(|(path, _)| *path == workspace().join(file));
            &of_file.unwrap_or_else(|| panic!("{file}")).1
        };
        let changed: toml::Table = text("Cargo.toml").parse().unwrap();
        let list = |table: &toml::Value| {
            let names = table.as_array().unwrap().iter();
            let names = names.map(|name| name.as_str().unwrap().to_owned());
            names.collect::<Vec<_>>()
        };
        assert_eq!(
            list(&changed["features"]["blur-2d"]),
            ["dep:gridstride_blur_2d"]
        );
        assert!(list(&changed["features"]["default"]).contains(&"blur-2d".to_owned()));
        let profile = &changed["profile"]["dev"]["package"]["gridstride_blur_2d_kernels"];
        assert_eq!(profile["opt-level"].as_integer(), Some(3));
        let dependency = &changed["dependencies"]["gridstride_blur_2d"];
        assert_eq!(dependency["optional"].as_bool(), Some(true));
        let crates = changed["workspace"]["dependencies"].as_table().unwrap();
        for (name, path) in [
            ("blur_2d_kernels", "kernels-gpu/blur_2d"),
            ("gridstride_blur_2d", "crates/blur_2d"),
        ] {
            assert_eq!(crates[name]["path"].as_str(), Some(path));
        }
        let manifest: toml::Table = text("crates/blur_2d/Cargo.toml").parse().unwrap();
        let package = &manifest["dev-dependencies"]["gridstride"];
        assert_eq!(list(&package["features"]), ["blur-2d", "simulator"]);
        for (file, part) in [
            (
                "kernels-gpu/blur_2d/src/lib.rs",
                "//! The kernel of `blur_2d`.\n#![no_std]\n\nuse ",
            ),
            ("kernels-gpu/blur_2d/src/lib.rs", "pub unsafe fn blur_2d("),
            ("crates/blur_2d/src/gpu/mod.rs", "&blur_2d_kernels::blur_2d"),
            ("crates/blur_2d/tests/blur_2d/main.rs", "blur_2d(&two"),
            (
                "src/lib.rs",
                "#[cfg(feature = \"blur-2d\")]\n#[doc(inline)]\npub use gridstride_blur_2d as blur_2d;",
            ),
            ("src/lib.rs", "| `blur-2d` | [`blur_2d`] |"),
            ("tests/repository/ptx.rs", "check_barriers(\"blur_2d\""),
        ] {
            assert!(text(file).contains(part), "{file}: {part}");
        }
    }

    #[test]
    fn names_that_are_taken_are_refused() {
        for (name, said) in [
            ("matmul", "kernels-gpu/matmul exists already"),
            ("files", "crates/files exists already"),
            ("pipeline", "src/pipeline exists already"),
            ("parallel", "crates/runtime/src/parallel.rs exists already"),
            ("ladder", "kernels-gpu/ladder exists already"),
            ("fn", "a keyword of Rust"),
            ("cli", "the package gridstride_cli exists already"),
            ("race_detector", "Cargo.toml has `race-detector =` already"),
            ("csv", "Cargo.toml has `csv =` already"),
        ] {
            let error = changes(&workspace(), name).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
