//! Tests of kernels under the simulator's race detector.

use std::path::PathBuf;

use crate::{Result, cargo, kernels, workspace};

/// The packages whose tests run kernels, with cargo's arguments for their test programs.
fn tests() -> Result<Vec<(String, &'static str)>> {
    let hosts = kernels::host_crates()?;
    let hosts = hosts
        .iter()
        .map(|name| (format!("gridstride_{name}"), "--lib --tests"));
    let others = [
        ("gridstride_simt", "--test race"),
        ("gridstride", "--test kernels --test cuda_std"),
        // The kernels of the ladders.
        ("gridstride_learn", "--bin gridstride_learn"),
    ];
    let others = others.map(|(name, programs)| (name.to_owned(), programs));
    Ok(others.into_iter().chain(hosts).collect())
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
    for (name, programs) in &tests {
        let features = match programs.contains("--lib") {
            // The crates of kernels leave the devices to the runtime.
            true => "gridstride_runtime/race-detector",
            false => "race-detector",
        };
        if package.is_some_and(|package| package != *name) {
            continue;
        }
        let mut command = cargo::command();
        command
            .args(["test", "-p", name, "--features", features])
            .args(programs.split(' '))
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
