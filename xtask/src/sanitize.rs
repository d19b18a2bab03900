//! Tests with the sanitizers of the nightly compiler.

use std::process::Command;

use clap::ValueEnum;

use crate::models::finish;
use crate::{Result, kernels};

/// Cargo passes flags to build scripts too, unless a target is named.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A sanitizer of the compiler.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum Sanitizer {
    /// AddressSanitizer, with LeakSanitizer: accesses to memory that is not allocated, and leaks.
    Address,
    /// ThreadSanitizer: accesses that race.
    Thread,
}

/// Runs the tests of the library on the CPU whose names contain one of `filters`, all without any.
pub fn run(sanitizer: Sanitizer, filters: &[String]) -> Result<()> {
    let name = match sanitizer {
        Sanitizer::Address => "address",
        Sanitizer::Thread => "thread",
    };
    let mut cargo = Command::new("rustup");
    cargo
        .args(["run", "nightly", "cargo", "test", "--target", TARGET])
        .args("--package gridstride --test kernels --test devices".split(' '));
    for name in kernels::host_crates()? {
        cargo.args(["--package", &format!("gridstride_{name}"), "--test", &name]);
    }
    if sanitizer == Sanitizer::Thread {
        // Locks of a standard library without the sanitizer order nothing for it.
        cargo.arg("-Zbuild-std");
    }
    cargo
        .arg("--")
        .args(filters)
        .env("RUSTFLAGS", format!("-Zsanitizer={name}"))
        .env("GRIDSTRIDE_TEST_ONLY_CPU", "1")
        .env("GRIDSTRIDE_TEST_SMALL", "1");
    finish(&mut cargo, name)
}
