//! No file of a package imports itself by way of others, the modules that it is in aside.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::imports::Files;

/// Packages of kernels that still have circles.
const WITH_CIRCLES: [&str; 4] = [
    "kernels-gpu/distances",
    "kernels-gpu/matmul",
    "kernels-gpu/primitives",
    "kernels-gpu/time_series",
];

/// Appends the folders of all packages below a folder.
fn packages(folder: &Path, found: &mut Vec<PathBuf>) {
    if folder.join("Cargo.toml").exists() && folder.join("src").exists() {
        found.push(folder.to_owned());
    }
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_made = ["target", "ci-tools", "node_modules"].contains(&&*name);
        if path.is_dir() && !is_made && !name.starts_with('.') {
            packages(&path, found);
        }
    }
}

/// Returns the imports that lead back to the file that has them.
fn circles(files: &Files) -> Vec<String> {
    let imports: BTreeMap<_, _> = (files.0.keys())
        .map(|module| (module, files.imports(module)))
        .collect();
    let mut circles = Vec::new();
    for (module, direct) in &imports {
        for other in direct {
            let (mut seen, mut next) = (BTreeSet::new(), vec![other]);
            while let Some(reached) = next.pop() {
                if seen.insert(reached) {
                    next.extend(&imports[reached]);
                }
            }
            if seen.contains(module) {
                let [from, to] = [*module, other].map(|module| &files.0[module].path);
                circles.push(format!("{from} imports {to}"));
            }
        }
    }
    circles
}

#[test]
fn no_files_import_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    packages(root, &mut found);
    assert!(found.len() > 30, "only {} packages are found", found.len());
    for package in found {
        let name = package.strip_prefix(root).expect("below the root");
        let circles = circles(&Files::read(&package.join("src")));
        let are_known = WITH_CIRCLES.iter().any(|known| name == Path::new(known));
        assert_eq!(
            !circles.is_empty(),
            are_known,
            "{}: imports that lead back to their file: {circles:#?}",
            name.display()
        );
    }
}
