//! The files of a command line.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use program::output::TemporaryFile;

use super::args::Args;

/// The files to read, one or two.
pub struct Inputs(Vec<Input>);

/// A file to read.
pub struct Input {
    /// The name of the file in the command line and in messages.
    pub name: PathBuf,
    /// Removed when it is dropped.
    copy: Option<TemporaryFile>,
}

impl Inputs {
    /// Finds the files. What is no file is copied to one if a join reads it twice.
    pub fn new(args: &Args) -> Result<Inputs> {
        let input = |path: &Path| {
            let is_file = path.is_file() || path.is_dir() || !path.exists();
            let is_pipe = path == Path::new("-") || !is_file;
            let copy = match is_pipe && !args.join.is_empty() {
                true => Some(copied(path).with_context(|| {
                    format!(
                        "cannot copy {} to a temporary file, since --join reads it twice",
                        path.display()
                    )
                })?),
                false => None,
            };
            Ok(Input {
                name: path.into(),
                copy,
            })
        };
        args.paths().map(input).collect::<Result<_>>().map(Inputs)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Input> {
        self.0.iter()
    }
}

impl Input {
    /// Returns the path to read.
    pub fn path(&self) -> &Path {
        match &self.copy {
            Some(copy) => copy.path(),
            None => &self.name,
        }
    }
}

fn copied(path: &Path) -> Result<TemporaryFile> {
    let mut copy = TemporaryFile::create_private()?;
    match path == Path::new("-") {
        true => io::copy(&mut io::stdin(), copy.as_file_mut())?,
        false => io::copy(&mut File::open(path)?, copy.as_file_mut())?,
    };
    Ok(copy)
}
