//! Where our programs are: in a bundle, or where cargo builds them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::command::{Line, Program, package};
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
            for program in cargo::build(&arguments(folder, &names), false)? {
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

/// The arguments by which cargo builds programs of a folder of a bundle.
fn arguments<'a>(folder: &str, names: &[&'a str]) -> Vec<&'a str> {
    let (mut arguments, option) = match folder {
        "benches" => (
            vec![
                "bench",
                "--no-run",
                "--package",
                "gridstride_benches",
                "--features",
                "cuda",
            ],
            "--bench",
        ),
        _ => (vec!["build", "--release"], "--bin"),
    };
    for name in names {
        if folder == "bin" {
            arguments.extend(["--package", package(name)]);
        }
        arguments.extend([option, name]);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::steps::STEPS;
    use crate::workspace;

    #[test]
    fn cargo_builds_the_programs_of_all_steps() {
        let mut metadata = cargo::command();
        metadata.args(["metadata", "--no-deps", "--offline", "--format-version=1"]);
        let output = metadata.current_dir(workspace()).output().unwrap();
        let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        for command in STEPS.iter().flat_map(|step| &step.commands) {
            let Program::Ours(folder, name) = Line::parse(command).program else {
                continue;
            };
            let arguments = arguments(&folder, &[&name]);
            let option = arguments.iter().position(|word| *word == "--package");
            let package = arguments[option.unwrap() + 1];
            let [.., kind, _] = arguments[..] else {
                panic!("{arguments:?}");
            };
            let package = packages.iter().find(|found| found["name"] == package);
            let targets = package.unwrap()["targets"].as_array().unwrap();
            let is_target = |target: &serde_json::Value| {
                target["name"] == *name && target["kind"][0] == kind.trim_start_matches('-')
            };
            assert!(targets.iter().any(is_target), "{command}: {arguments:?}");
        }
    }
}
