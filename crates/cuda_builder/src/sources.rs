//! The kernel crate as cargo sees it, and a hash over all the sources that its PTX comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use cargo_platform::{Cfg, Platform};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::{Arch, BuildError, TARGET, environment};

/// The builder's own sources that decide what the PTX looks like.
const RECIPE: &[(&str, &str)] = &[
    ("arch.rs", include_str!("arch.rs")),
    ("builder.rs", include_str!("builder.rs")),
    ("options.rs", include_str!("options.rs")),
    ("nvvm_arch.rs", include_str!("nvvm_arch.rs")),
    ("ir/atomics.rs", include_str!("ir/atomics.rs")),
    ("ir/constant_names.rs", include_str!("ir/constant_names.rs")),
    ("ir/constants.rs", include_str!("ir/constants.rs")),
    ("ir/convergent.rs", include_str!("ir/convergent.rs")),
    ("ir/launch_bounds.rs", include_str!("ir/launch_bounds.rs")),
    ("ir/line.rs", include_str!("ir/line.rs")),
    ("ir/mod.rs", include_str!("ir/mod.rs")),
    ("ir/parameters.rs", include_str!("ir/parameters.rs")),
    ("ir/statics.rs", include_str!("ir/statics.rs")),
    ("ir/wide_floats.rs", include_str!("ir/wide_floats.rs")),
    ("narrow_negation.rs", include_str!("narrow_negation.rs")),
];

/// The first line of the manifests that are written for modules.
pub(crate) const MODULE_HEADER: &str =
    "# Written by cuda_builder for the kernels in a module. Do not edit.";

/// The values of `#[cfg(…)]` on the GPU's target. They decide which dependencies belong to a
/// kernel crate.
const TARGET_CFG: &[&str] = &[
    "panic=\"abort\"",
    "target_arch=\"nvptx64\"",
    "target_endian=\"little\"",
    "target_env=\"\"",
    "target_os=\"cuda\"",
    "target_pointer_width=\"64\"",
    "target_vendor=\"nvidia\"",
];

/// A kernel crate's description, read from its Cargo.toml by cargo.
#[derive(Clone, Debug)]
pub struct KernelCrate {
    /// The package's name.
    pub package: String,
    /// The library's name.
    pub library: String,
    /// The folder with its Cargo.toml.
    pub folder: PathBuf,
    /// The architectures under `[package.metadata.cuda] archs`, [`Arch::Sm70`] by default.
    pub archs: Vec<Arch>,
    /// The target folder of the workspace that it belongs to.
    pub target_directory: PathBuf,
}

/// The files that a kernel crate's PTX is made from.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Every file, of the kernel crate and of the crates that it depends on by path. If these depend
    /// on other crates, also the workspace's Cargo.lock, which has the versions of those.
    pub files: Vec<PathBuf>,
    /// SHA-256 over the files (names relative to their packages, contents with `\n` at line ends)
    /// except Cargo.lock, and over the builder's own recipe, in hexadecimal digits. The versions of
    /// other dependencies, and what a manifest inherits from its workspace, are not in it. Of the
    /// files outside of `src`, only build scripts and the Rust sources beside a library that is
    /// elsewhere are in it.
    pub hash: String,
    /// The names of the kernel crate and of the crates that it depends on by path.
    pub(crate) packages: Vec<String>,
    /// The packages that are macros, which are compiled for the host.
    pub(crate) macros: Vec<String>,
    /// The folder of the kernel crate's workspace.
    pub(crate) workspace_root: PathBuf,
}

impl KernelCrate {
    /// Asks `cargo` (the one that runs this program, or the one on PATH) for the crate in `folder`.
    ///
    /// # Errors
    ///
    /// [`BuildError::Io`] if there is no such crate, [`BuildError::Manifest`] if cargo refuses it or it
    /// has no library.
    pub fn read(folder: &Path) -> Result<Self, BuildError> {
        let manifest = manifest_of(folder)?;
        let workspace = metadata(&manifest)?;
        let refuse = |message: String| BuildError::Manifest {
            manifest: manifest.clone(),
            message,
        };
        let package = workspace.package(&manifest).ok_or_else(|| {
            refuse("it has no package, but a workspace: name a member's folder".into())
        })?;
        let library = package.targets.iter().find(|target| {
            target
                .kind
                .iter()
                .any(|kind| matches!(kind.as_str(), "lib" | "rlib" | "staticlib"))
        });
        let is_dynamic = |target: &Target| {
            let mut kinds = target.kind.iter();
            kinds.any(|kind| matches!(kind.as_str(), "cdylib" | "dylib"))
        };
        let library = library.ok_or_else(|| {
            refuse(match package.targets.iter().any(is_dynamic) {
                true => "its `crate-type` has dynamic libraries only: write \
                         `crate-type = [\"cdylib\", \"rlib\"]`, or delete that line"
                    .into(),
                false => "it has no library".into(),
            })
        })?;
        let archs = package.archs().map_err(refuse)?;
        Ok(Self {
            package: package.name.clone(),
            library: library.name.replace('-', "_"),
            folder: manifest.parent().map(Path::to_owned).unwrap_or_default(),
            archs,
            target_directory: workspace.target_directory.clone(),
        })
    }
}

/// Hashes the sources of the kernel crate in `folder`: its own, those of the crates that it
/// depends on by path when it is compiled for the GPU, and the builder's recipe.
///
/// The hash depends on what the files hold and on their names inside their packages, not on where
/// they lie nor on how their lines end.
///
/// # Errors
///
/// [`BuildError::Manifest`] if cargo cannot describe a crate, [`BuildError::Io`] if a file cannot
/// be read.
pub fn source_hash(folder: &Path) -> Result<Sources, BuildError> {
    let packages = packages(folder)?;
    let mut files = BTreeMap::new();
    for (name, found) in &packages.found {
        for (relative, path) in found.files()? {
            let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
            files.insert(format!("{name}/{}", parts.join("/")), path);
        }
    }
    let mut hasher = Sha256::new();
    for (name, text) in RECIPE {
        add_file(
            &mut hasher,
            &format!("cuda_builder/{name}"),
            text.as_bytes(),
        );
    }
    for (name, path) in &files {
        let contents = fs::read(path).map_err(BuildError::io("read", path))?;
        add_file(&mut hasher, name, &without_places(contents));
    }
    let mut files: Vec<_> = files.into_values().collect();
    // cargo compares times of files: one that is not there yet would always count as changed.
    let lock_file = packages.workspace_root.join("Cargo.lock");
    files.extend(Some(lock_file).filter(|path| packages.has_others && path.is_file()));
    let macros = packages.found.iter().filter(|(_, found)| found.is_macros);
    let macros = macros.map(|(name, _)| name.clone()).collect();
    Ok(Sources {
        workspace_root: packages.workspace_root,
        macros,
        packages: packages.found.into_keys().collect(),
        files,
        hash: hex(&hasher.finalize()),
    })
}

/// A manifest that was written for a module, without the places of the packages that it names. Other files as they are.
fn without_places(contents: Vec<u8>) -> Vec<u8> {
    if !contents.starts_with(MODULE_HEADER.as_bytes()) {
        return contents;
    }
    let lines = contents.split_inclusive(|byte| *byte == b'\n');
    lines
        .filter(|line| !line.starts_with(b"path = "))
        .flatten()
        .copied()
        .collect()
}

/// SHA-256 of a text, its lines ending in `\n`, in hexadecimal digits.
pub(crate) fn text_hash(text: &str) -> String {
    hex(&Sha256::digest(with_unix_lines(text.as_bytes())))
}

fn add_file(hasher: &mut Sha256, name: &str, contents: &[u8]) {
    let contents = with_unix_lines(contents);
    // The lengths keep two different lists of files from giving the same bytes.
    for part in [name.as_bytes(), &contents] {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
}

fn with_unix_lines(contents: &[u8]) -> Vec<u8> {
    let followed_by = |position: usize| contents.get(position + 1).copied();
    let kept =
        |&(position, &byte): &(usize, &u8)| byte != b'\r' || followed_by(position) != Some(b'\n');
    contents
        .iter()
        .enumerate()
        .filter(kept)
        .map(|(_, &byte)| byte)
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A package whose sources count.
struct Found {
    folder: PathBuf,
    build_script: Option<PathBuf>,
    /// The folder of the library's first file, if it is not in `src`.
    library: Option<PathBuf>,
    is_macros: bool,
}

/// The kernel crate and its dependencies.
struct Packages {
    /// The kernel crate and, transitively, its path dependencies, by their names.
    found: BTreeMap<String, Found>,
    /// Whether there are other dependencies.
    has_others: bool,
    workspace_root: PathBuf,
}

fn packages(folder: &Path) -> Result<Packages, BuildError> {
    let mut workspaces: Vec<Metadata> = Vec::new();
    let mut found = BTreeMap::new();
    let mut has_others = false;
    let mut open = BTreeSet::from([manifest_of(folder)?]);
    while let Some(manifest) = open.pop_first() {
        if !workspaces
            .iter()
            .any(|workspace| workspace.package(&manifest).is_some())
        {
            workspaces.push(metadata(&manifest)?);
        }
        let Some(package) = workspaces
            .iter()
            .find_map(|workspace| workspace.package(&manifest))
        else {
            let message = "cargo does not list it".to_owned();
            return Err(BuildError::Manifest { manifest, message });
        };
        let name = package.name.clone();
        if found
            .insert(name, Found::read(package, &manifest)?)
            .is_none()
        {
            for dependency in package.dependencies.iter().filter(|d| d.is_for_gpu()) {
                match &dependency.path {
                    Some(path) => {
                        open.insert(manifest_of(path)?);
                    }
                    None => has_others = true,
                }
            }
        }
    }
    Ok(Packages {
        found,
        has_others,
        // The first one is that of the kernel crate.
        workspace_root: workspaces.swap_remove(0).workspace_root,
    })
}

fn manifest_of(folder: &Path) -> Result<PathBuf, BuildError> {
    let manifest = folder.join("Cargo.toml");
    manifest
        .canonicalize()
        .map_err(BuildError::io("find", &manifest))
}

/// Returns whether a file may be source text: neither hidden nor a backup of an editor.
pub(crate) fn is_source(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let endings = ["~", ".bak", ".orig", ".rej", ".swp"];
    !name.starts_with(['.', '#']) && !endings.iter().any(|ending| name.ends_with(ending))
}

impl Found {
    fn read(package: &Package, manifest: &Path) -> Result<Self, BuildError> {
        let folder = manifest.parent().map(Path::to_owned).unwrap_or_default();
        let first_file = |kinds: &[&str]| {
            let is_meant =
                |target: &&Target| target.kind.iter().any(|kind| kinds.contains(&&**kind));
            let target = package.targets.iter().find(is_meant);
            let path = target.map(|target| {
                let path = &target.src_path;
                path.canonicalize().map_err(BuildError::io("find", path))
            });
            path.transpose()
        };
        let library = first_file(&["lib", "rlib", "staticlib", "cdylib", "dylib", "proc-macro"])?;
        let library = library.and_then(|path| path.parent().map(Path::to_owned));
        Ok(Self {
            build_script: first_file(&["custom-build"])?,
            is_macros: first_file(&["proc-macro"])?.is_some(),
            library: library.filter(|path| !path.starts_with(folder.join("src"))),
            folder,
        })
    }

    /// Cargo.toml, the build script and all under `src`, and Rust sources beside a library that is
    /// elsewhere: their names in the package, and their paths.
    fn files(&self) -> Result<Vec<(PathBuf, PathBuf)>, BuildError> {
        let source = self.folder.join("src");
        let mut files = vec![self.folder.join("Cargo.toml")];
        files.extend(self.build_script.clone());
        let mut open = Vec::from_iter(self.library.clone());
        open.extend(Some(source.clone()).filter(|folder| folder.is_dir()));
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).map_err(BuildError::io("list", &folder))? {
                let path = entry.map_err(BuildError::io("list", &folder))?.path();
                let in_src = path.starts_with(&source);
                if !is_source(&path) {
                    continue;
                }
                if path.is_dir() {
                    if in_src || !is_other_folder(&path) {
                        open.push(path)
                    }
                } else if in_src || path.extension().is_some_and(|ending| ending == "rs") {
                    files.push(path)
                }
            }
        }
        let name = |path: &Path| {
            let mut folders = [Some(&self.folder), self.library.as_ref()].into_iter();
            let relative = folders.find_map(|folder| path.strip_prefix(folder?).ok());
            relative.unwrap_or(path).to_owned()
        };
        Ok(files.into_iter().map(|path| (name(&path), path)).collect())
    }
}

/// Whether a folder beside a library is another package, or a target folder of cargo.
fn is_other_folder(folder: &Path) -> bool {
    let marks = ["Cargo.toml", "CACHEDIR.TAG"];
    marks.iter().any(|mark| folder.join(mark).exists())
}

/// The part of `cargo metadata` that is used here.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    packages: Vec<Package>,
    pub(crate) target_directory: PathBuf,
    pub(crate) workspace_root: PathBuf,
}

#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) edition: String,
    manifest_path: PathBuf,
    targets: Vec<Target>,
    pub(crate) dependencies: Vec<Dependency>,
    metadata: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
    src_path: PathBuf,
}

#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) rename: Option<String>,
    pub(crate) req: String,
    pub(crate) path: Option<PathBuf>,
    /// `dev` or `build`; nothing for those of the program itself.
    pub(crate) kind: Option<String>,
    pub(crate) target: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) registry: Option<String>,
    pub(crate) features: Vec<String>,
    pub(crate) uses_default_features: bool,
}

impl Metadata {
    pub(crate) fn package(&self, manifest: &Path) -> Option<&Package> {
        let same = |package: &&Package| {
            package
                .manifest_path
                .canonicalize()
                .is_ok_and(|path| path == manifest)
        };
        self.packages.iter().find(same)
    }
}

impl Package {
    fn archs(&self) -> Result<Vec<Arch>, String> {
        let metadata = self
            .metadata
            .as_ref()
            .and_then(|metadata| metadata.get("cuda"));
        let Some(archs) = metadata.and_then(|cuda| cuda.get("archs")) else {
            return Ok(vec![Arch::Sm70]);
        };
        let names: Vec<String> = serde_json::from_value(archs.clone())
            .map_err(|_| "`archs` of [package.metadata.cuda] is not a list of names".to_owned())?;
        if names.is_empty() {
            return Err("`archs` of [package.metadata.cuda] is empty".to_owned());
        }
        names
            .iter()
            .map(|name| name.parse().map_err(|e: BuildError| e.to_string()))
            .collect()
    }
}

impl Dependency {
    pub(crate) fn is_for_gpu(&self) -> bool {
        let is_dev = self.kind.as_deref() == Some("dev");
        let on_target = self.target.as_deref().is_none_or(|target| {
            let cfg: Vec<Cfg> = TARGET_CFG
                .iter()
                .filter_map(|cfg| Cfg::from_str(cfg).ok())
                .collect();
            Platform::from_str(target).is_ok_and(|platform| platform.matches(TARGET, &cfg))
        });
        !is_dev && on_target
    }
}

pub(crate) fn metadata(manifest: &Path) -> Result<Metadata, BuildError> {
    let cargo = std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
    let mut command = Command::new(&cargo);
    environment::clear_outer_cargo(&mut command);
    if let Some(folder) = std::env::var_os("CARGO_TARGET_DIR") {
        command.env("CARGO_TARGET_DIR", folder);
    }
    command
        .args([
            "metadata",
            "--no-deps",
            "--format-version=1",
            "--manifest-path",
        ])
        .arg(manifest);
    let output = command.output().map_err(BuildError::run(&cargo))?;
    let refuse = |message| BuildError::Manifest {
        manifest: manifest.to_owned(),
        message,
    };
    if !output.status.success() {
        return Err(refuse(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        ));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| refuse(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crate `kernels` that depends on `helper` on the GPU and on `host` elsewhere.
    fn two_crates(root: &Path, helper_source: &str) -> PathBuf {
        for (name, dependencies) in [
            (
                "kernels",
                "[dependencies]\nhelper = { path = \"../helper\" }\n\
                 [target.'cfg(not(target_arch = \"nvptx64\"))'.dependencies]\nhost = { path = \"../host\" }\n\
                 [package.metadata.cuda]\narchs = [\"sm_80\", \"sm_90a\"]\n[workspace]\n",
            ),
            ("helper", ""),
            ("host", ""),
        ] {
            fs::create_dir_all(root.join(name).join("src")).unwrap();
            let manifest = format!(
                "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n{dependencies}"
            );
            fs::write(root.join(name).join("Cargo.toml"), manifest).unwrap();
            let source = if name == "helper" { helper_source } else { "" };
            fs::write(root.join(name).join("src/lib.rs"), source).unwrap();
        }
        root.join("kernels")
    }

    #[test]
    fn the_hash_is_of_contents_not_of_places() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let hash =
            |folder: &Path, source: &str| source_hash(&two_crates(folder, source)).unwrap().hash;
        let first = hash(a.path(), "// one\n// two\n");
        assert_eq!(first, hash(b.path(), "// one\r\n// two\r\n"));
        assert_ne!(
            first,
            hash(b.path(), "// one\n"),
            "a dependency's source counts"
        );
        assert_eq!(first.len(), 64);
    }

    #[test]
    fn only_dependencies_on_the_gpu_count() {
        let folder = tempfile::tempdir().unwrap();
        let packages = packages(&two_crates(folder.path(), "")).unwrap();
        let names: Vec<_> = packages.found.keys().collect();
        assert_eq!(names, ["helper", "kernels"]);
    }

    #[test]
    fn sources_outside_of_src_count() {
        let folder = tempfile::tempdir().unwrap();
        let kernels = two_crates(folder.path(), "");
        let helper = folder.path().join("helper");
        let manifest = helper.join("Cargo.toml");
        let text = fs::read_to_string(&manifest).unwrap();
        let build = "build = \"build/main.rs\"\n[lib]\npath = \"lib.rs\"\n";
        fs::write(&manifest, text + build).unwrap();
        fs::remove_dir_all(helper.join("src")).unwrap();
        for (name, contents) in [
            ("lib.rs", "mod parts;"),
            ("parts/mod.rs", ""),
            ("build/main.rs", "fn main() {}"),
            ("target/CACHEDIR.TAG", ""),
            ("target/made.rs", ""),
            ("notes.txt", ""),
        ] {
            fs::create_dir_all(helper.join(name).parent().unwrap()).unwrap();
            fs::write(helper.join(name), contents).unwrap();
        }
        let sources = source_hash(&kernels).unwrap();
        let helper = helper.canonicalize().unwrap();
        let files = sources
            .files
            .iter()
            .filter_map(|file| file.strip_prefix(&helper).ok());
        let names = ["Cargo.toml", "build/main.rs", "lib.rs", "parts/mod.rs"];
        assert_eq!(Vec::from_iter(files), names.map(Path::new));
        fs::write(helper.join("parts/mod.rs"), "// changed").unwrap();
        assert_ne!(source_hash(&kernels).unwrap().hash, sources.hash);
    }

    #[test]
    fn the_versions_of_other_dependencies_are_in_the_lock_file() {
        let folder = tempfile::tempdir().unwrap();
        let kernels = two_crates(folder.path(), "");
        let lock_file = kernels.join("Cargo.lock");
        fs::write(&lock_file, "version = 4\n").unwrap();
        let lock_files = || {
            let files = source_hash(&kernels).unwrap().files.into_iter();
            files.filter(|file| file.ends_with("Cargo.lock")).count()
        };
        assert_eq!(lock_files(), 0);
        let manifest = folder.path().join("helper/Cargo.toml");
        let text = fs::read_to_string(&manifest).unwrap();
        fs::write(manifest, text + "[dependencies]\nlibm = \"0.2\"\n").unwrap();
        assert_eq!(lock_files(), 1);
        fs::remove_file(lock_file).unwrap();
        assert_eq!(lock_files(), 0);
    }

    #[test]
    fn archs_come_from_the_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let kernels = KernelCrate::read(&two_crates(folder.path(), "")).unwrap();
        assert_eq!(kernels.archs, [Arch::Sm80, Arch::Sm90a]);
        assert_eq!(kernels.library, "kernels");
        let helper = KernelCrate::read(&folder.path().join("helper")).unwrap();
        assert_eq!(helper.archs, [Arch::Sm70]);
    }

    #[test]
    fn folders_without_a_package_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = || KernelCrate::read(folder.path()).unwrap_err();
        assert!(matches!(refused(), BuildError::Io { .. }));
        two_crates(folder.path(), "");
        let workspace = "[workspace]\nmembers = [\"helper\", \"host\"]\nresolver = \"3\"\n";
        fs::write(folder.path().join("Cargo.toml"), workspace).unwrap();
        let message = refused().to_string();
        assert!(
            message.ends_with("it has no package, but a workspace: name a member's folder"),
            "{message}"
        );
    }

    #[test]
    fn a_crate_without_a_static_library_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        two_crates(folder.path(), "");
        let manifest = folder.path().join("helper/Cargo.toml");
        let mut text = fs::read_to_string(&manifest).unwrap();
        text.push_str("[lib]\ncrate-type = [\"cdylib\"]\n[workspace]\n");
        fs::write(&manifest, &text).unwrap();
        let message = || {
            let refused = KernelCrate::read(manifest.parent().unwrap());
            refused.unwrap_err().to_string()
        };
        let remedy = "write `crate-type = [\"cdylib\", \"rlib\"]`, or delete that line";
        assert!(message().contains(remedy), "{}", message());
        text = text.replace("[\"cdylib\"]", "[\"cdylib\", \"rlib\"]");
        fs::write(&manifest, &text).unwrap();
        assert!(KernelCrate::read(manifest.parent().unwrap()).is_ok());
    }

    #[test]
    fn the_recipe_lists_every_rewriting() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ir");
        for entry in fs::read_dir(folder).unwrap() {
            let name = format!("ir/{}", entry.unwrap().file_name().to_string_lossy());
            assert!(
                RECIPE.iter().any(|(listed, _)| *listed == name),
                "{name} is not in RECIPE"
            );
        }
    }

    #[test]
    fn backups_of_editors_are_no_sources() {
        for name in [
            "lib.rs~",
            ".#lib.rs",
            "#lib.rs#",
            ".DS_Store",
            "lib.rs.orig",
        ] {
            assert!(!is_source(Path::new(name)), "{name}");
        }
        assert!(is_source(Path::new("src/lib.rs")) && is_source(Path::new("table.bin")));
    }
}
