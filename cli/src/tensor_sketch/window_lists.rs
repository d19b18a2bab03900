//! The sequences that the rows of sketched windows belong to.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use files::text::visible;
use program::output::{Compression, OutputFile, endings};

use super::args::Args;

/// Text that is written in one go.
const BLOCK: usize = 1 << 16;

/// The files beside `--out` that `distances --names --windows` takes: a line for each sequence that has
/// windows, with its name and with the number of its windows. Means have names alone.
#[derive(Default)]
pub struct WindowLists {
    names: Option<List>,
    counts: Option<List>,
}

struct List {
    file: OutputFile,
    text: String,
}

/// Returns the path of the names.
pub fn names_of(args: &Args) -> Option<PathBuf> {
    args.windows?;
    beside(args.out.as_deref(), "names.txt")
}

/// Returns the path of the numbers of windows.
pub fn counts_of(args: &Args) -> Option<PathBuf> {
    args.windows.filter(|_| !args.mean)?;
    beside(args.out.as_deref(), "windows.txt")
}

/// Returns the path of a list beside a file, or `None` if the sketches go to a stream.
fn beside(out: Option<&Path>, ending: &str) -> Option<PathBuf> {
    let out = out.filter(|out| *out != Path::new("-") && (out.is_file() || !out.exists()))?;
    let (format, compression) = endings(out);
    let plain = match compression {
        Compression::Plain => out.to_owned(),
        _ => out.with_extension(""),
    };
    let mut list = match format.as_deref() {
        Some("npy") => plain.with_extension(""),
        _ => plain,
    }
    .into_os_string();
    list.push(".");
    list.push(ending);
    Some(list.into())
}

impl WindowLists {
    /// Begins the files that the command line asks for.
    pub fn create(args: &Args) -> Result<WindowLists> {
        let create = |path: Option<PathBuf>| path.as_deref().map(List::create).transpose();
        Ok(WindowLists {
            names: create(names_of(args))?,
            counts: create(counts_of(args))?,
        })
    }

    /// Adds a sequence that has windows, with its number among all sequences.
    pub fn add(&mut self, name: &str, number: u64, windows: u64) -> Result<()> {
        if let Some(names) = &mut self.names {
            // The list has no blank line.
            match visible(name).trim() {
                "" => names.add(format_args!("record {}", number + 1))?,
                name => names.add(format_args!("{name}"))?,
            }
        }
        if let Some(counts) = &mut self.counts {
            counts.add(format_args!("{windows}"))?;
        }
        Ok(())
    }

    /// Puts the files in their places.
    pub fn publish(&mut self) -> Result<()> {
        let lists = [self.names.take(), self.counts.take()];
        lists.into_iter().flatten().try_for_each(List::publish)
    }
}

impl List {
    fn create(path: &Path) -> Result<List> {
        Ok(List {
            file: OutputFile::create(path)?,
            text: String::new(),
        })
    }

    fn add(&mut self, line: std::fmt::Arguments) -> Result<()> {
        writeln!(self.text, "{line}")?;
        match self.text.len() {
            ..BLOCK => Ok(()),
            _ => self.write(),
        }
    }

    fn write(&mut self) -> Result<()> {
        self.file.write_all(self.text.as_bytes())?;
        self.text.clear();
        Ok(())
    }

    fn publish(mut self) -> Result<()> {
        self.write()?;
        self.file.publish()
    }
}
