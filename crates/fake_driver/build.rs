//! Builds the library that plays the driver, under the name by which programs look for the driver.

use std::{env, path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=driver.rs");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let folder = env::var_os("OUT_DIR").expect("cargo names a folder");
    let status = Command::new(env::var_os("RUSTC").expect("cargo names the compiler"))
        .args([
            "--edition",
            "2024",
            "-A",
            "warnings",
            "--crate-type",
            "cdylib",
            "-o",
        ])
        .arg(Path::new(&folder).join("libcuda.so.1"))
        .arg("driver.rs")
        .status()
        .expect("the compiler runs");
    assert!(
        status.success(),
        "the fake driver does not compile: {status}"
    );
}
