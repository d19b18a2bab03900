//! Writes new kernel crates: what `gridstride new` and `cargo xtask new-kernel` have in common.
//!
//! The folder `template` has the crate `row_sums` that `docs/guide/your-own-kernels.md` explains, and `cargo xtask
//! guide` checks that both are equal. In a crate of another name, that name stands in place of `row_sums`.

#![forbid(unsafe_code)]

mod files;
mod name;

use std::io;
use std::path::{Path, PathBuf};

pub use files::{Checkout, files, write};
pub use name::check_name;

/// Why no crate was written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name does not fit a crate.
    #[error("`{name}` cannot be the name of a kernel crate: {reason}")]
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
