//! Paths of a command line that exclude each other.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::resolve;
use crate::common::report::UsageError;

/// Refuses outputs that name the same file or an input, outputs without a name, and a second use of
/// stdin. Each output comes with the name of its option.
pub fn check_distinct(outputs: &[(&str, Option<&Path>)], inputs: &[&Path]) -> Result<()> {
    let stdin = Path::new("-");
    if inputs.iter().filter(|input| **input == stdin).count() > 1 {
        bail!(UsageError(
            "stdin can be read only once: name a file for each of the other inputs".into()
        ));
    }
    let inputs: Vec<_> = inputs
        .iter()
        .filter_map(|input| Some((input, input_identity(input)?)))
        .collect();
    let mut taken: Vec<(&str, PathBuf)> = Vec::new();
    for (option, path) in outputs {
        let Some(path) = path else { continue };
        if *path == stdin {
            bail!(UsageError(format!(
                "{option} needs a file name: - does not stand for stdout here"
            )));
        }
        // A path that cannot be resolved fails when its file is created.
        let Ok(resolved) = resolve(path) else {
            continue;
        };
        if let Some((other, _)) = taken.iter().find(|(_, other)| *other == resolved) {
            bail!(UsageError(format!(
                "{other} and {option} name the same file"
            )));
        }
        if let Some((input, _)) = inputs.iter().find(|(_, input)| *input == resolved) {
            bail!(UsageError(format!(
                "{option} would overwrite the input {}: name another file",
                input.display()
            )));
        }
        taken.push((option, resolved));
    }
    Ok(())
}

/// Returns the path without links of an input, or of the file that stdin is redirected from.
fn input_identity(path: &Path) -> Option<PathBuf> {
    let path = match path == Path::new("-") {
        true => Path::new("/dev/stdin"),
        false => path,
    };
    fs::canonicalize(path).ok()
}
