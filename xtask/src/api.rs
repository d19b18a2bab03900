//! The public items of the published libraries: docs/public-api has a file for each, so that every
//! change of them is seen in review.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;

use crate::{Result, cargo, workspace};

/// Published libraries without a file, since programs do not name their items.
const INTERNAL: [&str; 4] = [
    // `cuda_std`, `cust` and `cust_core` re-export these macros.
    "gridstride_cuda_std_macros",
    "gridstride_cust_derive",
    // gridstride hides the transform, and requires its exact version.
    "gridstride_fft",
    // The build scripts of gridstride's kernels, in its exact version.
    "gridstride_embed",
];

/// Automatic traits whose implementations are left out. Those of `Send` and `Sync` are listed.
const AUTOMATIC: [&str; 4] = ["Freeze", "RefUnwindSafe", "Unpin", "UnwindSafe"];

/// The part of `cargo metadata` that is used here.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    /// The registries that it may be published to: by default all, `publish = false` means none.
    publish: Option<Vec<String>>,
    targets: Vec<Target>,
    #[cfg(test)]
    dependencies: Vec<Dependency>,
    #[serde(default)]
    metadata: Option<PackageMetadata>,
}

#[cfg(test)]
#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// None in `[dependencies]`.
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct PackageMetadata {
    docs: Option<Docs>,
}

#[derive(Deserialize)]
struct Docs {
    rs: DocsRs,
}

/// The table `[package.metadata.docs.rs]`.
#[derive(Deserialize)]
struct DocsRs {
    #[serde(default)]
    features: Vec<String>,
}

impl Metadata {
    fn published(&self) -> Vec<&Package> {
        let is_published =
            |package: &&Package| package.publish.as_ref().is_none_or(|r| !r.is_empty());
        self.packages.iter().filter(is_published).collect()
    }
}

impl Package {
    /// The features that docs.rs documents.
    fn features(&self) -> &[String] {
        let docs = self.metadata.as_ref().and_then(|m| m.docs.as_ref());
        docs.map_or(&[], |docs| &docs.rs.features)
    }

    /// The name of the library in source.
    fn library(&self) -> Result<&str> {
        let is_library = |target: &&Target| target.kind.iter().any(|kind| kind == "lib");
        let library = self.targets.iter().find(is_library);
        let library = library.ok_or_else(|| format!("{} has no library", self.name))?;
        Ok(&library.name)
    }
}

/// Writes the lists, or with `check` compares them.
pub fn list(check: bool) -> Result<()> {
    let folder = workspace().join("docs/public-api");
    let lists = lists()?;
    if !check {
        fs::create_dir_all(&folder)?;
    }
    let mut changed = Vec::new();
    for (name, text) in &lists {
        let path = folder.join(format!("{name}.txt"));
        let present = fs::read_to_string(&path).unwrap_or_default();
        if present == *text {
            continue;
        }
        if check {
            println!("{name}:");
            show_difference(&present, text);
            changed.push(name.as_str());
        } else {
            fs::write(&path, text)?;
        }
    }
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if !lists.contains_key(&*name) {
            return Err(format!("{} lists no published library", path.display()).into());
        }
    }
    if !changed.is_empty() {
        return Err(format!(
            "the public items of {} are not those in docs/public-api: \
             if the change is intended, run `cargo xtask api`, and name it in the changelog",
            changed.join(", ")
        )
        .into());
    }
    println!("{} libraries", lists.len());
    Ok(())
}

fn metadata() -> Result<Metadata> {
    let output = cargo::command()
        .current_dir(workspace())
        .args(["metadata", "--no-deps", "--format-version=1"])
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err("cargo could not describe the packages".into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The public items of each library, a line an item.
fn lists() -> Result<BTreeMap<String, String>> {
    let metadata = metadata()?;
    let published = metadata.published();
    if let Some(name) = INTERNAL
        .iter()
        .find(|name| published.iter().all(|package| package.name != **name))
    {
        return Err(
            format!("INTERNAL in xtask/src/api.rs has {name}, which is not published").into(),
        );
    }
    // gridstride launches the kernels, and requires their exact versions. Kernels of user-defined aggregates name
    // items of those of time series.
    let is_internal = |name: &str| name.ends_with("_kernels") && !name.contains("time_series");
    let is_listed = |name: &str| !INTERNAL.contains(&name) && !is_internal(name);
    let listed = || published.iter().filter(|p| is_listed(&p.name));
    document(listed())?;
    listed()
        .map(|package| {
            let json = metadata
                .target_directory
                .join("doc")
                .join(package.library()?);
            Ok((package.name.clone(), items(&json.with_extension("json"))?))
        })
        .collect()
}

/// Has rustdoc describe the libraries as JSON. Its format is unstable: the version of the crate
/// public-api fits that of rust-toolchain.toml.
fn document<'a>(packages: impl Iterator<Item = &'a &'a Package>) -> Result<()> {
    let mut command = cargo::command();
    command.current_dir(workspace());
    command.args(["doc", "--quiet", "--no-deps"]);
    for package in packages {
        command.args(["--package", &package.name]);
        // Without the package's name: cargo takes `gridstride/cuda` for a feature of the
        // dev-dependency of this name, which `doc` leaves out.
        for feature in package.features() {
            command.args(["--features", feature]);
        }
    }
    let status = command
        .env("RUSTDOC", workspace().join("xtask/src/rustdoc.sh"))
        .env("RUSTDOCFLAGS", "-Z unstable-options --output-format json")
        .status()?;
    match status.success() {
        true => Ok(()),
        false => Err("rustdoc could not describe the libraries".into()),
    }
}

/// The items in a description by rustdoc, without blanket implementations and those of
/// [`AUTOMATIC`].
fn items(json: &Path) -> Result<String> {
    let api = public_api::Builder::from_rustdoc_json(json)
        .sorted(true)
        .omit_blanket_impls(true)
        .build()?;
    let items = api.items().map(|item| item.to_string());
    let is_listed = |item: &String| {
        !item.starts_with("impl")
            || AUTOMATIC
                .iter()
                .all(|name| !item.contains(&format!("::{name} for ")))
    };
    Ok(items.filter(is_listed).map(|item| item + "\n").collect())
}

/// Prints the lines that only one of two lists has.
fn show_difference(present: &str, now: &str) {
    for (sign, text, other) in [('-', present, now), ('+', now, present)] {
        let other: std::collections::HashSet<&str> = other.lines().collect();
        for line in text.lines().filter(|line| !other.contains(line)) {
            println!("{sign}{line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of releases ends with gridstride: what depends on it is not published.
    #[test]
    fn gridstride_is_published_last() {
        let metadata = metadata().unwrap();
        let published = metadata.published();
        for package in &published {
            let mut needed = package.dependencies.iter().filter(|d| d.kind.is_none());
            let is_last = needed.all(|dependency| dependency.name != "gridstride");
            assert!(
                is_last,
                "{} is published and depends on gridstride",
                package.name
            );
        }
        let guide = fs::read_to_string(workspace().join("CONTRIBUTING.md")).unwrap();
        let said = format!("The first release has {} crates", published.len());
        assert!(
            guide.contains(&said),
            "CONTRIBUTING.md does not say: {said}"
        );
    }
}
