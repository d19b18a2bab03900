//! Tests of kernels under the simulator's race detector.

use std::path::PathBuf;

use crate::{Result, cargo, kernels, workspace};

/// The packages whose tests run kernels, with cargo's arguments for the race detector and for their
/// test programs.
fn tests() -> Result<Vec<(String, &'static str)>> {
    let others = [
        ("gridstride_simt", "--features race-detector --test race"),
        (
            "gridstride",
            "--features race-detector --test kernels --test cuda_std",
        ),
        // The kernels of the ladders.
        (
            "gridstride_learn",
            "--features race-detector --bin gridstride_learn",
        ),
    ];
    let mut tests = Vec::from(others.map(|(name, arguments)| (name.to_owned(), arguments)));
    for name in kernels::host_crates()? {
        // The crates of kernels leave the devices to the runtime.
        let arguments = "--features gridstride_runtime/race-detector --lib --tests";
        tests.push((format!("gridstride_{name}"), arguments));
    }
    Ok(tests)
}

/// The variables with which cargo compiles for the race detector.
pub fn environment() -> [(&'static str, PathBuf); 2] {
    let wrapper = workspace().join("crates/simt/race-rustc");
    // Cargo takes crates with and without the wrapper for the same.
    [
        ("RUSTC_WRAPPER", wrapper),
        ("CARGO_TARGET_DIR", cargo::target().join("race")),
    ]
}

/// Runs tests whose names contain one of `filters`, all without any; `package`: only those of one
/// package.
pub fn run(package: Option<&str>, filters: &[String]) -> Result<()> {
    let tests = tests()?;
    let packages = tests.iter().map(|(name, _)| name.as_str());
    if let Some(package) = package
        && !packages.clone().any(|name| name == package)
    {
        let known = Vec::from_iter(packages).join(", ");
        return Err(format!("no tests of {package} run kernels, but those of {known} do").into());
    }
    let mut count = 0;
    for (name, arguments) in &tests {
        if package.is_some_and(|package| package != *name) {
            continue;
        }
        let mut command = cargo::command();
        command
            .args(["test", "-p", name])
            .args(arguments.split(' '))
            .arg("--")
            .args(filters)
            .envs(environment())
            // Every access has its price.
            .env("GRIDSTRIDE_TEST_SMALL", "1");
        count += cargo::test(&mut command)?;
    }
    match count {
        0 => Err(format!("no test ran (names with: {})", filters.join(", ")).into()),
        _ => Ok(()),
    }
}
