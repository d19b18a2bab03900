//! Finding a compiler for the GPU: rustc with the sources of `core`, and LLVM's `opt` and `llc`.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::BuildError;
use crate::environment;
use crate::tested::{OLDEST_RUSTC, Rejected, numbers};

/// Environment variable: the cargo to use. Beside `CUDA_BUILDER_RUSTC` by default.
pub const CARGO_VARIABLE: &str = "CUDA_BUILDER_CARGO";
/// Environment variable: the rustc to use, before any other.
pub const RUSTC_VARIABLE: &str = "CUDA_BUILDER_RUSTC";
/// Environment variable: the folder with `opt` and `llc` (or `opt-22` and `llc-22`).
pub const LLVM_BIN_VARIABLE: &str = "CUDA_BUILDER_LLVM_BIN";

/// A compiler for the GPU: programs that fit each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceCompiler {
    /// cargo.
    pub cargo: PathBuf,
    /// rustc, with the sources of `core` in its sysroot.
    pub rustc: PathBuf,
    /// LLVM's optimiser, of rustc's LLVM version.
    pub opt: PathBuf,
    /// LLVM's code generator, of rustc's LLVM version.
    pub llc: PathBuf,
    /// rustc's first line about itself: `rustc 1.96.0 (ac68faa20 2026-05-25)`.
    pub rustc_version: String,
    /// The version of `opt` and `llc`, such as `22.1.8`.
    pub llvm_version: String,
}

impl DeviceCompiler {
    /// The first that is complete of: the one named by [`RUSTC_VARIABLE`], the distribution's in
    /// `/usr/bin`, rustup's nightly.
    ///
    /// # Errors
    ///
    /// [`BuildError::NoDeviceCompiler`] with the reason against each. A compiler that is named by
    /// the environment has to work: no other is tried in its place.
    pub fn discover() -> Result<Self, BuildError> {
        Search::of_this_machine().run()
    }
}

/// Where to look.
struct Search {
    cargo: Option<PathBuf>,
    rustc: Option<PathBuf>,
    llvm_bin: Option<PathBuf>,
    /// The root of the distribution's packages: `/usr`.
    system: PathBuf,
    rustup: PathBuf,
}

impl Search {
    fn of_this_machine() -> Self {
        // Absolute, since programs run in the folder of the kernel crate.
        let path = |name| {
            let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
            Some(std::path::absolute(&value).unwrap_or(value.into()))
        };
        Self {
            cargo: path(CARGO_VARIABLE),
            rustc: path(RUSTC_VARIABLE),
            llvm_bin: path(LLVM_BIN_VARIABLE),
            system: PathBuf::from("/usr"),
            rustup: PathBuf::from("rustup"),
        }
    }

    fn run(&self) -> Result<DeviceCompiler, BuildError> {
        type Candidate = fn(&Search) -> Result<DeviceCompiler, String>;
        let candidates: &[(&str, Candidate)] = if self.rustc.is_some() || self.cargo.is_some() {
            &[("the compiler named by CUDA_BUILDER_RUSTC", Search::named)]
        } else {
            &[
                ("the distribution's compiler", Search::distribution),
                ("rustup's nightly toolchain", Search::rustup_nightly),
            ]
        };
        let mut rejected = Vec::new();
        for (candidate, look) in candidates {
            match look(self) {
                Ok(compiler) => return Ok(compiler),
                Err(reason) => rejected.push(Rejected {
                    candidate: (*candidate).into(),
                    reason,
                }),
            }
        }
        Err(BuildError::NoDeviceCompiler { rejected })
    }

    fn named(&self) -> Result<DeviceCompiler, String> {
        let Some(rustc) = &self.rustc else {
            return Err(
                "CUDA_BUILDER_CARGO is set, but CUDA_BUILDER_RUSTC is not; set both.".into(),
            );
        };
        let cargo = self
            .cargo
            .clone()
            .unwrap_or_else(|| rustc.with_file_name(format!("cargo{EXE_SUFFIX}")));
        let rustc = Rustc::ask(rustc).map_err(|reason| {
            format!(
                "{reason} Correct or unset {RUSTC_VARIABLE}: if it is unset, the distribution's \
                 compiler and rustup's nightly toolchain are looked for."
            )
        })?;
        rustc.check_core("install its rust-src component")?;
        let mut folders = vec![rustc.llvm_tools(), self.system.join("bin")];
        folders.push(
            self.system
                .join(format!("lib/llvm-{}/bin", rustc.llvm_major)),
        );
        self.complete(
            cargo,
            rustc,
            &folders,
            "set CUDA_BUILDER_LLVM_BIN to the folder that holds them",
        )
    }

    fn distribution(&self) -> Result<DeviceCompiler, String> {
        let bin = self.system.join("bin");
        let rustc = Rustc::ask(&bin.join("rustc")).map_err(|reason| {
            format!(
                "{reason} On Debian, apt-get update and then \
                 apt-get install rustc-web cargo-web rust-web-src rust-web-llvm."
            )
        })?;
        rustc.check_core("on Debian, apt-get install rust-web-src")?;
        let folders = [
            bin.clone(),
            self.system
                .join(format!("lib/llvm-{}/bin", rustc.llvm_major)),
        ];
        let hint = format!(
            "on Debian, apt-get install rust-web-llvm or llvm-{}",
            rustc.llvm_major
        );
        self.complete(bin.join("cargo"), rustc, &folders, &hint)
    }

    fn rustup_nightly(&self) -> Result<DeviceCompiler, String> {
        const INSTALL: &str = "rustup toolchain install nightly -c rust-src -c llvm-tools";
        let which = |tool: &str| -> Result<PathBuf, String> {
            let arguments = ["which", "--toolchain", "nightly", tool];
            let printed = output(&self.rustup, &arguments)
                .map_err(|reason| format!("{reason} To install it, run `{INSTALL}`."))?;
            Ok(PathBuf::from(printed.trim()))
        };
        let rustc = Rustc::ask(&which("rustc")?)?;
        rustc.check_core(&format!("run `{INSTALL}`"))?;
        let folders = [rustc.llvm_tools()];
        self.complete(
            which("cargo")?,
            rustc,
            &folders,
            &format!("run `{INSTALL}`"),
        )
    }

    /// Adds `opt` and `llc`, from [`LLVM_BIN_VARIABLE`] or else from `folders`.
    fn complete(
        &self,
        cargo: PathBuf,
        rustc: Rustc,
        folders: &[PathBuf],
        hint: &str,
    ) -> Result<DeviceCompiler, String> {
        if !cargo.is_file() {
            let hint = match (&self.cargo, &self.rustc) {
                (Some(_), _) => format!("correct or unset {CARGO_VARIABLE}"),
                (None, Some(_)) => format!("set {CARGO_VARIABLE} to the cargo"),
                (None, None) => "install cargo".to_owned(),
            };
            return Err(format!("there is no cargo at {}; {hint}.", cargo.display()));
        }
        let folders = self.llvm_bin.as_ref().map_or(folders, std::slice::from_ref);
        let named = format!("correct or unset {LLVM_BIN_VARIABLE}");
        let hint = self.llvm_bin.as_ref().map_or(hint, |_| &named);
        let (opt, llc) = find_llvm(folders, rustc.llvm_major).ok_or_else(|| {
            let looked: Vec<_> = folders.iter().map(|f| f.display().to_string()).collect();
            let major = rustc.llvm_major;
            let looked = looked.join(" and ");
            format!(
                "opt and llc of LLVM {major}, which {} needs, are not in {looked}; {hint}.",
                rustc.version
            )
        })?;
        let llvm_version = llvm_version(&output(&llc, &["--version"])?)
            .ok_or_else(|| format!("{} does not say its version.", llc.display()))?;
        if major(&llvm_version) != Some(rustc.llvm_major) {
            return Err(format!(
                "{} is of LLVM {llvm_version}, but {} needs LLVM {}; {hint}.",
                llc.display(),
                rustc.version,
                rustc.llvm_major
            ));
        }
        Ok(DeviceCompiler {
            cargo,
            rustc: rustc.path,
            opt,
            llc,
            rustc_version: rustc.version,
            llvm_version,
        })
    }
}

/// A rustc and what it says about itself.
struct Rustc {
    path: PathBuf,
    version: String,
    host: String,
    llvm_major: u32,
    sysroot: PathBuf,
}

impl Rustc {
    fn ask(path: &Path) -> Result<Self, String> {
        if !path.is_file() {
            return Err(format!("there is no rustc at {}.", path.display()));
        }
        let printed = output(path, &["-vV"])?;
        let field = |name: &str| {
            let line = printed.lines().find_map(|line| line.strip_prefix(name));
            line.map(str::trim)
                .ok_or_else(|| format!("{} -vV prints no `{name}`.", path.display()))
        };
        let version = printed.lines().next().unwrap_or_default().trim().to_owned();
        let release = field("release:")?;
        let numbers = numbers(release)
            .ok_or_else(|| format!("{} has the unreadable version `{release}`.", path.display()))?;
        if numbers < OLDEST_RUSTC {
            let (first, second) = OLDEST_RUSTC;
            return Err(format!(
                "{} is rustc {release}, but {first}.{second} or later is needed.",
                path.display()
            ));
        }
        let llvm = field("LLVM version:")?;
        Ok(Self {
            path: path.to_owned(),
            version,
            host: field("host:")?.to_owned(),
            llvm_major: major(llvm).ok_or_else(|| format!("`{llvm}` is not an LLVM version."))?,
            sysroot: PathBuf::from(output(path, &["--print", "sysroot"])?.trim()),
        })
    }

    fn check_core(&self, hint: &str) -> Result<(), String> {
        let core = self.sysroot.join("lib/rustlib/src/rust/library/core");
        if core.join("Cargo.toml").is_file() {
            return Ok(());
        }
        Err(format!(
            "the sources of core for {} are not in {}; {hint}.",
            self.version,
            core.display()
        ))
    }

    /// Where rustup's component llvm-tools lies.
    fn llvm_tools(&self) -> PathBuf {
        self.sysroot
            .join("lib/rustlib")
            .join(&self.host)
            .join("bin")
    }
}

/// `opt` and `llc` from the first folder that has both. Names with the version come first: they
/// cannot be of another one.
fn find_llvm(folders: &[PathBuf], major: u32) -> Option<(PathBuf, PathBuf)> {
    folders.iter().find_map(|folder| {
        [format!("-{major}"), String::new()]
            .into_iter()
            .find_map(|suffix| {
                let opt = folder.join(format!("opt{suffix}{EXE_SUFFIX}"));
                let llc = folder.join(format!("llc{suffix}{EXE_SUFFIX}"));
                (opt.is_file() && llc.is_file()).then_some((opt, llc))
            })
    })
}

/// The version in what `llc --version` prints.
fn llvm_version(printed: &str) -> Option<String> {
    let (_, behind) = printed.split_once("LLVM version ")?;
    behind.split_whitespace().next().map(str::to_owned)
}

fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.parse().ok()
}

/// Returns the output of a program, or else the reason why there is none, as a sentence.
fn output(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    environment::clear_outer_cargo(&mut command);
    let command_line = || {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        format!(
            "`{} {}`",
            program.display(),
            arguments.join(" ".as_ref()).display()
        )
    };
    let output = command
        .args(arguments)
        .output()
        .map_err(|error| format!("{} cannot be run ({error}).", command_line()))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} failed ({}).", command_line(), stderr.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(all(test, unix))]
mod tests;
