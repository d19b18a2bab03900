//! Programs that cargo builds, and tests that it runs.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::{Result, workspace};

/// A program, and the target that it was built from.
pub struct Program {
    /// The target's name.
    pub name: String,
    /// Its kind, such as `bench`, `example`, `bin`, `test` or `lib`; `bin-test` has the unit tests
    /// of a program.
    pub kind: String,
    /// Where it is.
    pub executable: PathBuf,
}

/// A line of cargo's messages.
#[derive(Deserialize)]
struct Message {
    target: Option<Target>,
    #[serde(default)]
    profile: Profile,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Default, Deserialize)]
struct Profile {
    test: bool,
}

/// A command of the cargo that runs this program.
pub fn command() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    Command::new(cargo)
}

/// The folder into which cargo compiles.
pub fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    workspace().join(target.unwrap_or_else(|| OsString::from("target")))
}

/// Formats all sources.
pub fn format() -> Result<()> {
    let format = command()
        .args(["fmt", "--all"])
        .current_dir(workspace())
        .status()?;
    match format.success() {
        true => Ok(()),
        false => Err("`cargo fmt --all` fails".into()),
    }
}

/// Fails unless all sources are formatted, and prints the names of those that are not.
pub fn require_formatted() -> Result<()> {
    let check = command()
        .args(["fmt", "--all", "--check", "--", "--files-with-diff"])
        .current_dir(workspace())
        .status()?;
    match check.success() {
        true => Ok(()),
        false => Err("not all sources are formatted: run `cargo fmt --all` first".into()),
    }
}

/// Runs cargo, and reads from its messages which programs it built; `stripped`: without symbols.
pub fn build(arguments: &[&str], stripped: bool) -> Result<Vec<Program>> {
    let mut command = command();
    if stripped {
        command.env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    }
    let output = command
        .args(arguments)
        .arg("--message-format=json-render-diagnostics")
        .current_dir(workspace())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("cargo could not {}", arguments.join(" ")).into());
    }
    Ok(programs(&String::from_utf8(output.stdout)?))
}

fn programs(messages: &str) -> Vec<Program> {
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok());
    let programs = messages.filter_map(|message| {
        let Target { name, kind } = message.target?;
        let kind = match kind.into_iter().next()? {
            kind if kind == "bin" && message.profile.test => "bin-test".to_owned(),
            kind => kind,
        };
        Some(Program {
            name,
            kind,
            executable: message.executable?,
        })
    });
    programs.collect()
}

/// Runs a command of `cargo test`, and returns how many tests passed. Filters that match no test are no
/// error to cargo.
pub fn test(command: &mut Command) -> Result<usize> {
    let mut child = command
        .current_dir(workspace())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut printed = BufReader::new(child.stdout.take().ok_or("no output")?);
    let (mut count, mut line) = (0, Vec::new());
    while printed.read_until(b'\n', &mut line)? > 0 {
        io::stdout().write_all(&line)?;
        count += passed(&String::from_utf8_lossy(&line));
        line.clear();
    }
    match child.wait()?.success() {
        true => Ok(count),
        false => Err(format!("{command:?} fails").into()),
    }
}

/// Returns the tests that a line of a test program's output counts.
fn passed(line: &str) -> usize {
    let count = line.strip_prefix("test result: ok. ");
    let count = count.and_then(|rest| rest.split_once(" passed;"));
    count.and_then(|(count, _)| count.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{passed, programs};

    const MESSAGES: &str = r#"
{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"rayon"},"executable":null}
{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"gridstride"},"executable":"/t/gridstride-1"}
{"reason":"compiler-artifact","target":{"kind":["example"],"name":"sketch"},"executable":"/t/sketch"}
{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"a"},"profile":{"test":true},"executable":"/t/a-1"}
{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"a"},"profile":{"test":false},"executable":"/t/a"}
{"reason":"build-script-executed","package_id":"x"}
{"reason":"build-finished","success":true}
"#;

    #[test]
    fn programs_are_what_has_an_executable() {
        let found: Vec<_> = programs(MESSAGES)
            .into_iter()
            .map(|program| (program.kind, program.name))
            .collect();
        let expected = [
            ("lib", "gridstride"),
            ("example", "sketch"),
            ("bin-test", "a"),
            ("bin", "a"),
        ];
        assert_eq!(found, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    #[test]
    fn tests_are_counted() {
        let result = "test result: ok. 17 passed; 0 failed; 2 ignored; 0 measured; 5 filtered out; finished in 0.31s\n";
        assert_eq!(passed(result), 17);
        for other in [
            "running 17 tests\n",
            "test a ... ok\n",
            "test result: ok. 17",
        ] {
            assert_eq!(passed(other), 0, "{other}");
        }
    }
}
