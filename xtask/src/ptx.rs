//! Builds the PTX, and compares it with its record.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use cuda_builder::{
    Arch, Build, BuildError, CheckError, CudaBuilder, DeviceCompiler, Ptxas, Record, Verdict,
    ptx_file_name,
};

use crate::kernels::{self, Kernels};
use crate::{Result, cargo, ptxas};

/// Builds the PTX of the named kernel crates into their folders, and records it with a hash of the
/// sources. Refuses unformatted sources, since formatting them later would change the hash.
pub fn rebuild(names: &[String]) -> Result<()> {
    cargo::require_formatted()?;
    let mut table = ptxas::table();
    let mut failures = Vec::new();
    let chosen = kernels::find(names)?;
    let built = build_all(&chosen, |kernels| kernels.ptx.clone(), false)?;
    for (kernels, builds) in chosen.iter().zip(built) {
        let builds = match builds {
            Ok(builds) => builds,
            Err(error) => {
                failures.push(error.to_string());
                continue;
            }
        };
        let mut record = Record::load(&kernels.record_path())?;
        // A compiler that copies a barrier shows here, before it shows on a GPU.
        match record.check(&kernels.name, &builds) {
            Err(difference @ CheckError::Barriers { .. }) => println!("warning: {difference}"),
            Ok(Verdict::OtherCompiler { barriers, .. }) => {
                for difference in barriers {
                    println!("warning: {difference}");
                }
            }
            _ => {}
        }
        record.put(&kernels.name, &builds);
        record.save(&kernels.record_path())?;
        show(&mut table, kernels, &builds)?;
    }
    fail_with(&failures)?;
    let all = kernels::find(&[])?;
    for folder in kernels::ptx_folders()? {
        let names: Vec<String> = all
            .iter()
            .filter(|kernels| kernels.ptx == folder)
            .map(|kernels| kernels.name.clone())
            .collect();
        let path = folder.join("record.toml");
        let mut record = Record::load(&path)?;
        record.keep(&names);
        record.save(&path)?;
        remove_unrecorded(&record, &folder)?;
    }
    table.print();
    Ok(())
}

/// Builds the PTX of the named kernel crates elsewhere, and fails unless the checked-in PTX matches
/// the sources. Assembles PTX that differs; [`ptxas::assemble_all`] assembles the checked-in PTX.
pub fn check(names: &[String]) -> Result<()> {
    let elsewhere = tempfile::tempdir()?;
    let mut table = ptxas::table();
    let mut failures = Vec::new();
    let mut has_other_compiler = false;
    let chosen = kernels::find(names)?;
    let built = build_all(&chosen, |_| elsewhere.path().to_owned(), true)?;
    for (kernels, builds) in chosen.iter().zip(built) {
        let name = &kernels.name;
        let record = Record::load(&kernels.record_path())?;
        if let Err(error) = record.check_files(name, &kernels.ptx) {
            failures.push(error.to_string());
        }
        let builds = match builds {
            Ok(builds) => builds,
            Err(error) => {
                failures.push(error.to_string());
                continue;
            }
        };
        match record.check(name, &builds) {
            Ok(Verdict::Identical) => {
                println!("{name}: the same as checked in");
                continue;
            }
            Ok(Verdict::OtherCompiler {
                recorded,
                present,
                barriers,
            }) => {
                has_other_compiler = true;
                println!(
                    "{name}: built by {present} here and by {recorded} in the record, so that the \
                     PTX may differ; the sources agree"
                );
                for difference in barriers {
                    println!("note: {difference}");
                }
            }
            Err(error) => failures.push(error.to_string()),
        }
        show(&mut table, kernels, &builds)?;
    }
    table.print();
    if has_other_compiler && Ptxas::find().is_err() {
        failures.push("PTX of another compiler has to be assembled, but there is no ptxas".into());
    }
    fail_with(&failures)
}

/// Compares the barriers in the checked-in PTX with the record.
pub fn barriers() -> Result<()> {
    let mut failures = Vec::new();
    for kernels in kernels::find(&[])? {
        let (name, record) = (&kernels.name, Record::load(&kernels.record_path())?);
        match record.check_files(name, &kernels.ptx) {
            Ok(()) => println!("{name}: the barriers are those of the record"),
            Err(error) => failures.push(error.to_string()),
        }
    }
    fail_with(&failures)
}

/// Builds the PTX of each crate for each of its architectures into the crate's `folder`, and
/// returns the builds of each crate, or the first error among them; `locked`: fail rather than
/// change Cargo.lock. All are started at once: those for the same architecture wait for each other.
fn build_all(
    chosen: &[Kernels],
    folder: impl Fn(&Kernels) -> PathBuf + Sync,
    locked: bool,
) -> Result<Vec<std::result::Result<Vec<Build>, BuildError>>> {
    let compiler = &DeviceCompiler::discover()?;
    let build = |kernels: &Kernels, arch: Arch| {
        let file = folder(kernels).join(ptx_file_name(&kernels.name, arch));
        let builder = CudaBuilder::new(&kernels.description.folder).compiler(compiler.clone());
        let build = builder.arch(arch).locked(locked).copy_to(file).build()?;
        eprintln!("built {} for {arch}", kernels.name);
        Ok(build)
    };
    let build = &build;
    Ok(thread::scope(|scope| {
        let mut started = Vec::new();
        for kernels in chosen {
            let archs = kernels.description.archs.iter();
            let builds = archs.map(|&arch| scope.spawn(move || build(kernels, arch)));
            started.push(builds.collect::<Vec<_>>());
        }
        let finished = started.into_iter().map(|builds| {
            let builds = builds.into_iter();
            builds
                .map(|build| build.join().expect("builds do not panic"))
                .collect()
        });
        finished.collect()
    }))
}

/// Adds what the kernels use on the oldest GPU that ptxas assembles for; nothing without a ptxas.
fn show(table: &mut crate::table::Table, kernels: &Kernels, builds: &[Build]) -> Result<()> {
    let Ok(assembler) = Ptxas::find() else {
        println!(
            "no ptxas here: the PTX of {} was not assembled",
            kernels.name
        );
        return Ok(());
    };
    for build in builds {
        let gpus = assembler.architectures()?;
        let oldest = gpus.into_iter().find(|&gpu| build.arch.runs_on(gpu));
        let gpu = oldest.ok_or_else(|| format!("this ptxas is too old for {}", build.arch))?;
        ptxas::add(table, &assembler, &build.ptx_path, gpu)?;
    }
    Ok(())
}

/// Removes the PTX of crates and architectures that are not in the record.
fn remove_unrecorded(record: &Record, folder: &Path) -> Result<()> {
    let recorded: Vec<String> = record
        .crates()
        .flat_map(|(name, recorded)| {
            recorded
                .ptx
                .keys()
                .map(move |arch| format!("{name}.{arch}.ptx"))
        })
        .collect();
    for path in ptxas::checked_in(folder)? {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if !recorded.contains(&name) {
            println!("removing {name}: nothing asks for it");
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn fail_with(failures: &[String]) -> Result<()> {
    if failures.is_empty() {
        Ok(())
    } else {
        Err(failures.join("\nerror: ").into())
    }
}
