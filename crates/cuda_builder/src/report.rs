//! Lines of a build script for cargo.

use std::path::PathBuf;

use crate::{BuildError, CARGO_VARIABLE, LLVM_BIN_VARIABLE, RUSTC_VARIABLE};

/// Tells cargo which files, and which variables, the result of a build script depends on.
pub(crate) fn dependencies(files: &[PathBuf]) {
    variables();
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
}

/// Tells cargo what the result of a build script depends on, or its error.
pub(crate) fn outcome(files: Result<Vec<PathBuf>, BuildError>) {
    match files {
        Ok(files) => dependencies(&files),
        // A build script that has reported an error runs again in any case.
        Err(error) => {
            variables();
            for line in error.to_string().lines() {
                println!("cargo::error={line}");
            }
        }
    }
}

fn variables() {
    for variable in [RUSTC_VARIABLE, CARGO_VARIABLE, LLVM_BIN_VARIABLE] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
}
