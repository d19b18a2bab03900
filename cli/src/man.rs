//! Prints the manual page, or writes all pages.
//!
//! ```text
//! gridstride man ~/.local/share/man/man1
//! ```

use std::fmt::{self, Write as _};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Command;
use clap::builder::Resettable;
use clap_mangen::Man;
use program::output::OutputFile;
use program::report::{self, Summary};
use roff::{Roff, roman};
use serde::Serialize;

/// Prints the manual page of the program, or writes it and those of all subcommands to a folder.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  gridstride man | man -l -
  gridstride man ~/.local/share/man/man1 && man gridstride-matmul")]
pub struct Args {
    /// Write gridstride.1 and a page for each subcommand, such as gridstride-matmul.1, to this
    /// folder.
    folder: Option<PathBuf>,
}

/// The pages that were written.
#[derive(Serialize)]
struct Pages {
    files: Vec<String>,
}

impl Summary for Pages {
    fn write_table(&self, text: &mut String) -> fmt::Result {
        self.files
            .iter()
            .try_for_each(|file| writeln!(text, "{file}"))
    }
}

/// Runs the subcommand, for a program with these options.
pub fn run(args: &Args, mut command: Command) -> Result<()> {
    command.build();
    let Some(folder) = &args.folder else {
        report::refuse_json("a manual page")?;
        return report::print(&String::from_utf8(page(&command)?)?);
    };
    fs::create_dir_all(folder).with_context(|| format!("cannot write {}", folder.display()))?;
    let mut files = Vec::new();
    write_pages(&command, folder, &mut files)?;
    report::show(&Pages { files })
}

/// Writes the pages of a command and of its subcommands.
fn write_pages(command: &Command, folder: &Path, files: &mut Vec<String>) -> Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let path = folder.join(format!("{name}.1"));
    let mut file = OutputFile::create(&path)?;
    let page = page(command)?;
    file.write_all(&page)?;
    file.publish()?;
    files.push(path.display().to_string());
    let subcommands = command.get_subcommands();
    // The page of `help` would say nothing.
    for subcommand in subcommands.filter(|command| command.get_name() != "help") {
        write_pages(subcommand, folder, files)?;
    }
    Ok(())
}

fn page(command: &Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    // clap_mangen has one section EXTRA for the end of the help.
    let without_end = command.clone().after_help(Resettable::Reset);
    Man::new(without_end).render(&mut page)?;
    let help = command.get_after_help().map(ToString::to_string);
    sections(&help.unwrap_or_default()).to_writer(&mut page)?;
    Ok(page)
}

/// Returns the end of a help as sections: its indented lines stay lines.
fn sections(help: &str) -> Roff {
    let mut roff = Roff::new();
    for line in help.lines() {
        match line {
            "" => {}
            "Examples:" => {
                roff.control("SH", ["EXAMPLES"]);
            }
            "Exit codes:" => {
                roff.control("SH", ["EXIT STATUS"]);
            }
            line if line.starts_with(' ') => {
                roff.text([roman(line.trim_start())]).control("br", []);
            }
            line => {
                roff.control("PP", []).text([roman(line)]);
            }
        }
    }
    roff
}
