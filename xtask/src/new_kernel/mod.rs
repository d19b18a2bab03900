//! Adds a kernel to this repository: the steps of CONTRIBUTING.md, "To add a kernel", as far as a
//! program can take them.

mod edits;

use std::fs;
use std::path::{Path, PathBuf};

use ::new_kernel::{Checkout, check_name, files};

use crate::{Result, ptx, workspace};
use edits::edits;

/// New files, with the texts of the template, in which the kernel is `row_sums`.
const FILES: [(&str, &str); 7] = [
    (
        "kernels-gpu/row_sums/Cargo.toml",
        include_str!("template/manifest.toml"),
    ),
    (
        "kernels-gpu/row_sums/README.md",
        include_str!("template/README.md"),
    ),
    ("src/row_sums/mod.rs", include_str!("template/mod.rs")),
    ("src/row_sums/calls.rs", include_str!("template/calls.rs")),
    (
        "src/row_sums/reference.rs",
        include_str!("template/reference.rs"),
    ),
    ("src/row_sums/gpu/mod.rs", include_str!("template/gpu.rs")),
    (
        "tests/kernels/row_sums.rs",
        include_str!("template/test.rs"),
    ),
];

/// What a program cannot do.
const LEFT: &str = "\
1. Replace the kernel in kernels-gpu/NAME, the host code in src/NAME and the test in tests/kernels/NAME.rs by yours, with
   the files and forms of calls that CONTRIBUTING.md lists. Correct the barriers in tests/repository/ptx.rs.
2. cargo fmt, then `cargo test --test kernels -- NAME::` and `cargo test --test repository`.
3. `cargo xtask ptx NAME` after each change of the kernels, and `cargo xtask api` for docs/public-api.
4. Write examples/NAME.rs and a subcommand in cli/src/NAME, a benchmark benches/NAME.rs with its [[bench]] in
   benches/Cargo.toml and its step in xtask/src/bench/steps.rs, and the page docs/guide/NAME.md.
5. List the kernel in README.md, docs/guide/README.md, docs/guide/calls.md, the release order of CONTRIBUTING.md and
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
    for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let path = root.join("kernels-gpu").join(name).join(license);
        #[cfg(unix)]
        std::os::unix::fs::symlink(Path::new("../..").join(license), path)?;
        #[cfg(not(unix))]
        fs::copy(root.join(license), path)?;
    }
    if let Err(error) = ptx::rebuild(&[name.to_owned()]) {
        println!("no PTX was written, which builds for GPUs and two tests need: {error}");
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
    let folder = format!("kernels-gpu/{name}");
    let test = format!("tests/kernels/{name}.rs");
    for taken in modules.iter().chain([&folder, &test]) {
        if root.join(taken).exists() {
            return Err(format!("{taken} exists already, and nothing in it is replaced").into());
        }
    }
    // Modules without a file of their own, and features and dependencies in the manifest.
    let feature = name.replace('_', "-");
    let taken = [
        format!("mod {name};"),
        format!("mod {name} {{"),
        format!("\n{name} = "),
        format!("\n{feature} = "),
    ];
    let of_crate = files(name, &Checkout::Beside).into_iter();
    // The kernel is that of a crate outside of the repository.
    let kernel = of_crate.filter(|(file, _)| file == "kernels/src/lib.rs");
    let kernel = kernel.map(|(_, text)| (format!("{folder}/src/lib.rs"), text));
    let renamed = |text: &str| {
        let text = text.replace("row_sums", name);
        text.replace("ROW_SUMS", &name.to_uppercase())
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
        let manifest = fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let changed: toml::Table = text("Cargo.toml").parse().unwrap();
        for list in ["members", "default-members"] {
            let count = |table: &toml::Table| table["workspace"][list].as_array().unwrap().len();
            assert_eq!(count(&changed), count(&manifest) + 1, "{list}");
        }
        assert!(changed["features"]["blur-2d"].is_array());
        assert!(
            changed["dependencies"]["blur_2d_kernels"]["optional"]
                .as_bool()
                .unwrap()
        );
        let crates = changed["workspace"]["dependencies"].as_table().unwrap();
        assert_eq!(
            crates["blur_2d_kernels"]["path"].as_str(),
            Some("kernels-gpu/blur_2d")
        );
        for (file, part) in [
            ("kernels-gpu/blur_2d/src/lib.rs", "pub unsafe fn blur_2d("),
            ("src/blur_2d/gpu/mod.rs", "&modules::BLUR_2D"),
            (
                "src/lib.rs",
                "#[cfg(feature = \"blur-2d\")]\npub mod blur_2d;",
            ),
            ("build.rs", "is_chosen: cfg!(feature = \"blur-2d\")"),
            ("tests/kernels/main.rs", "\nmod blur_2d;\n"),
            ("tests/repository/ptx.rs", "check_barriers(\"blur_2d\""),
            ("tests/repository/ptx.rs", "\n        \"blur_2d\",\n"),
            ("xtask/src/api.rs", "\"gridstride_blur_2d_kernels\","),
            (".ci/run", " blur-2d "),
            (".ci/run", " blur_2d.sm_70 "),
        ] {
            assert!(text(file).contains(part), "{file}: {part}");
        }
        let counted = |text: &str| text.matches("name: \"").count();
        let count = counted(text("build.rs"));
        assert!(text("build.rs").contains(&format!("const KERNELS: [Kernels; {count}]")));
    }

    #[test]
    fn names_that_are_taken_are_refused() {
        for (name, said) in [
            ("matmul", "src/matmul exists already"),
            ("parallel", "crates/runtime/src/parallel.rs exists already"),
            ("ladder", "kernels-gpu/ladder exists already"),
            ("fn", "a keyword of Rust"),
            ("modules", "src/lib.rs has `mod modules {` already"),
            ("calls", "tests/kernels/main.rs has `mod calls;` already"),
            ("race_detector", "Cargo.toml has `race-detector =` already"),
            ("fft", "Cargo.toml has `fft =` already"),
        ] {
            let error = changes(&workspace(), name).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
