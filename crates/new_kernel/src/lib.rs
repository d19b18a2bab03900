//! Writes new crates with a kernel: what `gridstride new` and `cargo xtask new-kernel` have in common. And lists the kernels
//! of a checkout.
//!
//! The folder `template` has the crate `row_sums` that `docs/guide/your-own-kernels.md` explains, and `cargo xtask
//! guide` checks that both are equal. In a crate of another name, that name stands in place of `row_sums`.

#![forbid(unsafe_code)]

mod files;
mod name;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use files::write;
pub use files::{Checkout, files};
pub use name::check_name;

/// Writes a crate that depends on the checkout of gridstride `chosen`, or else on one beside the
/// crate, or else on the one that this program was built from.
///
/// # Errors
/// If the name fits no crate, if the folder exists, if there is no checkout, or if the system
/// refuses.
pub fn create(name: &str, folder: &Path, chosen: Option<&Path>) -> Result<Created, Error> {
    check_name(name)?;
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    let checkout = Checkout::find(folder, chosen, own.unwrap_or(Path::new("/")))?;
    let files = files(name, &checkout);
    write(folder, &files)?;
    let files: Vec<_> = files.into_iter().map(|(name, _)| name).collect();
    format(folder, &files);
    Ok(Created { files, checkout })
}

/// Returns the names of the kernels of a checkout, sorted. The host side of a kernel is a folder of `crates` with a
/// `src/dispatch.rs` and a test program of the same name.
///
/// # Errors
/// If the folder cannot be read.
pub fn kernels(checkout: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(checkout.join("crates"))? {
        let path = entry?.path();
        if path.join("src/dispatch.rs").is_file() {
            let name = path.file_name().unwrap_or_default();
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The written files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// The names of the files in the crate's folder.
    pub files: Vec<String>,
    /// The checkout of gridstride that the crate depends on.
    pub checkout: Checkout,
}

/// Formats the sources, since lines are broken elsewhere with longer names. A machine without
/// rustfmt has a crate that works as well. (`cargo fmt --all` would format the checkout too.)
fn format(folder: &Path, files: &[String]) {
    let sources = files.iter().filter(|name| name.ends_with(".rs"));
    let mut command = Command::new("rustfmt");
    let command = command.args(["--edition", "2024"]);
    let command = command.args(sources.map(|name| folder.join(name)));
    let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// Why no crate was written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name does not fit a crate.
    #[error("`{name}` cannot be the name of a crate with a kernel: {reason}")]
    Name {
        /// The name.
        name: String,
        /// The rest of the sentence.
        reason: &'static str,
    },
    /// The folder of the crate exists.
    #[error("{} exists already, and nothing in it is replaced: take another name or folder", .0.display())]
    Exists(PathBuf),
    /// The folder that should be a checkout of gridstride is none.
    #[error("{} is no checkout of gridstride: it has no crates/cuda_builder/Cargo.toml", .0.display())]
    NoCheckout(PathBuf),
    /// The checkout's path cannot stand in a manifest.
    #[error("a manifest cannot name the folder {}: it is not UTF-8, or has a quotation mark, a backslash or a control character", .0.display())]
    Unprintable(PathBuf),
    /// The system refuses.
    #[error("cannot write {}: {error}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

impl Error {
    fn write(path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |error| Error::Write { path, error }
    }
}
