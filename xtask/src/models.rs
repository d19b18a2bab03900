//! The models of what threads share, and the tests that miri runs.

use std::path::PathBuf;
use std::process::Command;

use crate::{Result, workspace};

/// Arguments of cargo for each package that miri tests. It runs neither the coroutines of the
/// simulator nor calls of the driver, and needs minutes for what shares work among threads.
const MIRI: [&str; 3] = [
    "--package gridstride_gpu_rand --lib",
    "--package gridstride_cuda_std --lib",
    "--package gridstride --lib -- device:: error:: --skip gate::",
];

/// Runs the modules `model` of the library, with the locks and threads of shuttle.
pub fn run() -> Result<()> {
    let mut cargo = Command::new("cargo");
    let arguments = "test --package gridstride --lib --no-default-features --features cuda,simulator -- model::";
    cargo
        .args(arguments.split(' '))
        .env("RUSTFLAGS", "--cfg shuttle");
    finish(&mut cargo, "shuttle")
}

/// Runs tests with miri of the nightly.
pub fn interpret() -> Result<()> {
    // Miri adds errors to what numbers' functions return unless they are to be deterministic.
    let flags = "-Zmiri-disable-isolation -Zmiri-deterministic-floats";
    MIRI.iter().try_for_each(|arguments| {
        let mut cargo = Command::new("rustup");
        cargo
            .args(["run", "nightly", "cargo", "miri", "test"])
            .args(arguments.split(' '))
            .env("MIRIFLAGS", flags);
        finish(&mut cargo, "miri")
    })
}

/// Runs a command with a target folder of its own: its flags would compile everything again.
pub fn finish(command: &mut Command, folder: &str) -> Result<()> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| workspace().join("target"));
    let status = command
        .env("CARGO_TARGET_DIR", target.join(folder))
        .current_dir(workspace())
        .status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{command:?} fails").into()),
    }
}
