//! From a kernel crate to PTX.

use std::ffi::OsStr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use crate::narrow_negation;
use crate::options::{self, EmitOption, Options};
use crate::ptx::PtxSummary;
use crate::ptxas::{Ptxas, Resources};
use crate::sources::{KernelCrate, Sources};
use crate::{
    Arch, BuildError, DeviceCompiler, NvvmArch, PtxVersion, TARGET, complaints, environment, ir,
    memory, report,
};

/// The release profile that a kernel is compiled with, whatever its workspace says, beside what
/// [`Options::profile`] sets. Fat LTO makes the IR the whole program.
const PROFILE: &[(&str, &str)] = &[
    ("CODEGEN_UNITS", "1"),
    ("INCREMENTAL", "false"),
    ("LTO", "fat"),
    ("OPT_LEVEL", "3"),
    ("PANIC", "abort"),
    ("STRIP", "none"),
];

/// Settings that a profile has only for all packages together.
const OF_ALL_PACKAGES: [&str; 2] = ["LTO", "PANIC"];

/// Settings in which macros and build scripts differ from the profile, which compile faster so.
const OF_HOST: [&str; 2] = ["CODEGEN_UNITS", "OPT_LEVEL"];

const RUSTFLAGS: &[&str] = &[
    // JumpThreading copies barriers into divergent branches.
    "-Zmir-enable-passes=-JumpThreading",
    // A panic is a trap: no message, no formatting code, no paths of this machine.
    "-Zlocation-detail=none",
    "-Zunstable-options",
    "-Cpanic=immediate-abort",
    // LLVM's optimisations wait for the rewriting: before it, LLVM does not know what is
    // convergent and what is shared.
    "-Cno-prepopulate-passes",
    // A crate that kernels use may, but need not, say so.
    "-Zcrate-attr=no_std",
    "-Aunused-attributes",
];

/// LLVM's size in instructions up to which a loop of a known number of rounds is unrolled as a
/// whole. A thread's array can be in registers only if every loop over it is, and the alternative,
/// local memory, costs a kernel far more than its size: so twice of what LLVM does by itself.
const UNROLL: &str = "-unroll-threshold=600";

/// Features of the compiler that every kernel crate needs, so that none has to name them; one that
/// does is fine.
const CRATE_FEATURES: [&str; 3] = [
    "-Zcrate-attr=feature(abi_ptx,asm_experimental_arch,register_tool)",
    // Rust-CUDA's own attributes, where a crate writes them out.
    "-Zcrate-attr=register_tool(nvvm_internal)",
    "-Aduplicate-features",
];

/// Compiles a kernel crate to PTX.
///
/// ```no_run
/// # fn main() -> Result<(), cuda_builder::BuildError> {
/// use cuda_builder::{Arch, CudaBuilder};
///
/// let build = CudaBuilder::new("kernels").arch(Arch::Sm80).copy_to("kernels.ptx").build()?;
/// println!("{:?}", build.summary.entries);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is compiled before `build`"]
pub struct CudaBuilder {
    pub(crate) kernel_crate: PathBuf,
    /// Whether `kernel_crate` is the file of a module, for which a crate is written.
    pub(crate) is_module: bool,
    pub(crate) arch: NvvmArch,
    pub(crate) options: Options,
    target_dir: Option<PathBuf>,
    pub(crate) copy_to: Option<PathBuf>,
    compiler: Option<DeviceCompiler>,
    locked: bool,
    offline: bool,
}

/// A kernel crate's PTX and how it came about.
///
/// Dereferences to the path of the PTX, which Rust-CUDA's `build` returns.
#[derive(Clone, Debug)]
pub struct Build {
    /// The kernel crate's package.
    pub package: String,
    /// The architecture that the PTX is for.
    pub arch: Arch,
    /// Where the PTX lies: the last [`CudaBuilder::copy_to`], else in the target folder.
    pub ptx_path: PathBuf,
    /// The PTX itself.
    pub ptx: String,
    /// Its kernels and their barriers.
    pub summary: PtxSummary,
    /// The compiler.
    pub compiler: DeviceCompiler,
    /// The sources.
    pub sources: Sources,
}

impl AsRef<Path> for Build {
    fn as_ref(&self) -> &Path {
        &self.ptx_path
    }
}

impl Deref for Build {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.ptx_path
    }
}

impl From<Build> for PathBuf {
    fn from(build: Build) -> Self {
        build.ptx_path
    }
}

impl Build {
    /// Assembles the PTX for `arch` with the ptxas of this machine.
    ///
    /// # Errors
    ///
    /// [`BuildError::NoPtxas`] if there is none, [`BuildError::Tool`] if it refuses the PTX.
    pub fn ptxas(&self, arch: Arch) -> Result<Vec<Resources>, BuildError> {
        Ptxas::find()?.assemble(&self.ptx_path, arch)
    }
}

impl CudaBuilder {
    /// A builder for the kernel crate in the folder `kernel_crate`, for [`Arch::Sm70`].
    pub fn new(kernel_crate: impl Into<PathBuf>) -> Self {
        Self {
            kernel_crate: kernel_crate.into(),
            is_module: false,
            arch: NvvmArch::Compute70,
            options: Options::default(),
            target_dir: None,
            copy_to: None,
            compiler: None,
            locked: false,
            offline: false,
        }
    }

    /// The oldest architecture that the PTX has to run on: an [`Arch`], or Rust-CUDA's name of
    /// one.
    ///
    /// In kernels `#[cfg(target_feature = "compute_80")]` holds if it is 8.0 or later.
    pub fn arch(mut self, arch: impl Into<NvvmArch>) -> Self {
        self.arch = arch.into();
        self
    }

    /// The PTX version; [`Arch::default_ptx_version`] by default.
    pub fn ptx_version(mut self, version: PtxVersion) -> Self {
        self.options.ptx_version = Some(version);
        self
    }

    /// The folder for what the compiler leaves behind; `cuda-builder` in the workspace's target
    /// folder by default.
    pub fn target_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.target_dir = Some(folder.into());
        self
    }

    /// A file that the PTX is written to. It is left alone if it holds the same already.
    pub fn copy_to(mut self, file: impl Into<PathBuf>) -> Self {
        self.copy_to = Some(file.into());
        self
    }

    /// The compiler to use; [`DeviceCompiler::discover`] by default.
    pub fn compiler(mut self, compiler: DeviceCompiler) -> Self {
        self.compiler = Some(compiler);
        self
    }

    /// Whether cargo must fail rather than change Cargo.lock.
    pub fn locked(mut self, locked: bool) -> Self {
        self.locked = locked;
        self
    }

    /// Whether cargo must do without the network.
    pub fn offline(mut self, offline: bool) -> Self {
        self.offline = offline;
        self
    }

    /// Compiles the kernel crate.
    ///
    /// In a build script, also tells cargo which files and variables the PTX depends on.
    ///
    /// # Errors
    ///
    /// [`BuildError`] says which step failed and carries what its program printed.
    pub fn build(self) -> Result<Build, BuildError> {
        let build = self.compile()?;
        // cargo sets `NUM_JOBS` for build scripts alone.
        if env::var_os("NUM_JOBS").is_some() && env::var_os("OUT_DIR").is_some() {
            report::dependencies(&build.sources.files);
        }
        Ok(build)
    }

    pub(crate) fn compile(self) -> Result<Build, BuildError> {
        self.options.check()?;
        let arch = Arch::try_from(self.arch)?;
        let compiler = self
            .compiler
            .clone()
            .map_or_else(DeviceCompiler::discover, Ok)?;
        let written = self.folder()?;
        let kernels = KernelCrate::read(&written.folder)?;
        let sources = self.source_hash_in(&written)?;
        // The flags differ from architecture to architecture, and with them all of `core`.
        let folder = self.target_dir.clone().unwrap_or_else(|| {
            let target = written.target_directory.as_ref();
            let target = target.unwrap_or(&kernels.target_directory);
            target.join("cuda-builder")
        });
        // Absolute, since cargo runs in the folder of the kernel crate.
        let target_dir = std::path::absolute(&folder)
            .map_err(BuildError::io("find", &folder))?
            .join(self.options.rust_folder(arch));
        let output_dir = target_dir.join(self.options.llvm_folder());
        fs::create_dir_all(&output_dir).map_err(BuildError::io("create", &output_dir))?;
        let steps = Steps {
            builder: &self,
            options: &self.options,
            arch,
            compiler: &compiler,
            kernels: &kernels,
            sources: &sources,
            target_dir,
            output_dir,
        };
        let _lock = steps.lock()?;
        let ptx_path = self.copy_to.clone().unwrap_or_else(|| steps.file("ptx"));
        let ir = steps.emit_ir()?;
        steps.write_ir(&ir, &ptx_path)?;
        let ir = ir::rewrite(&ir, self.options.constant_memory)?;
        if let Some(path) = &self.options.final_module_path {
            write_if_changed(path, &ir)?;
        }
        let ptx = format!(
            "// The kernels of {} for {}, made by cuda_builder. Do not edit.\n{}",
            kernels.package,
            arch,
            steps.ir_to_ptx(&ir)?
        );
        let summary = PtxSummary::of(&ptx);
        if !summary.undefined.is_empty() {
            let names = summary.undefined;
            return Err(BuildError::Undefined {
                package: kernels.package,
                names,
            });
        }
        if summary.entries.is_empty() {
            return Err(BuildError::NoKernels {
                package: kernels.package,
            });
        }
        memory::check(&kernels.package, &ptx, self.ptx_version_for(arch))?;
        write_if_changed(&ptx_path, &ptx)?;
        let package = kernels.package.clone();
        Ok(Build {
            package,
            arch,
            ptx_path,
            ptx,
            summary,
            sources,
            compiler: compiler.clone(),
        })
    }

    fn ptx_version_for(&self, arch: Arch) -> PtxVersion {
        let default = arch.default_ptx_version();
        self.options.ptx_version.unwrap_or(default)
    }
}

/// The steps of one build.
struct Steps<'a> {
    builder: &'a CudaBuilder,
    options: &'a Options,
    arch: Arch,
    compiler: &'a DeviceCompiler,
    kernels: &'a KernelCrate,
    sources: &'a Sources,
    /// The folder of rustc's output, and the lock.
    target_dir: PathBuf,
    /// The folder of LLVM's output.
    output_dir: PathBuf,
}

impl Steps<'_> {
    /// Keeps two builds from using the folder at once, until the file is dropped.
    fn lock(&self) -> Result<fs::File, BuildError> {
        let path = self.target_dir.join("cuda-builder.lock");
        let file = fs::File::create(&path).map_err(BuildError::io("create", &path))?;
        file.lock().map_err(BuildError::io("lock", &path))?;
        Ok(file)
    }

    fn file(&self, extension: &str) -> PathBuf {
        // The modules of a package share the folder.
        let of_module = self.kernels.folder.file_name();
        let of_module = of_module.filter(|_| self.builder.is_module);
        let name = of_module.map_or(self.kernels.library.as_str().into(), OsStr::to_string_lossy);
        self.output_dir.join(format!("{name}.{extension}"))
    }

    /// cargo's own target folder. cargo has to create it: it cleans no folder of others.
    fn cargo_dir(&self) -> PathBuf {
        self.target_dir.join("cargo")
    }

    /// rustc's IR for the whole program.
    fn emit_ir(&self) -> Result<String, BuildError> {
        // rustc's IR is no artifact that cargo would name, and cargo leaves older ones lying about:
        // with those gone and the crate compiled anew, the one that is there is the right one.
        for stale in self.emitted_ir()? {
            fs::remove_file(&stale).map_err(BuildError::io("remove", &stale))?;
        }
        if self.cargo_dir().exists() {
            let mut clean = self.cargo("clean");
            for package in self.packages_to_clean() {
                clean.args(["--package", package]);
            }
            self.run_cargo(clean)?;
        }
        let root = self.sources.workspace_root.to_string_lossy();
        write_if_changed(&self.workspace_file(), &root)?;
        let mut rustc = self.cargo("rustc");
        for setting in self.package_settings() {
            rustc.args(["--config", &setting]);
        }
        rustc.args(&self.options.build_args);
        rustc.args([
            "--lib",
            "--crate-type",
            "staticlib",
            "-Zbuild-std=core,alloc",
        ]);
        rustc.args(["--", "--emit=llvm-ir"]).args(CRATE_FEATURES);
        self.run_cargo(rustc)?;
        let [path] = &self.emitted_ir()?[..] else {
            let message = format!("{} has none, or more than one", self.cargo_dir().display());
            return Err(BuildError::Ir { message });
        };
        fs::read_to_string(path).map_err(BuildError::io("read", path))
    }

    /// The kernel crate, and after a build of another workspace in the folder also its dependencies by
    /// path: cargo takes packages of two workspaces for the same if their names, versions and places
    /// in the workspace are, and compares only the times of their files.
    fn packages_to_clean(&self) -> Vec<&str> {
        let last = fs::read_to_string(self.workspace_file()).unwrap_or_default();
        match last == self.sources.workspace_root.to_string_lossy() {
            true => vec![&self.kernels.package],
            false => self.sources.packages.iter().map(String::as_str).collect(),
        }
    }

    /// Names the workspace of the last build.
    fn workspace_file(&self) -> PathBuf {
        self.target_dir.join("workspace")
    }

    /// Every file that rustc may have written the kernel crate's IR to.
    fn emitted_ir(&self) -> Result<Vec<PathBuf>, BuildError> {
        let prefix = format!("{}-", self.kernels.library);
        let mut found = Vec::new();
        let mut open = vec![self.cargo_dir()];
        while let Some(folder) = open.pop().filter(|folder| folder.is_dir()) {
            for entry in fs::read_dir(&folder).map_err(BuildError::io("list", &folder))? {
                let path = entry.map_err(BuildError::io("list", &folder))?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                if path.is_dir() {
                    open.push(path);
                } else if name.starts_with(&prefix) && name.ends_with(".ll") {
                    found.push(path);
                }
            }
        }
        Ok(found)
    }

    /// The profile for single packages, in the form of cargo's configuration: what a workspace sets
    /// for one of them would have precedence over the profile.
    ///
    /// `*` is every package that is no member of the workspace, macros among them.
    fn package_settings(&self) -> Vec<String> {
        let setting = |package: &str, key: &str, value: &str| {
            let key = key.to_lowercase().replace('_', "-");
            let is_word = value.parse::<bool>().is_err() && value.parse::<u32>().is_err();
            let quote = if is_word { "\"" } else { "" };
            format!("profile.release.package.\"{package}\".{key}={quote}{value}{quote}")
        };
        let Sources {
            packages, macros, ..
        } = self.sources;
        let packages = packages.iter().filter(|name| !macros.contains(name));
        let packages = packages.map(String::as_str);
        let mut settings = Vec::new();
        for package in packages.chain(["*"]) {
            for (key, value) in self.profile() {
                let is_of_host = package == "*" && OF_HOST.contains(&key);
                if !OF_ALL_PACKAGES.contains(&key) && !is_of_host {
                    settings.push(setting(package, key, value));
                }
            }
        }
        settings
    }

    fn profile(&self) -> Vec<(&'static str, &'static str)> {
        let of_options = self.options.profile();
        PROFILE.iter().copied().chain(of_options).collect()
    }

    fn cargo(&self, subcommand: &str) -> Command {
        let mut command = Command::new(&self.compiler.cargo);
        environment::clear_outer_cargo(&mut command);
        for (key, value) in self.profile() {
            command.env(format!("CARGO_PROFILE_RELEASE_{key}"), value);
        }
        let mut flags = vec![format!("-Ctarget-cpu={}", self.arch)];
        flags.extend(RUSTFLAGS.iter().map(|&flag| flag.to_owned()));
        flags.extend(options::capability_cfgs(self.arch));
        command
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTC", &self.compiler.rustc)
            // Empty: none, whatever the configuration says.
            .env("RUSTC_WRAPPER", "")
            .env("RUSTC_WORKSPACE_WRAPPER", "")
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
            .env("CARGO_BUILD_BUILD_DIR", self.cargo_dir())
            .env("CUDA_ARCH", options::cuda_arch(self.arch).to_string())
            .current_dir(&self.kernels.folder)
            .args([subcommand, "--release", "--target", TARGET, "--target-dir"])
            .arg(self.cargo_dir());
        for (flag, is_set) in [
            ("--locked", self.builder.locked && !self.builder.is_module),
            ("--offline", self.builder.offline),
        ] {
            command.args(is_set.then_some(flag));
        }
        command
    }

    fn run_cargo(&self, command: Command) -> Result<(), BuildError> {
        let output = run(command)?;
        if output.status.success() {
            return Ok(());
        }
        let package = self.kernels.package.clone();
        let stderr = stderr(&output);
        let of_one_name = complaints::of_one_name(&package, &stderr, &self.sources.files);
        Err(of_one_name.unwrap_or_else(|| BuildError::Compile {
            package,
            arch: self.arch,
            compiler: self.compiler.rustc_version.clone(),
            stderr,
        }))
    }

    /// Writes rustc's IR beside the PTX, if that is asked for.
    fn write_ir(&self, ir: &str, ptx: &Path) -> Result<(), BuildError> {
        match self.options.emit {
            None => Ok(()),
            Some(EmitOption::LlvmIr) => write_if_changed(&ptx.with_extension("ll"), ir),
            Some(EmitOption::Bitcode) => {
                let text = self.file("rustc.ll");
                write_if_changed(&text, ir)?;
                let mut assembler = Command::new(&self.compiler.opt);
                let bitcode = ptx.with_extension("bc");
                let folder = bitcode.parent().unwrap_or(Path::new(""));
                fs::create_dir_all(folder).map_err(BuildError::io("create", folder))?;
                assembler
                    .args(["-passes=verify", "-o"])
                    .args([bitcode, text]);
                self.run_llvm(assembler)
            }
        }
    }

    /// LLVM's optimiser, then its code generator.
    fn ir_to_ptx(&self, ir: &str) -> Result<String, BuildError> {
        let (rewritten, optimised) = (self.file("rewritten.ll"), self.file("opt.ll"));
        let ptx = self.file("ptx");
        fs::write(&rewritten, ir).map_err(BuildError::io("write", &rewritten))?;
        let version = self.builder.ptx_version_for(self.arch);
        let target = [
            format!("-mcpu={}", self.arch),
            format!("-mattr=+{}", version.llvm_feature()),
        ];

        let mut opt = Command::new(&self.compiler.opt);
        opt.args([self.options.passes(), UNROLL, "-S"])
            .args(&target)
            .args(self.options.llvm_flags())
            .arg(&rewritten)
            .arg("-o")
            .arg(&optimised);
        self.run_llvm(opt)?;
        let mut llc = Command::new(&self.compiler.llc);
        llc.args(self.options.llc_flags())
            .args(&target)
            .args(self.options.llvm_flags())
            .arg(&optimised)
            .arg("-o")
            .arg(&ptx);
        self.run_llvm(llc)?;
        let text = fs::read_to_string(&ptx).map_err(BuildError::io("read", &ptx))?;
        let text = narrow_negation::replaced(&text);
        // LLVM only warns of a version or an architecture that it does not know, and takes another.
        let wanted = [
            format!(".version {version}"),
            format!(".target {}", self.arch),
        ];
        let has = |wanted: &String| text.lines().any(|line| line == wanted);
        if let Some(missing) = wanted.iter().find(|wanted| !has(wanted)) {
            return Err(BuildError::Tool {
                program: self.compiler.llc.clone(),
                stderr: format!("it writes no PTX with `{missing}`"),
            });
        }
        Ok(text)
    }

    fn run_llvm(&self, command: Command) -> Result<(), BuildError> {
        let program = PathBuf::from(command.get_program());
        let output = run(command)?;
        if output.status.success() {
            return Ok(());
        }
        let stderr = stderr(&output);
        let of_function = complaints::of_llvm(&self.kernels.package, &program, &stderr);
        Err(of_function.unwrap_or(BuildError::Tool { program, stderr }))
    }
}

fn run(mut command: Command) -> Result<Output, BuildError> {
    let program = PathBuf::from(command.get_program());
    command.output().map_err(BuildError::run(&program))
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

pub(crate) fn write_if_changed(path: &Path, text: &str) -> Result<(), BuildError> {
    if fs::read_to_string(path).is_ok_and(|present| present == text) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(BuildError::io("create", folder))?;
    }
    fs::write(path, text).map_err(BuildError::io("write", path))
}
