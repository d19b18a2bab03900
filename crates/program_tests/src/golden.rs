//! Golden outputs: the files and the `--json` of runs with small inputs, on every device, against
//! files in the folder `tests/golden` of the package.
//!
//! After a deliberate change of outputs, `GRIDSTRIDE_REWRITE_GOLDEN=1 cargo test -p gridstride_cli
//! golden` writes those files from the first device. The tests fail then in any case: look at the
//! difference, and run them again without the variable.
//!
//! Inputs are chosen so that most results are exact: whole numbers, comparisons, and sums of
//! multiples of 1/4. The files of these cases have to be the same byte for byte. The other cases
//! derive how far a number may be from the golden one; whole numbers and all text are compared byte
//! for byte there too. Times, rates and devices are masked in the JSON.

mod compare;

use std::fs;
use std::path::{Path, PathBuf};

use gridstride::Device;
use gridstride::device::DeviceKind;
use serde_json::Value;
use test_support::devices;

use crate::program::{Folder, Program};
use compare::compare;

/// The variable that makes the tests write the golden files.
const REWRITE: &str = "GRIDSTRIDE_REWRITE_GOLDEN";

/// The golden file with the object of `--json`.
const SUMMARY: &str = "summary.json";

/// Stands for the folder of outputs, in command lines and summaries.
const OUT: &str = "OUT";

/// Stands for what depends on the machine or on the moment.
const MASK: &str = "…";

/// Keys whose values depend on the machine, beside times and rates. `device_calls` of a product is
/// null on some devices, and its errors differ.
const MASKED: [&str; 14] = [
    "device_calls",
    "largest_error",
    "largest_share_of_bound",
    "peak_memory_bytes",
    "speed_up",
    // It is 1 for work that takes long.
    "runs",
    "occupancy",
    "registers",
    // Of the subcommand devices.
    "cores",
    "threads",
    "memory_free_bytes",
    "memory_total_bytes",
    "driver",
    "problems",
];

/// A file by its name.
type File = (String, Vec<u8>);

/// A run of the program.
pub struct Case {
    /// The folder in `tests/golden`.
    name: &'static str,
    line: &'static str,
    on: On,
    bound: f64,
}

/// The devices that a case runs on.
#[derive(Clone, Copy, PartialEq)]
pub enum On {
    /// On every device.
    All,
    /// On devices with kernels.
    Kernels,
    /// On the CPU alone.
    Cpu,
    /// Without `--device`.
    NoDevice,
}

impl Case {
    /// A subcommand with its arguments, on every device, with the same bytes on each. The folder of
    /// outputs is `OUT`.
    pub fn new(name: &'static str, line: &'static str) -> Case {
        Case {
            name,
            line,
            on: On::All,
            bound: 0.0,
        }
    }

    /// Chooses the devices.
    pub fn on(self, on: On) -> Case {
        Case { on, ..self }
    }

    /// Allows numbers that are not whole to be so far from the golden ones.
    pub fn bound(self, bound: f64) -> Case {
        Case { bound, ..self }
    }

    /// [`check_all`] of this case.
    #[track_caller]
    pub fn check(self) {
        check_all([self]);
    }

    /// Compares the files and the summary on each device with the golden ones, which may be written
    /// first.
    #[track_caller]
    fn compare(&self, is_rewritten: bool) {
        let golden = PathBuf::from("tests/golden").join(self.name);
        for (i, options) in self.options().iter().enumerate() {
            let found = self.run(options);
            if is_rewritten && i == 0 {
                rewrite(&golden, &found);
            }
            let place = format!("{} {}", golden.display(), options.join(" "));
            let expected = read(&golden);
            assert_eq!(names(&found), names(&expected), "{place}");
            for ((name, found), (_, expected)) in found.iter().zip(&expected) {
                if let Err(difference) = compare(found, expected, self.bound) {
                    panic!("{place}: {name} is not as it was: {difference}");
                }
            }
        }
    }

    /// The options of each run.
    fn options(&self) -> Vec<Vec<String>> {
        if self.on == On::NoDevice {
            return vec![Vec::new()];
        }
        let is_asked = |device: &Device| match device.kind() {
            DeviceKind::Cpu => self.on != On::Kernels,
            _ => self.on != On::Cpu,
        };
        let option = |device: Device| vec!["--device".to_owned(), device.kind().to_string()];
        devices().into_iter().filter(is_asked).map(option).collect()
    }

    /// Returns the files of a run and its summary.
    fn run(&self, options: &[String]) -> Vec<File> {
        let folder = Folder::new();
        let out = folder.0.path().to_str().unwrap();
        let mut words = self.line.split_whitespace();
        let program = Program(words.next().unwrap());
        let arguments = words.map(|word| word.replace(OUT, out));
        let arguments: Vec<_> = arguments.chain(options.iter().cloned()).collect();
        let mut summary = program.json(&arguments);
        if program.0 == "devices" {
            // The devices that every machine has.
            summary["devices"].as_array_mut().unwrap().truncate(2);
            summary["devices"][0]["name"] = MASK.into();
        } else {
            mask_devices(&mut summary);
        }
        mask(&mut summary, out);
        let summary = serde_json::to_string_pretty(&summary).unwrap() + "\n";
        let mut files = read(folder.0.path());
        files.push((SUMMARY.to_owned(), summary.into_bytes()));
        files.sort();
        files
    }
}

/// Runs cases on their devices, and compares what they write with the golden files. Fails if it was
/// asked to write these.
#[track_caller]
pub fn check_all<const N: usize>(cases: [Case; N]) {
    let is_rewritten = std::env::var_os(REWRITE).is_some();
    for case in &cases {
        case.compare(is_rewritten);
    }
    assert!(
        !is_rewritten,
        "the golden files were written: look at them, and run the tests without {REWRITE}"
    );
}

fn names(files: &[File]) -> Vec<&str> {
    files.iter().map(|(name, _)| name.as_str()).collect()
}

/// Replaces all golden files of a case.
fn rewrite(golden: &Path, files: &[File]) {
    if golden.exists() {
        fs::remove_dir_all(golden).unwrap();
    }
    for (name, content) in files {
        let path = golden.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// Returns the files of a folder and of those in it.
#[track_caller]
fn read(folder: &Path) -> Vec<File> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder);
    for entry in entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        match path.is_dir() {
            true => {
                let inner = read(&path).into_iter();
                files.extend(inner.map(|(file, content)| (format!("{name}/{file}"), content)));
            }
            false => files.push((name, fs::read(path).unwrap())),
        }
    }
    files.sort();
    files
}

/// Masks the devices that were used.
fn mask_devices(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                match matches!(&**key, "device" | "devices") {
                    true => *value = MASK.into(),
                    false => mask_devices(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask_devices),
        _ => {}
    }
}

/// Masks what depends on the machine or on the moment, and the folder of outputs.
fn mask(value: &mut Value, out: &str) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let is_time = key.ends_with("_ms") || key.ends_with("_per_second");
                match is_time || MASKED.contains(&&**key) {
                    true => *value = MASK.into(),
                    false => mask(value, out),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, out)),
        Value::String(text) => {
            *text = text.replace(out, OUT);
            // The remark of a ladder's row whose block the device suggests.
            if let Some((threads, remark)) = text.split_once(" threads; ")
                && threads.parse::<u32>().is_ok()
            {
                *text = format!("{MASK} threads; {remark}");
            }
        }
        _ => {}
    }
}
