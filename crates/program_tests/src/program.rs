//! Runs of a program, and files for its tests.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use gridstride::device::DeviceKind;
use tempfile::TempDir;

/// Returns the name that a program prints for its first device of this kind.
pub fn name_of(kind: DeviceKind) -> String {
    match kind {
        DeviceKind::Simulator => "simulator:0".into(),
        kind => kind.to_string(),
    }
}

/// A folder for one test.
pub struct Folder(pub TempDir);

impl Folder {
    /// Creates a folder.
    #[expect(clippy::new_without_default, reason = "an empty folder is no default")]
    pub fn new() -> Folder {
        Folder(TempDir::new().unwrap())
    }

    /// The path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, and returns its path for a command line.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), content).unwrap();
        self.argument(name)
    }

    /// The path of a file for a command line.
    pub fn argument(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().into()
    }

    /// The names of the files, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// The program of the tested package, with a subcommand.
pub struct Program(pub &'static str);

/// Returns the path of the program, which cargo and the script of a bundle tell the tests.
fn executable() -> PathBuf {
    let mut variables = env::vars();
    let variable = variables.find(|(name, _)| name.starts_with("CARGO_BIN_EXE_"));
    let (_, path) = variable.expect("cargo test sets CARGO_BIN_EXE_<program>");
    path.into()
}

impl Program {
    /// Prepares a run.
    pub fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(executable());
        command.arg(self.0).args(arguments);
        command
    }

    /// Runs the program.
    pub fn run(&self, arguments: &[impl AsRef<OsStr>]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs the program with an input on stdin, which the program may leave unread.
    pub fn run_with_stdin(
        &self,
        arguments: &[impl AsRef<OsStr>],
        write: impl FnOnce(ChildStdin),
    ) -> Output {
        let mut command = self.command(arguments);
        let command = command.stdin(Stdio::piped());
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        write(child.stdin.take().unwrap());
        child.wait_with_output().unwrap()
    }

    /// Returns what the program prints on stdout with `input` on stdin.
    #[track_caller]
    pub fn read(&self, arguments: &[impl AsRef<OsStr>], input: &[u8]) -> String {
        printed(self.run_with_stdin(arguments, |mut stdin| stdin.write_all(input).unwrap()))
    }

    /// Runs the program with `--out`, and returns the path of the output.
    #[track_caller]
    pub fn write(&self, folder: &Folder, name: &str, arguments: &[&str]) -> PathBuf {
        self.succeed(&[arguments, &["--out", &folder.argument(name)]].concat());
        folder.path(name)
    }

    /// Returns what a successful run prints on stdout.
    #[track_caller]
    pub fn succeed(&self, arguments: &[impl AsRef<OsStr>]) -> String {
        printed(self.run(arguments))
    }

    /// Returns what a successful run prints on stdout, if it prints one warning with all of `parts`.
    #[track_caller]
    pub fn warn(&self, arguments: &[impl AsRef<OsStr>], parts: &[&str]) -> String {
        let mut output = self.run(arguments);
        let errors = String::from_utf8(std::mem::take(&mut output.stderr)).unwrap();
        assert!(
            errors.starts_with("warning: ") && errors.lines().count() == 1,
            "{errors}"
        );
        says(&errors, parts);
        printed(output)
    }

    /// Returns the object that a successful run prints with `--json`, on one line.
    #[track_caller]
    pub fn json(&self, arguments: &[impl AsRef<OsStr>]) -> serde_json::Value {
        let arguments = arguments.iter().map(AsRef::as_ref);
        let arguments: Vec<_> = arguments.chain([OsStr::new("--json")]).collect();
        let text = self.succeed(&arguments);
        assert_eq!(text.lines().count(), 1, "{text}");
        let value: serde_json::Value = serde_json::from_str(&text).expect(&text);
        assert!(value.is_object(), "{text}");
        value
    }

    /// Expects exit code 1 and one sentence on stderr with all of `parts` in it.
    #[track_caller]
    pub fn refuse(&self, arguments: &[impl AsRef<OsStr>], parts: &[&str]) {
        self.refuse_with(1, arguments, parts);
    }

    /// As [`refuse`](Self::refuse), for options that do not fit together: exit code 2.
    #[track_caller]
    pub fn refuse_options(&self, arguments: &[impl AsRef<OsStr>], parts: &[&str]) {
        self.refuse_with(2, arguments, parts);
    }

    #[track_caller]
    fn refuse_with(&self, code: i32, arguments: &[impl AsRef<OsStr>], parts: &[&str]) {
        let output = self.run(arguments);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{errors}");
        assert!(output.stdout.is_empty());
        assert!(
            errors.starts_with("error: ") && errors.lines().count() == 1,
            "{errors}"
        );
        says(&errors, parts);
    }

    /// Expects that neither option takes a path that cannot be written, nor both the same file.
    #[track_caller]
    pub fn refuse_outputs(&self, [option, other]: [&str; 2], input: &str) {
        let folder = Folder::new();
        let (nowhere, both) = (folder.argument("nowhere/file"), folder.argument("both"));
        let itself = folder.0.path().to_str().unwrap();
        for option in [option, other] {
            self.refuse(
                &[option, &nowhere, input],
                &["cannot write", "nowhere/file"],
            );
            self.refuse(
                &[option, itself, input],
                &["cannot write", "it is not a file"],
            );
        }
        let options = [option, &both, other, &both, input];
        self.refuse_options(&options, &["name the same file"]);
        assert!(folder.names().is_empty());
    }

    /// Expects a command line to be refused, with clap's exit code 2.
    #[track_caller]
    pub fn refuse_usage(&self, arguments: &[&str], part: &str) {
        let output = self.run(arguments);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        says(&errors, &[part]);
    }
}

/// Returns a shell that begins with `commands` and becomes the program, with paths of the data and
/// with the folder of the test as its own.
pub fn shell(commands: &str, arguments: &[impl AsRef<str>], folder: &Folder) -> Command {
    let data = fs::canonicalize("../examples/data").unwrap();
    let data = data.to_str().unwrap();
    let arguments = arguments
        .iter()
        .map(|text| text.as_ref().replace("../examples/data", data));
    let mut command = Command::new("sh");
    let script = format!("{commands}; exec \"$@\"");
    command.args(["-c", &script, "sh"]).arg(executable());
    command.args(arguments).current_dir(folder.0.path());
    command
}

/// Expects all of `parts` in a text.
#[track_caller]
pub fn says(text: &str, parts: &[impl AsRef<str>]) {
    for part in parts.iter().map(AsRef::as_ref) {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

/// The words of each line.
pub fn words(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines();
    lines
        .map(|line| line.split_whitespace().collect())
        .collect()
}

/// A text and the message about it, which may quote line ends; then both with `\r\n`.
pub fn with_line_ends(text: String, said: &str) -> [(String, String); 2] {
    let other = (text.replace('\n', "\r\n"), said.replace("\\n", "\\r\\n"));
    [(text, said.to_owned()), other]
}

/// Returns what a successful run has printed on stdout.
#[track_caller]
pub fn printed(output: Output) -> String {
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Compresses a text.
pub fn gzip(text: &[u8]) -> Vec<u8> {
    compress(text, Compression::default())
}

/// Without compression, so that the place of each byte is known.
pub fn gzip_stored(text: &[u8]) -> Vec<u8> {
    compress(text, Compression::none())
}

fn compress(text: &[u8], compression: Compression) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), compression);
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}
