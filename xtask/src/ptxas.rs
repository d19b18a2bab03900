//! Assembling the checked-in PTX.

use std::fs;
use std::path::{Path, PathBuf};

use cuda_builder::{Arch, Ptxas, Resources};
use rayon::prelude::*;

use crate::table::Table;
use crate::{Result, kernels};

/// Assembles every checked-in PTX for each of `gpus` (all that ptxas knows, if there are none) that
/// it runs on, on all cores; the tests of cuda_std for the oldest and the newest of them only. Fails
/// if a file is for none of them.
pub fn assemble_all(gpus: &[Arch]) -> Result<()> {
    let assembler = Ptxas::find()?;
    let known = assembler.architectures()?;
    if let Some(unknown) = gpus.iter().find(|gpu| !known.contains(gpu)) {
        return Err(format!("this ptxas does not assemble for {unknown}").into());
    }
    let gpus = if gpus.is_empty() { &known[..] } else { gpus };
    let mut files = Vec::new();
    for folder in kernels::ptx_folders()? {
        let found = checked_in(&folder)?;
        if found.is_empty() {
            return Err(format!("there is no PTX in {}", folder.display()).into());
        }
        files.extend(found);
    }
    let mut pairs = Vec::new();
    for file in &files {
        let arch = arch_of(file)?;
        let mut fitting: Vec<_> = gpus.iter().filter(|&&gpu| fits(arch, gpu)).collect();
        if fitting.is_empty() {
            return Err(format!("{} is for none of these GPUs", file.display()).into());
        }
        // Takes minutes for all GPUs, and users do not have it.
        if file.ends_with(format!("cuda_std_tests.{arch}.ptx")) && fitting.len() > 2 {
            fitting.drain(1..fitting.len() - 1);
        }
        pairs.extend(fitting.into_iter().map(|&gpu| (file, gpu)));
    }
    // ptxas itself has one thread.
    let assembled: Vec<_> = pairs
        .par_iter()
        .map(|&(file, gpu)| assemble(&assembler, file, gpu))
        .collect();
    let mut table = table();
    for (&(file, gpu), kernels) in pairs.iter().zip(assembled) {
        add_rows(&mut table, file, gpu, kernels?);
    }
    table.print();
    Ok(())
}

/// An empty table of what kernels use.
pub fn table() -> Table {
    Table::new(&[
        "ptx",
        "gpu",
        "kernel",
        "registers",
        "spilled",
        "reloaded",
        "shared",
        "stack",
    ])
}

/// Assembles a PTX file and adds its kernels to the table.
pub fn add(table: &mut Table, assembler: &Ptxas, file: &Path, gpu: Arch) -> Result<()> {
    add_rows(table, file, gpu, assemble(assembler, file, gpu)?);
    Ok(())
}

/// Returns the resources that the kernels of a PTX file use. The error is a sentence.
fn assemble(
    assembler: &Ptxas,
    file: &Path,
    gpu: Arch,
) -> std::result::Result<Vec<Resources>, String> {
    assembler
        .assemble(file, gpu)
        .map_err(|error| format!("{} for {gpu}: {error}", name_of(file)))
}

fn add_rows(table: &mut Table, file: &Path, gpu: Arch, kernels: Vec<Resources>) {
    for kernel in kernels {
        let numbers = [
            kernel.registers,
            kernel.spill_stores,
            kernel.spill_loads,
            kernel.shared,
            kernel.stack,
        ];
        let mut row = vec![name_of(file), gpu.to_string(), kernel.entry];
        row.extend(numbers.map(|number| number.to_string()));
        table.add(row);
    }
}

fn name_of(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The PTX files in a folder, sorted.
pub fn checked_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The architecture in a name such as `matmul.sm_90a.ptx`.
fn arch_of(file: &Path) -> Result<Arch> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let (_, arch) = stem
        .rsplit_once('.')
        .ok_or_else(|| format!("{} is not named <crate>.<arch>.ptx", file.display()))?;
    Ok(arch.parse()?)
}

/// Whether the PTX is assembled for the GPU. What is for many GPUs is left out for the names with a
/// letter, which would only repeat the one without.
fn fits(ptx: Arch, gpu: Arch) -> bool {
    ptx.runs_on(gpu) && ptx.is_specific() == gpu.is_specific()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_hold_the_architecture() {
        assert_eq!(
            arch_of(Path::new("ptx/matmul.sm_90a.ptx")).unwrap(),
            Arch::Sm90a
        );
        assert!(arch_of(Path::new("matmul.ptx")).is_err());
    }

    #[test]
    fn specific_ptx_goes_with_its_own_gpu_alone() {
        assert!(fits(Arch::Sm90a, Arch::Sm90a));
        assert!(!fits(Arch::Sm90a, Arch::Sm90));
        assert!(fits(Arch::Sm70, Arch::Sm120));
        assert!(!fits(Arch::Sm70, Arch::Sm90a));
    }
}
