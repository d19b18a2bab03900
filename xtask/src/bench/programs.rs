//! Where our programs are: in a bundle, or where cargo builds them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::command::{Line, Program};
use crate::{Result, cargo};

/// Executables by folder and name.
pub enum Programs {
    /// In the folder of a bundle.
    Bundle(PathBuf),
    /// Built by cargo.
    Built(BTreeMap<(String, String), PathBuf>),
}

impl Programs {
    /// Builds the programs that the lines need.
    pub fn build<'a>(lines: impl Iterator<Item = &'a Line>) -> Result<Programs> {
        let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for line in lines {
            if let Program::Ours(folder, name) = &line.program {
                let names = names.entry(folder).or_default();
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
        }
        let mut built = BTreeMap::new();
        for (folder, names) in names {
            let (mut arguments, option): (Vec<&str>, _) = match folder {
                "benches" => (
                    vec!["bench", "--no-run", "--package", "gridstride"],
                    "--bench",
                ),
                "examples" => (
                    vec!["build", "--release", "--package", "gridstride"],
                    "--example",
                ),
                _ => (vec!["build", "--release"], "--package"),
            };
            arguments.extend(["--features", "cuda"]);
            for name in names {
                arguments.extend([option, name]);
            }
            for program in cargo::build(&arguments, false)? {
                built.insert((folder.to_owned(), program.name), program.executable);
            }
        }
        Ok(Programs::Built(built))
    }

    /// Where a program is.
    pub fn path(&self, folder: &str, name: &str) -> Result<PathBuf> {
        let path = match self {
            Programs::Bundle(bundle) => Some(bundle.join(folder).join(name)),
            Programs::Built(built) => built.get(&(folder.to_owned(), name.to_owned())).cloned(),
        };
        let path = path.filter(|path| Path::is_file(path));
        Ok(path.ok_or_else(|| format!("there is no program {folder}/{name}"))?)
    }
}
