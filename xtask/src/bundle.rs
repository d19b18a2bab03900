//! A folder of programs to run on a machine with a GPU and without a toolchain.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::table::Table;
use crate::{Result, workspace};

/// The bundle has to stay small enough to be sent around.
const LIMIT: u64 = 60 << 20;
const RUN: &str = include_str!("run.sh");

/// What is built, with which command, for which folder of the bundle.
const PARTS: [(&str, &[&str]); 3] = [
    (
        "tests",
        &["test", "--no-run", "--release", "--lib", "--tests"],
    ),
    ("examples", &["build", "--release", "--examples"]),
    ("benches", &["bench", "--no-run", "--benches"]),
];

/// Builds the programs and gathers them in `gpu-bundle`, packed, with a script that unpacks and runs
/// them.
pub fn gather() -> Result<()> {
    let bundle = workspace().join("gpu-bundle");
    let programs = workspace().join("target/gpu-bundle");
    for folder in [&bundle, &programs] {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
    }
    let mut table = Table::new(&["program", "KiB"]);
    for (part, arguments) in PARTS {
        fs::create_dir(programs.join(part))?;
        for program in build(part, arguments)? {
            let name = format!("{part}/{}", program.name);
            let size = fs::copy(&program.executable, programs.join(&name))?;
            table.add(vec![name, (size >> 10).to_string()]);
        }
    }
    write_script(&bundle.join("run.sh"))?;
    let size = pack(&programs, &bundle.join("programs.tar.gz"))?;
    table.add(vec!["packed".to_owned(), (size >> 10).to_string()]);
    table.print();
    if size > LIMIT {
        return Err(format!("the bundle is larger than {} MiB", LIMIT >> 20).into());
    }
    Ok(())
}

/// Packs the programs and returns the size of the archive.
fn pack(programs: &Path, archive: &Path) -> Result<u64> {
    let status = Command::new("tar")
        .arg("-czf")
        .arg(archive)
        .arg("-C")
        .arg(programs)
        .args(PARTS.map(|(part, _)| part))
        .status()?;
    if !status.success() {
        return Err("tar could not pack the programs".into());
    }
    Ok(fs::metadata(archive)?.len())
}

struct Program {
    name: String,
    executable: PathBuf,
}

/// A line of cargo's messages.
#[derive(Deserialize)]
struct Message {
    target: Option<Target>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

/// Runs cargo and reads from its messages which programs it built for this part.
fn build(part: &str, arguments: &[&str]) -> Result<Vec<Program>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let output = Command::new(cargo)
        .args(arguments)
        .args(["--package", "gridstride", "--features", "cuda,simulator"])
        .arg("--message-format=json-render-diagnostics")
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        .current_dir(workspace())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("cargo could not build the {part}").into());
    }
    Ok(programs(part, &String::from_utf8(output.stdout)?))
}

fn programs(part: &str, messages: &str) -> Vec<Program> {
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok());
    let programs = messages.filter_map(|message| {
        let target = message.target?;
        let kind = target.kind.first()?.as_str();
        let belongs = match part {
            "tests" => matches!(kind, "test" | "lib"),
            "examples" => kind == "example",
            _ => kind == "bench",
        };
        // It needs the sources and cargo, and nothing of the GPU.
        if target.name == "ptx" {
            return None;
        }
        // The library's own tests and tests/gridstride.rs must not overwrite each other.
        let name = if kind == "lib" {
            format!("{}-unit", target.name)
        } else {
            target.name
        };
        Some(Program {
            name,
            executable: message.executable.filter(|_| belongs)?,
        })
    });
    programs.collect()
}

fn write_script(path: &Path) -> Result<()> {
    fs::write(path, RUN)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::programs;

    const MESSAGES: &str = r#"
{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"rayon"},"executable":null}
{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"gridstride"},"executable":"/t/gridstride-1"}
{"reason":"compiler-artifact","target":{"kind":["test"],"name":"tensor_sketch"},"executable":"/t/tensor_sketch-2"}
{"reason":"compiler-artifact","target":{"kind":["example"],"name":"sketch"},"executable":"/t/sketch"}
{"reason":"build-script-executed","package_id":"x"}
{"reason":"build-finished","success":true}
"#;

    #[test]
    fn programs_are_those_of_their_part() {
        let names = |part| {
            programs(part, MESSAGES)
                .into_iter()
                .map(|p| p.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names("tests"), ["gridstride-unit", "tensor_sketch"]);
        assert_eq!(names("examples"), ["sketch"]);
        assert!(names("benches").is_empty());
    }
}
