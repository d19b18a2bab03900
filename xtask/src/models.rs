//! The models of what threads share, and the tests that miri runs.

use std::process::Command;

use crate::{Result, cargo};

/// Arguments of cargo for each package that miri tests. It runs neither the coroutines of the
/// simulator nor calls of the driver, and needs minutes for what shares work among threads.
const MIRI: [&str; 3] = [
    "--package gridstride_gpu_rand --lib",
    "--package gridstride_cuda_std --lib",
    "--package gridstride_runtime --lib -- device:: error:: --skip gate::",
];

/// Runs the modules `model` of the library, with the locks and threads of shuttle.
pub fn run() -> Result<()> {
    let mut command = Command::new("cargo");
    let arguments = "test --package gridstride_runtime --lib --features cuda -- model::";
    command
        .args(arguments.split(' '))
        .env("RUSTFLAGS", "--cfg shuttle");
    finish(&mut command, "shuttle")
}

/// Runs tests with miri of the nightly.
pub fn interpret() -> Result<()> {
    // Miri adds errors to what numbers' functions return unless they are to be deterministic.
    let flags = "-Zmiri-disable-isolation -Zmiri-deterministic-floats";
    MIRI.iter().try_for_each(|arguments| {
        let mut command = Command::new("rustup");
        command
            .args(["run", "nightly", "cargo", "miri", "test"])
            .args(arguments.split(' '))
            .env("MIRIFLAGS", flags);
        finish(&mut command, "miri")
    })
}

/// Runs tests in a target folder of their own, so that their flags do not compile everything else again.
pub fn finish(command: &mut Command, folder: &str) -> Result<()> {
    match cargo::test(command.env("CARGO_TARGET_DIR", cargo::target().join(folder)))? {
        0 => Err(format!("{command:?} runs no test").into()),
        _ => Ok(()),
    }
}
