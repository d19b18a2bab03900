//! The list of launched kernels, by which `cargo xtask launched` finds those that no test launches.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
// The types of the models in `crate::sync` cannot be in statics.
use std::sync::{LazyLock, Mutex, PoisonError};

/// The variable with the file to which the list is appended.
const VARIABLE: &str = "GRIDSTRIDE_LAUNCHED";

struct List {
    file: File,
    names: BTreeSet<&'static str>,
}

/// Appends the name of a kernel that this process launches for the first time.
pub(super) fn list(kernel: &'static str) {
    static LIST: LazyLock<Option<Mutex<List>>> = LazyLock::new(|| {
        let path = std::env::var_os(VARIABLE)?;
        let file = OpenOptions::new().append(true).create(true).open(path);
        let file = file.inspect_err(|error| eprintln!("{VARIABLE}: {error}"));
        let names = BTreeSet::new();
        Some(Mutex::new(List {
            file: file.ok()?,
            names,
        }))
    });
    if let Some(list) = &*LIST {
        let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
        if list.names.insert(kernel) {
            // In one write, since several processes append to the file.
            let line = format!("{kernel}\n");
            if let Err(error) = list.file.write_all(line.as_bytes()) {
                eprintln!("{VARIABLE}: {error}");
            }
        }
    }
}
