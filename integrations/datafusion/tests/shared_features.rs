//! The tests of the engines and the Python package that is tested take the library as `cargo test` compiled it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// The packages of a build with their features, and what each depends on.
type Packages = BTreeMap<String, BTreeSet<String>>;

/// Asks cargo for the packages of a build: `edges` and `chosen` are options of `cargo tree`.
fn packages(edges: &str, chosen: &[&str]) -> Packages {
    let output = Command::new(env!("CARGO"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .args(["tree", "--prefix=depth", "--format=|{p}|{f}", edges])
        .args(chosen)
        .output()
        .expect("cargo starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let (mut packages, mut above) = (Packages::new(), Vec::<String>::new());
    for line in String::from_utf8(output.stdout).expect("UTF-8").lines() {
        // An empty line is between two packages that were chosen.
        let Some((depth, package)) = line.split_once('|') else {
            continue;
        };
        // This is behind a package whose dependencies were listed before.
        let package = package.trim_end_matches(" (*)").to_owned();
        above.truncate(depth.parse().expect("a number"));
        packages.entry(package.clone()).or_default();
        if let Some(depends) = above.last().and_then(|above| packages.get_mut(above)) {
            depends.insert(package.clone());
        }
        above.push(package);
    }
    packages
}

/// Requires that `again` has `package` and all that it depends on with the features that `first` has.
fn require_shared(package: &str, first: &Packages, again: &Packages) {
    let is_root = |name: &&String| name.starts_with(&format!("{package} v"));
    let mut waiting: Vec<_> = again.keys().filter(is_root).collect();
    assert!(!waiting.is_empty(), "there is no {package}");
    let (mut seen, mut compiled_again) = (BTreeSet::new(), BTreeSet::new());
    while let Some(name) = waiting.pop() {
        if !seen.insert(name) {
            continue;
        }
        if !first.contains_key(name) {
            let (of_package, _) = name.split_once('|').expect("features");
            let others = first.keys().filter(|other| other.starts_with(of_package));
            compiled_again.insert(format!(
                "\n{name}, compiled before: {:?}",
                Vec::from_iter(others)
            ));
        }
        waiting.extend(&again[name]);
    }
    assert!(
        compiled_again.is_empty(),
        "these would be compiled again: add what differs to crates/shared_features/Cargo.toml{}",
        String::from_iter(compiled_again)
    );
}

#[test]
fn the_library_is_compiled_once() {
    let tests = packages("--edges=normal,build,dev", &[]);
    let engines = ["-p=gridstride_datafusion", "-p=gridstride_ballista"];
    let engines = packages("--edges=normal,build,dev", &engines);
    let python = ["-p=gridstride-python", "--features=simulator"];
    let python = packages("--edges=normal,build", &python);
    for package in ["gridstride", "gridstride_files"] {
        require_shared(package, &tests, &engines);
        require_shared(package, &tests, &python);
    }
    require_shared("arrow-array", &engines, &python);
}
