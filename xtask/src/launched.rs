//! Kernels that no test launches.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use cuda_builder::Record;

use crate::{Result, kernels, workspace};

/// Fails unless all kernels of the checked-in PTX are in `file`, to which tests with the variable
/// `GRIDSTRIDE_LAUNCHED` append the names of the kernels that they launch.
pub fn check(file: &Path) -> Result<()> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let launched: BTreeSet<&str> = text.lines().collect();
    let mut records = Vec::new();
    for folder in kernels::ptx_folders()? {
        // Programs run the kernels of the examples.
        if !folder.starts_with(workspace().join("examples")) {
            records.push(Record::load(&folder.join("record.toml"))?);
        }
    }
    let missing = missing(&records, &launched);
    if missing.is_empty() {
        println!("tests have launched all kernels");
        return Ok(());
    }
    let lists = missing.iter().map(|(name, kernels)| {
        let kernels: Vec<_> = kernels.iter().copied().collect();
        format!("\n  {name}: {}", kernels.join(", "))
    });
    let lists: String = lists.collect();
    Err(format!("no test has launched these kernels:{lists}").into())
}

/// The kernels of each crate that are not among the `launched`.
fn missing<'a>(
    records: &'a [Record],
    launched: &BTreeSet<&str>,
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut missing: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (name, record) in records.iter().flat_map(Record::crates) {
        let kernels = record.ptx.values().flat_map(|ptx| ptx.barriers.keys());
        // The record has one entry for all called functions. Its name, unlike a kernel's, has a space.
        let kernels = kernels.filter(|name| !name.contains(' '));
        for kernel in kernels.filter(|kernel| !launched.contains(kernel.as_str())) {
            missing.entry(name).or_default().insert(kernel.as_str());
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use cuda_builder::{CrateRecord, PtxRecord};

    use super::*;

    #[test]
    fn a_kernel_is_missing_until_it_is_launched() {
        let barriers = ["one", "two", "called functions"].map(|kernel| (kernel.to_owned(), 0));
        let ptx = PtxRecord {
            sha256: String::new(),
            barriers: barriers.into(),
        };
        let of_crate = CrateRecord {
            sources: String::new(),
            compiler: String::new(),
            llvm: String::new(),
            ptx: BTreeMap::from([("sm_70".to_owned(), ptx)]),
        };
        let text = toml::to_string(&BTreeMap::from([("sums", of_crate)])).unwrap();
        let records: [Record; 1] = [toml::from_str(&text).unwrap()];
        let expected = BTreeMap::from([("sums", BTreeSet::from(["two"]))]);
        assert_eq!(missing(&records, &BTreeSet::from(["one"])), expected);
        assert!(missing(&records, &BTreeSet::from(["one", "two"])).is_empty());
    }
}
