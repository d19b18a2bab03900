//! The files of a new crate.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use crate::Error;

/// The folder of the checkout in the template, as seen from the crate.
const BESIDE: &str = "../gridstride";

/// The names and texts of the template's files. Cargo would take files called `Cargo.toml` for packages of this
/// repository, and git would follow a `.gitignore`, so these have other names in the repository.
pub(crate) const TEMPLATE: [(&str, &str); 9] = [
    (".gitignore", include_str!("../template/gitignore")),
    ("Cargo.toml", include_str!("../template/manifest.toml")),
    ("README.md", include_str!("../template/README.md")),
    ("build.rs", include_str!("../template/build.rs")),
    ("src/kernels.rs", include_str!("../template/src/kernels.rs")),
    ("src/lib.rs", include_str!("../template/src/lib.rs")),
    (
        "tests/row_sums.rs",
        include_str!("../template/tests/row_sums.rs"),
    ),
    (
        "examples/time.rs",
        include_str!("../template/examples/time.rs"),
    ),
    (
        "benches/row_sums.rs",
        include_str!("../template/benches/row_sums.rs"),
    ),
];

/// The place of gridstride's packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checkout {
    /// In the folder `gridstride` beside the crate.
    Beside,
    /// In this folder.
    At(PathBuf),
}

impl Checkout {
    /// Finds the checkout for a crate in `folder`: `chosen`, or else a folder `gridstride` beside the crate, or else
    /// `own`, the checkout that the calling program was built from.
    ///
    /// # Errors
    /// If the folder is no checkout, or if its path cannot stand in a manifest.
    pub fn find(folder: &Path, chosen: Option<&Path>, own: &Path) -> Result<Checkout, Error> {
        let absolute = |path: &Path| std::path::absolute(path).map_err(Error::write(path));
        let beside = absolute(folder)?.with_file_name("gridstride");
        let root = match chosen {
            Some(chosen) => absolute(chosen)?,
            None if is_checkout(&beside) => return Ok(Checkout::Beside),
            None => own.to_owned(),
        };
        if !is_checkout(&root) {
            return Err(Error::NoCheckout(root));
        }
        // Manifests take these on Windows too.
        let text = root.to_str().map(|text| match cfg!(windows) {
            true => text.replace('\\', "/"),
            false => text.to_owned(),
        });
        let is_printable =
            |text: &String| !text.contains(|c: char| c.is_control() || c == '"' || c == '\\');
        match text.filter(is_printable) {
            Some(text) => Ok(Checkout::At(text.into())),
            None => Err(Error::Unprintable(root)),
        }
    }

    /// Replaces the folder beside the crate in a text of the template.
    fn put(&self, text: &str) -> String {
        match self {
            Checkout::Beside => text.to_owned(),
            Checkout::At(root) => {
                let root = root.to_string_lossy();
                text.replace(BESIDE, &root)
            }
        }
    }
}

/// Writes the path of the checkout: relative to the crate if the checkout is beside it, else absolute.
impl fmt::Display for Checkout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Checkout::Beside => f.write_str(BESIDE),
            Checkout::At(root) => root.display().fmt(f),
        }
    }
}

fn is_checkout(root: &Path) -> bool {
    root.join("crates/cuda_builder/Cargo.toml").is_file()
}

/// Returns the names and texts of the files of a crate. [`check_name`](crate::check_name) says which names are good.
pub fn files(name: &str, checkout: &Checkout) -> Vec<(String, String)> {
    let renamed = |text: &str| text.replace("row_sums", name);
    TEMPLATE
        .iter()
        .map(|(file, text)| (renamed(file), checkout.put(&renamed(text))))
        .collect()
}

/// Writes files into a folder, which is made.
///
/// # Errors
/// If the folder exists already, or if it cannot be written; then nothing of it remains.
pub(crate) fn write(folder: &Path, files: &[(String, String)]) -> Result<(), Error> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).map_err(Error::write(parent))?;
    }
    fs::create_dir(folder).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Error::Exists(folder.to_owned()),
        _ => Error::write(folder)(error),
    })?;
    let written = files
        .iter()
        .try_for_each(|(name, text)| write_file(&folder.join(name), text));
    if written.is_err() {
        // The first error says more than one of removing the folder.
        let _ = fs::remove_dir_all(folder);
    }
    written
}

fn write_file(path: &Path, text: &str) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(Error::write(folder))?;
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(Error::write(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkout() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn a_crate_has_its_name_everywhere() {
        let files = files("blur", &Checkout::Beside);
        for (name, text) in &files {
            assert!(
                !name.contains("row_sums") && !text.contains("row_sums"),
                "{name}"
            );
        }
        let manifest = &files
            .iter()
            .find(|(name, _)| name == "Cargo.toml")
            .unwrap()
            .1;
        assert!(manifest.contains("name = \"blur\""), "{manifest}");
        assert!(files.iter().any(|(name, _)| name == "tests/blur.rs"));
    }

    #[test]
    fn manifests_name_the_checkout() {
        let root = Checkout::At("/opt/gs".into());
        for (name, text) in files("blur", &root) {
            assert!(
                !text.contains("../gridstride") && !text.contains("../opt"),
                "{name}: {text}"
            );
            if name.ends_with("Cargo.toml") {
                assert!(text.contains("path = \"/opt/gs/crates/"), "{name}: {text}");
            }
        }
    }

    #[test]
    fn the_chosen_checkout_comes_first_and_the_own_one_last() {
        let folder = tempfile::tempdir().unwrap();
        let crate_folder = folder.path().join("blur");
        let find = |chosen: Option<&Path>, own: &Path| Checkout::find(&crate_folder, chosen, own);
        let own = checkout();
        assert_eq!(find(None, &own).unwrap(), Checkout::At(own.clone()));
        let nowhere = folder.path().join("nowhere");
        for error in [find(Some(&nowhere), &own), find(None, &nowhere)] {
            let error = error.unwrap_err().to_string();
            assert!(
                error.contains("nowhere is no checkout of gridstride"),
                "{error}"
            );
        }
        let beside = folder.path().join("gridstride/crates/cuda_builder");
        fs::create_dir_all(&beside).unwrap();
        fs::write(beside.join("Cargo.toml"), "").unwrap();
        assert_eq!(find(None, &own).unwrap(), Checkout::Beside);
        assert_eq!(find(Some(&own), &nowhere).unwrap(), Checkout::At(own));
        let quoted = folder.path().join("a\"b");
        fs::rename(folder.path().join("gridstride"), &quoted).unwrap();
        let error = find(Some(&quoted), &nowhere).unwrap_err().to_string();
        assert!(error.contains("a quotation mark"), "{error}");
    }

    #[test]
    fn nothing_is_replaced_and_nothing_incomplete_remains() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("new/blur");
        let files = files("blur", &Checkout::Beside);
        write(&folder, &files).unwrap();
        for (name, text) in &files {
            assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), *text);
        }
        let error = write(&folder, &[]).unwrap_err().to_string();
        assert!(error.contains("blur exists already"), "{error}");
        let file = root.path().join("file");
        fs::write(&file, "").unwrap();
        let error = write(&file.join("blur"), &files).unwrap_err().to_string();
        assert!(error.starts_with("cannot write "), "{error}");
        // The second file has the first one for a folder.
        let bad = [("a", ""), ("a/b", "")].map(|(name, text)| (name.to_owned(), text.to_owned()));
        let other = root.path().join("other");
        write(&other, &bad).unwrap_err();
        assert!(!other.exists());
    }
}
