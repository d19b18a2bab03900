//! Kernels in a module of a package that is not a kernel crate: a crate that has this module alone
//! is written, and compiled.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::builder::write_if_changed;
use crate::sources::{self, Dependency, MODULE_HEADER, Package, Sources, is_source};
use crate::{BuildError, CudaBuilder};

/// The prefix of packages whose library has the rest of the name.
const PREFIX: &str = "gridstride_";

/// What every kernel needs.
const CUDA_STD: &str = "gridstride_cuda_std";

impl CudaBuilder {
    /// A builder for the kernels in a module of this package, for
    /// [`Arch::Sm70`](crate::Arch::Sm70): the module is part of the program on the host, and a
    /// crate of its own for the GPU.
    ///
    /// The builder copies the file, and everything in the folder of its submodules, into a `no_std`
    /// crate in the target folder, and compiles that crate. Of the package's dependencies, the
    /// crate has `cuda_std` and those whose paths occur in the source, such as `libm::erf`, with the
    /// same features and the versions of Cargo.lock. It has none of the package's
    /// own features, and nothing of `[patch]` in the workspace's manifest. Paths that begin with `crate` have to lead into the module. Messages of the
    /// compiler name the lines of the original file. [`locked`](Self::locked) has no effect.
    ///
    /// ```no_run
    /// // In the `main` of build.rs:
    /// cuda_builder::CudaBuilder::module("src/kernels.rs").build_script("kernels.ptx");
    /// ```
    ///
    /// The program declares `mod kernels;`, launches `kernels::NAME`, and takes the PTX by
    /// `include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"))`.
    pub fn module(file: impl Into<PathBuf>) -> Self {
        let mut builder = Self::new(file);
        builder.is_module = true;
        builder
    }

    /// Returns the files that the PTX comes from, and their hash, as [`Record`](crate::Record) has
    /// it: the hash of [`source_hash`](crate::source_hash) together with the options that change
    /// the PTX. Compiles nothing.
    ///
    /// The hash of a [`module`](Self::module) does not depend on where the package and its
    /// dependencies are. It covers the name and the edition of the package, the names, versions and
    /// features of the dependencies that the module uses, and the sources of those that have a
    /// path.
    ///
    /// # Errors
    ///
    /// [`BuildError::Manifest`] if cargo cannot describe a crate, [`BuildError::Io`] if a file
    /// cannot be read or the crate of a module cannot be written, [`BuildError::Module`] if the
    /// file cannot be a module of kernels.
    pub fn source_hash(&self) -> Result<Sources, BuildError> {
        self.source_hash_in(&self.folder()?)
    }

    /// Likewise, of the folder of the kernel crate.
    pub(crate) fn source_hash_in(&self, kernels: &ModuleCrate) -> Result<Sources, BuildError> {
        let ModuleCrate {
            folder, originals, ..
        } = kernels;
        let mut sources = sources::source_hash(folder)?;
        if self.is_module {
            // A file of the crate without an original was made from nothing but the module's path.
            let original = |file: PathBuf| match file.starts_with(folder) {
                true => originals.get(&file).cloned(),
                false => Some(file),
            };
            sources.files = sources.files.into_iter().filter_map(original).collect();
        }
        sources.hash = self.options.hash_with(sources.hash);
        Ok(sources)
    }

    /// Returns the folder of the kernel crate, which is written for a module.
    pub(crate) fn folder(&self) -> Result<ModuleCrate, BuildError> {
        if self.is_module {
            return write(&self.kernel_crate);
        }
        Ok(ModuleCrate {
            folder: self.kernel_crate.clone(),
            originals: BTreeMap::new(),
            target_directory: None,
        })
    }
}

/// A crate that was written for a module.
pub(crate) struct ModuleCrate {
    /// Its folder.
    pub(crate) folder: PathBuf,
    /// For each of its files that has one, the file in the package.
    pub(crate) originals: BTreeMap<PathBuf, PathBuf>,
    /// The target folder of the package that has the module, so that its modules share what is
    /// compiled.
    pub(crate) target_directory: Option<PathBuf>,
}

/// Writes the crate for a module's file, into the target folder of its workspace.
pub(crate) fn write(file: &Path) -> Result<ModuleCrate, BuildError> {
    let file = file.canonicalize().map_err(BuildError::io("find", file))?;
    let mut folders = file.ancestors().skip(1);
    let manifest =
        folders.find_map(|folder| Some(folder.join("Cargo.toml")).filter(|path| path.is_file()));
    let refuse = |message: &str| BuildError::Module {
        file: file.clone(),
        message: message.to_owned(),
    };
    let manifest = manifest.ok_or_else(|| refuse("no folder above it has a Cargo.toml"))?;
    let root = manifest.parent().unwrap_or(Path::new("/"));
    let below = file.strip_prefix(root).unwrap_or(&file);
    let path = module_path(below).ok_or_else(|| {
        refuse("a module of kernels is a file below `src`, and neither lib.rs nor main.rs: in a package that has nothing but kernels, take `CudaBuilder::new`")
    })?;
    let workspace = sources::metadata(&manifest)?;
    let package = workspace
        .package(&manifest)
        .ok_or_else(|| refuse("cargo does not list the package that it is in"))?;

    let folder = workspace
        .target_directory
        .join("cuda-builder/modules")
        .join(folder_name(&package.name, &path, root));
    fs::create_dir_all(&folder).map_err(BuildError::io("create", &folder))?;
    // As cargo names it.
    let folder = folder
        .canonicalize()
        .map_err(BuildError::io("find", &folder))?;
    let mut originals = BTreeMap::new();
    for original in files(&file)? {
        let copy = folder.join(original.strip_prefix(root).unwrap_or(&original));
        originals.insert(copy, original);
    }
    let mut text = String::new();
    for (copy, original) in &originals {
        let bytes = fs::read(original).map_err(BuildError::io("read", original))?;
        if fs::read(copy).ok().as_ref() != Some(&bytes) {
            let above = copy.parent().unwrap_or(&folder);
            fs::create_dir_all(above).map_err(BuildError::io("create", above))?;
            fs::write(copy, &bytes).map_err(BuildError::io("write", copy))?;
        }
        if copy.extension().is_some_and(|ending| ending == "rs") {
            text += &String::from_utf8_lossy(&bytes);
        }
    }
    let library = folder.join("src/lib.rs");
    write_if_changed(&library, &library_text(&path))?;
    let mut dependencies: BTreeMap<&str, &Dependency> = BTreeMap::new();
    for one in package
        .dependencies
        .iter()
        .filter(|one| one.is_named_in(&text))
    {
        // One that is listed for a target too is the same package.
        dependencies.entry(one.key()).or_insert(one);
    }
    let written = folder.join("Cargo.toml");
    let text = manifest_text(package, dependencies.values());
    let has_others = fs::read_to_string(&written).ok().as_ref() != Some(&text);
    write_if_changed(&written, &text)?;
    let kept: BTreeSet<_> = originals.keys().chain([&library]).collect();
    remove_others(&folder.join("src"), &kept)?;
    let lock = workspace.workspace_root.join("Cargo.lock");
    take_versions(&lock, &folder.join("Cargo.lock"), has_others)?;
    originals.insert(folder.join("Cargo.lock"), lock);
    originals.insert(folder.join("Cargo.toml"), manifest.clone());
    Ok(ModuleCrate {
        folder,
        originals,
        target_directory: Some(workspace.target_directory),
    })
}

/// The names of the modules from the crate's root on: of `src/gpu/kernels.rs` `gpu` and `kernels`.
fn module_path(below: &Path) -> Option<Vec<String>> {
    let below = below.strip_prefix("src").ok()?.with_extension("");
    let names = below.components().map(|component| match component {
        Component::Normal(name) => name.to_str().map(str::to_owned),
        _ => None,
    });
    let mut names = names.collect::<Option<Vec<_>>>()?;
    if names.len() > 1 && names.last().is_some_and(|name| name == "mod") {
        names.pop();
    }
    let is_root = |name: &String| name == "lib" || name == "main";
    let is_module = match &names[..] {
        [] => false,
        [name] => !is_root(name),
        _ => true,
    };
    is_module.then_some(names)
}

/// The module's file, and all in the folder of its own modules.
fn files(file: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let folder = match file.file_name().is_some_and(|name| name == "mod.rs") {
        true => file.parent().map(Path::to_owned).unwrap_or_default(),
        false => file.with_extension(""),
    };
    let mut files = vec![file.to_owned()];
    let mut open = Vec::from_iter(Some(folder).filter(|folder| folder.is_dir()));
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).map_err(BuildError::io("list", &folder))? {
            let path = entry.map_err(BuildError::io("list", &folder))?.path();
            match path.is_dir() {
                true => open.push(path),
                false if is_source(&path) => files.push(path),
                false => {}
            }
        }
    }
    Ok(files)
}

/// Packages of one name can share a target folder, so the name depends on where the package is.
fn folder_name(package: &str, path: &[String], root: &Path) -> String {
    let hash = sources::text_hash(&root.to_string_lossy());
    format!("{package}-{}-{}", path.join("-"), &hash[..8])
}

fn library_text(path: &[String]) -> String {
    let mut text = format!("pub mod {};", path[path.len() - 1]);
    for name in path[..path.len() - 1].iter().rev() {
        text = format!("pub mod {name} {{ {text} }}");
    }
    format!("#![no_std]\n{text}\n")
}

/// A line for each fact, so that hashes can leave out the places of packages.
fn manifest_text<'a>(
    package: &Package,
    dependencies: impl IntoIterator<Item = &'a &'a Dependency>,
) -> String {
    let mut text = format!(
        "{MODULE_HEADER}\n[package]\nname = {:?}\nversion = \"0.0.0\"\nedition = {:?}\npublish = false\n\n[workspace]\n",
        package.name, package.edition
    );
    for dependency in dependencies {
        text += &format!("\n[dependencies.{}]\n", dependency.key());
        for (name, value) in dependency.facts() {
            text += &format!("{name} = {value}\n");
        }
    }
    text
}

/// Removes what an earlier version of the module had.
fn remove_others(folder: &Path, kept: &BTreeSet<&PathBuf>) -> Result<(), BuildError> {
    for entry in fs::read_dir(folder).map_err(BuildError::io("list", folder))? {
        let path = entry.map_err(BuildError::io("list", folder))?.path();
        if path.is_dir() {
            remove_others(&path, kept)?;
        } else if !kept.contains(&path) {
            fs::remove_file(&path).map_err(BuildError::io("remove", &path))?;
        }
    }
    Ok(())
}

/// Takes the versions of the package's dependencies, if they or the module's dependencies have changed: cargo removes from the
/// copy what the module does not need.
fn take_versions(lock: &Path, copy: &Path, has_others: bool) -> Result<(), BuildError> {
    let modified = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    if lock.is_file() && (has_others || modified(copy) < modified(lock)) {
        fs::copy(lock, copy).map_err(BuildError::io("write", copy))?;
    }
    Ok(())
}

impl Dependency {
    /// The name before `=` in a manifest.
    fn key(&self) -> &str {
        self.rename.as_ref().unwrap_or(&self.name)
    }

    /// Whether the kernels use it, as far as the paths in their source tell.
    fn is_named_in(&self, text: &str) -> bool {
        let key = self.key().replace('-', "_");
        let library = self.name.strip_prefix(PREFIX);
        self.kind.is_none()
            && self.is_for_gpu()
            && (self.name == CUDA_STD
                || is_crate_in(&key, text)
                || library.is_some_and(|name| is_crate_in(&name.replace('-', "_"), text)))
    }

    /// What a manifest says of it.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let mut facts = vec![("package", quoted(&self.name))];
        let source = self.source.as_deref().unwrap_or_default();
        if let Some(path) = &self.path {
            facts.push(("path", quoted(&path.to_string_lossy())));
        } else if let Some(git) = source.strip_prefix("git+") {
            let (url, query) = git.split_once('?').unwrap_or((git, ""));
            facts.push(("git", quoted(url.split('#').next().unwrap_or(url))));
            for part in query.split('#').next().unwrap_or_default().split('&') {
                for name in ["branch", "tag", "rev"] {
                    if let Some(value) = part
                        .strip_prefix(name)
                        .and_then(|rest| rest.strip_prefix('='))
                    {
                        facts.push((name, quoted(value)));
                    }
                }
            }
        } else {
            facts.push(("version", quoted(&self.req)));
            if let Some(registry) = &self.registry {
                facts.push(("registry-index", quoted(registry)));
            }
        }
        if !self.features.is_empty() {
            facts.push(("features", format!("{:?}", self.features)));
        }
        if !self.uses_default_features {
            facts.push(("default-features", "false".to_owned()));
        }
        facts
    }
}

/// Whether a name is that of a crate in a source text: it begins a path, or follows `use` or
/// `crate`. Variables, and words in comments, may have the names of crates.
fn is_crate_in(name: &str, text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut code = text.lines().map(|line| match line.split_once("//") {
        // A string may have slashes.
        Some((code, _)) if !code.contains('"') => code,
        _ => line,
    });
    code.any(|line| {
        line.match_indices(name).any(|(at, _)| {
            let (before, behind) = (&line[..at], &line[at + name.len()..]);
            let root = before.strip_suffix("::").unwrap_or(before);
            let is_inside = root.len() < before.len() && root.ends_with(is_part);
            if is_inside || before.ends_with(is_part) || behind.starts_with(is_part) {
                return false;
            }
            let last_word = root.trim_end().rsplit(|c| !is_part(c)).next();
            behind.trim_start().starts_with("::") || matches!(last_word, Some("use" | "crate"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A package `app` with kernels in a module, and two packages that it depends on.
    fn package(root: &Path) -> PathBuf {
        let app = root.join("app");
        let manifest = "[package]\nname = \"app\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\
            [dependencies]\nmine = { package = \"helper\", path = \"../helper\", default-features = false }\n\
            host = { path = \"../other\", package = \"other\" }\n[workspace]\n";
        for (name, text) in [
            ("Cargo.toml", manifest),
            ("src/lib.rs", "pub mod gpu;"),
            ("src/gpu/mod.rs", "pub mod kernels;"),
            (
                "src/gpu/kernels.rs",
                "pub mod parts; use mine::f; // host_side",
            ),
            ("src/gpu/kernels/parts.rs", ""),
            ("src/gpu/kernels/table.bin", "1"),
        ] {
            let path = app.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        for name in ["helper", "other"] {
            let folder = root.join(name);
            fs::create_dir_all(folder.join("src")).unwrap();
            let manifest = format!("[package]\nname = {name:?}\nversion = \"1.0.0\"\n");
            fs::write(folder.join("Cargo.toml"), manifest).unwrap();
            fs::write(folder.join("src/lib.rs"), "").unwrap();
        }
        app
    }

    #[test]
    fn a_module_becomes_a_crate_with_what_it_names() {
        let root = tempfile::tempdir().unwrap();
        let app = package(root.path());
        let file = app.join("src/gpu/kernels.rs");
        let written = write(&file).unwrap();
        let read = |name: &str| fs::read_to_string(written.folder.join(name)).unwrap();
        assert_eq!(
            read("src/lib.rs"),
            "#![no_std]\npub mod gpu { pub mod kernels; }\n"
        );
        let manifest = read("Cargo.toml");
        assert!(
            manifest.contains("[dependencies.mine]\npackage = \"helper\"\npath = "),
            "{manifest}"
        );
        assert!(
            manifest.contains("default-features = false") && !manifest.contains("other"),
            "{manifest}"
        );
        assert!(manifest.contains("name = \"app\""));
        let app = app.canonicalize().unwrap();
        let originals: Vec<_> = written
            .originals
            .values()
            .map(|path| path.strip_prefix(&app).unwrap())
            .collect();
        for name in [
            "Cargo.toml",
            "src/gpu/kernels.rs",
            "src/gpu/kernels/parts.rs",
            "src/gpu/kernels/table.bin",
        ] {
            assert!(originals.contains(&Path::new(name)), "{originals:?}");
        }
        fs::remove_file(app.join("src/gpu/kernels/table.bin")).unwrap();
        write(&file).unwrap();
        assert!(!written.folder.join("src/gpu/kernels/table.bin").exists());
    }

    #[test]
    fn what_is_no_module_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let app = package(root.path());
        let error = |name: &str| write(&app.join(name)).err().unwrap().to_string();
        assert!(error("src/lib.rs").contains("take `CudaBuilder::new`"));
        assert!(error("src/none.rs").contains("cannot find"));
        assert_eq!(module_path(Path::new("src/a/mod.rs")).unwrap(), ["a"]);
        assert_eq!(module_path(Path::new("kernels.rs")), None);
    }

    #[test]
    fn versions_come_from_where_the_package_has_them() {
        let dependency = |source: &str| Dependency {
            name: "some-crate".to_owned(),
            rename: None,
            req: "^1.2".to_owned(),
            path: None,
            kind: None,
            target: None,
            source: Some(source.to_owned()),
            registry: None,
            features: vec!["a".to_owned()],
            uses_default_features: true,
        };
        let git = dependency("git+https://example.org/x?rev=12#345");
        let facts = [
            ("package", "\"some-crate\"".to_owned()),
            ("git", "\"https://example.org/x\"".to_owned()),
            ("rev", "\"12\"".to_owned()),
            ("features", "[\"a\"]".to_owned()),
        ];
        assert_eq!(git.facts(), facts);
        let registry = dependency("registry+https://github.com/rust-lang/crates.io-index");
        assert_eq!(registry.facts()[1], ("version", "\"^1.2\"".to_owned()));
        assert!(git.is_named_in("use some_crate::f;"));
    }

    #[test]
    fn crates_are_named_by_paths() {
        for code in [
            "use half::f16;",
            "use half as h;",
            "extern crate half;",
            "let x = half::f16::ZERO;",
            "let x: &[::half::f16] = \"//\"; // half",
            "use {libm::sin, half::f16};",
            "half ::f16",
        ] {
            assert!(is_crate_in("half", code), "{code}");
        }
        for code in [
            "let mut half = BLOCK / 2; // half::f16",
            "/// See `half::f16`.",
            "use cuda_std::half::f16;",
            "half_::f16; a_half::f16; halfs::f16",
            "pub(crate) half: f32,",
            "crate::half::f16",
        ] {
            assert!(!is_crate_in("half", code), "{code}");
        }
    }

    #[test]
    fn the_hash_is_of_contents_not_of_places() {
        let roots = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [one, two] = roots.each_ref().map(|root| package(root.path()));
        let sources = |app: &Path| {
            let file = app.join("src/gpu/kernels.rs");
            CudaBuilder::module(file).source_hash().unwrap()
        };
        let first = sources(&one);
        assert_eq!(first.hash, sources(&two).hash);
        let helper = two.parent().unwrap().join("helper");
        let library = helper.join("src/lib.rs").canonicalize().unwrap();
        assert!(sources(&two).files.contains(&library));

        let manifest = fs::read_to_string(two.join("Cargo.toml")).unwrap();
        let moved = manifest.replace("../helper", "../elsewhere/helper");
        fs::create_dir(roots[1].path().join("elsewhere")).unwrap();
        fs::rename(&helper, roots[1].path().join("elsewhere/helper")).unwrap();
        fs::write(two.join("Cargo.toml"), &moved).unwrap();
        assert_eq!(first.hash, sources(&two).hash);
        let other = moved.replace("default-features = false", "default-features = true");
        fs::write(two.join("Cargo.toml"), other).unwrap();
        assert_ne!(first.hash, sources(&two).hash, "features count");
        fs::write(two.join("Cargo.toml"), moved).unwrap();

        let library = roots[1].path().join("elsewhere/helper/src/lib.rs");
        fs::write(library, "// changed").unwrap();
        assert_ne!(
            first.hash,
            sources(&two).hash,
            "a dependency's source counts"
        );
        fs::write(one.join("src/gpu/kernels/parts.rs"), "// changed").unwrap();
        assert_ne!(first.hash, sources(&one).hash, "the module's source counts");
    }
}
