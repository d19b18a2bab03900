//! Paths of a command line that exclude each other.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::format::Format;
use super::place::Place;
use crate::report::UsageError;

/// Returns an error if the name of an output has the ending of another format, if two outputs or an
/// output and an input are the same file, or if stdin or stdout is used twice. Each output comes with
/// the name of its option and with its format.
pub fn check_outputs(outputs: &[(&str, Option<&Path>, Format)], inputs: &[&Path]) -> Result<()> {
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
    let mut taken: Vec<(&str, Place)> = Vec::new();
    for (option, path, format) in outputs {
        let Some(path) = path else { continue };
        // A path that cannot be resolved fails when its file is created.
        let place = Place::of(path).ok();
        let place = place.filter(|place| !matches!(place, Place::Stream(_)));
        let Some(place) = place else {
            format.check(option, path)?;
            continue;
        };
        let named = match place {
            Place::Stdout => "both write to standard output",
            _ => "name the same file",
        };
        if let Some((other, _)) = taken.iter().find(|(_, other)| *other == place) {
            bail!(UsageError(format!("{other} and {option} {named}")));
        }
        let is_input = |(_, input): &&(_, PathBuf)| Place::File(input.clone()) == place;
        if let Some((input, _)) = inputs.iter().find(is_input) {
            bail!(UsageError(format!(
                "{option} would overwrite the input {}: name another file",
                input.display()
            )));
        }
        format.check(option, path)?;
        taken.push((option, place));
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
