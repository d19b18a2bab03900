//! Builds, runs and tests the crates that a reader would copy from the guide's pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use ::new_kernel::Checkout;
use cuda_builder::DeviceCompiler;
use toml::Table;

use crate::{Result, cargo, race, workspace};

/// Arguments of cargo.
type Arguments = &'static [&'static str];

/// A crate of a page, and how it is checked.
struct Crate {
    /// Its folder, in `target/guide` and at the beginning of its files' names on the page.
    name: &'static str,
    /// Whether it is the crate with the changes for shipping.
    is_shipped: bool,
    page: &'static str,
    /// The commands that cargo runs in it.
    runs: &'static [Arguments],
    /// More commands, if there is a device compiler.
    runs_of_device: &'static [Arguments],
    /// Whether its kernels are compiled for the race detector.
    finds_races: bool,
}

/// The crates of a page stand together. Files whose names begin with no crate's name belong to the
/// first one.
const CRATES: [Crate; 9] = [
    Crate {
        name: "row_sums",
        is_shipped: false,
        page: "your-own-kernels.md",
        runs: &[
            &["fmt", "--check"],
            &["test"],
            &["run", "--example", "time"],
        ],
        runs_of_device: &[&["check", "--all-targets", "--features", "cuda"]],
        finds_races: false,
    },
    Crate {
        name: "row_sums",
        is_shipped: true,
        page: "your-own-kernels.md",
        runs: &[&["build"]],
        runs_of_device: &[
            &["run", "-p", "build_ptx"],
            &["test"],
            &["check", "--all-targets", "--features", "cuda"],
        ],
        finds_races: false,
    },
    Crate {
        name: "energy",
        is_shipped: false,
        page: "your-own-kernels.md",
        runs: &[&["run"]],
        runs_of_device: &[&["check", "--features", "cuda"]],
        finds_races: false,
    },
    Crate {
        name: "samples",
        is_shipped: false,
        page: "coming-from-cuda.md",
        runs: &[&["fmt", "--check"], &["test"]],
        runs_of_device: &[],
        finds_races: false,
    },
    Crate {
        name: "points",
        is_shipped: false,
        page: "coming-from-rust-cuda.md",
        runs: &[&["run"]],
        runs_of_device: &[],
        finds_races: false,
    },
    Crate {
        name: "neighbour",
        is_shipped: false,
        page: "simulator.md",
        runs: &[&["test"]],
        runs_of_device: &[],
        finds_races: false,
    },
    Crate {
        name: "races",
        is_shipped: false,
        page: "simulator.md",
        runs: &[&["test", "--test", "*", "--features", "simt/race-detector"]],
        runs_of_device: &[],
        finds_races: true,
    },
    Crate {
        name: "mistakes",
        is_shipped: false,
        page: "mistakes.md",
        runs: &[&["fmt", "--check"], &["test"]],
        runs_of_device: &[],
        finds_races: false,
    },
    Crate {
        name: "gemm_time",
        is_shipped: false,
        page: "profiling.md",
        // Its program is a doc test too, which runs it.
        runs: &[&["check", "--features", "cuda"]],
        runs_of_device: &[],
        finds_races: false,
    },
];

/// Follows the name of a file that replaces another one in the shipped crate. From the first such
/// file on, all files belong only to the shipped crate.
const SHIPPED: &str = ", to be shipped";

/// The page that explains the crates that `gridstride new` writes, and their files beside those on the page.
const TEMPLATE: (&str, [&str; 2]) = ("your-own-kernels.md", [".gitignore", "README.md"]);

/// The commands that cargo runs in a new crate. Clippy lints its tests and benchmark too.
const RUNS_OF_NEW: [Arguments; 2] = [&["test"], &["test", "--benches"]];

/// The name of the crate that is made from the template.
const NEW: &str = "blur";

/// Makes the named crates of the guide, or all, from their pages, against the packages of this
/// workspace, and has cargo test them.
pub fn check(names: &[String]) -> Result<()> {
    let known: BTreeSet<_> = CRATES.iter().map(|known| known.name).chain([NEW]).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&***name)) {
        let known: Vec<_> = known.into_iter().collect();
        let known = known.join(", ");
        return Err(format!("`{unknown}` is not among the guide's crates {known}").into());
    }
    let is_chosen = |name: &str| names.is_empty() || names.iter().any(|chosen| chosen == name);
    let pages = pages()?;
    let library = fs::read_to_string(workspace().join("src/lib.rs"))?;
    for (name, page) in &pages {
        let is_tested = library.contains(&format!("../{name}"));
        if let (Some(line), false) = (page.other_rust, is_tested) {
            let message = "neither a file under its name nor a doc test of src/lib.rs";
            return Err(format!("{name}, line {line}: this Rust is {message}").into());
        }
        let is_known = CRATES.iter().any(|known| guide(known.page) == *name);
        if !page.files.is_empty() && !is_known {
            return Err(format!("{name} has files of no known crate").into());
        }
        for excerpt in &page.excerpts {
            excerpt
                .check(&workspace())
                .map_err(|error| format!("{name}, {error}"))?;
        }
    }
    check_template(&pages)?;
    if is_chosen(NEW) {
        run_new()?;
    }
    let has_device_compiler = has_device_compiler()?;
    for of_guide in CRATES.iter().filter(|known| is_chosen(known.name)) {
        let page = pages
            .get(&guide(of_guide.page))
            .ok_or_else(|| format!("there is no docs/guide/{}", of_guide.page))?;
        let files = files(of_guide, page)?;
        let folder = workspace().join("target/guide").join(of_guide.name);
        write(&files, &folder)?;
        let of_device = has_device_compiler.then_some(of_guide.runs_of_device);
        for arguments in of_guide.runs.iter().chain(of_device.unwrap_or_default()) {
            let shipped = if of_guide.is_shipped { SHIPPED } else { "" };
            println!("{}{shipped}: cargo {}", of_guide.name, arguments.join(" "));
            run(arguments, of_guide.finds_races, &folder)?;
        }
    }
    Ok(())
}

/// Checks that a new crate is the one that the page explains.
fn check_template(pages: &BTreeMap<String, Page>) -> Result<()> {
    let (name, others) = TEMPLATE;
    let page = pages
        .get(&guide(name))
        .ok_or_else(|| format!("there is no docs/guide/{name}"))?;
    for (file, text) in ::new_kernel::files("row_sums", &Checkout::Beside) {
        let explained = page.files.iter().find(|(name, _)| *name == file);
        if !others.contains(&&*file) && explained.is_none_or(|(_, explained)| *explained != text) {
            let template = "crates/new_kernel/template";
            return Err(
                format!("docs/guide/{name} does not have {file} as it is in {template}").into(),
            );
        }
    }
    Ok(())
}

/// Runs the tests of a crate that `gridstride new` writes.
fn run_new() -> Result<()> {
    let files = ::new_kernel::files(NEW, &Checkout::Beside);
    let folder = workspace().join("target/guide").join(NEW);
    write(&files.into_iter().collect(), &folder)?;
    for arguments in RUNS_OF_NEW {
        println!("{NEW}, as new: cargo {}", arguments.join(" "));
        run(arguments, false, &folder)?;
    }
    Ok(())
}

/// Whether there is a device compiler. With `CUDA_BUILDER_REQUIRE=1` a missing one is an error.
fn has_device_compiler() -> Result<bool> {
    match DeviceCompiler::discover() {
        Ok(_) => Ok(true),
        Err(error) if std::env::var("CUDA_BUILDER_REQUIRE").is_ok_and(|value| value == "1") => {
            Err(format!("CUDA_BUILDER_REQUIRE is set, but {error}").into())
        }
        Err(error) => {
            println!("nothing is compiled to PTX: {error}");
            Ok(false)
        }
    }
}

/// The code of a page of the guide.
#[derive(Default)]
struct Page {
    /// The names of files as they are in its headings, and their texts.
    files: Vec<(String, String)>,
    /// The files that it lists as a tree of folders, if it does.
    listed: Option<BTreeSet<String>>,
    /// Its excerpts from files of the repository.
    excerpts: Vec<Excerpt>,
    /// The line of the first block of Rust that is neither such a file nor an excerpt.
    other_rust: Option<usize>,
}

/// A block below a line that ends with a link to a file and a colon.
struct Excerpt {
    line: usize,
    /// The file, from the folder of the repository.
    source: String,
    text: String,
}

impl Excerpt {
    /// Fails if the file does not have these lines.
    fn check(&self, repository: &Path) -> Result<()> {
        let Excerpt { line, source, text } = self;
        let file = fs::read_to_string(repository.join(source))
            .map_err(|error| format!("line {line}: cannot read {source}: {error}"))?;
        match format!("\n{file}").contains(&format!("\n{text}")) {
            true => Ok(()),
            false => Err(format!("line {line}: {source} does not have these lines").into()),
        }
    }
}

/// The folders of pages, and how links in them name the folder of the repository.
const FOLDERS: [(&str, &str); 2] = [("docs/guide", "../../"), ("learn", "../")];

/// The path of a page of the guide.
fn guide(name: &str) -> String {
    format!("docs/guide/{name}")
}

/// All pages, by their paths in the repository.
fn pages() -> Result<BTreeMap<String, Page>> {
    let mut pages = BTreeMap::new();
    for (folder, root) in FOLDERS {
        for entry in fs::read_dir(workspace().join(folder))? {
            let entry = entry?;
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if name.ends_with(".md") {
                let page = Page::read(&fs::read_to_string(entry.path())?, root)
                    .map_err(|error| format!("{name}, {error}"))?;
                pages.insert(name, page);
            }
        }
    }
    Ok(pages)
}

impl Page {
    /// A file is a block whose heading, right above it, begins with a name in backquotes.
    /// `root` is how links name the folder of the repository.
    fn read(text: &str, root: &str) -> Result<Page> {
        let mut page = Page::default();
        let mut heading = None;
        let mut above = "";
        let mut lines = text.lines().enumerate();
        while let Some((index, line)) = lines.next() {
            if let Some(language) = line.strip_prefix("```") {
                let block: Vec<&str> = (lines.by_ref().map(|(_, line)| line))
                    .take_while(|line| *line != "```")
                    .collect();
                let source = linked_file(std::mem::take(&mut above), root);
                if let Some(name) = heading.take() {
                    page.files.push((name, block.join("\n") + "\n"));
                } else if let Some(source) = source {
                    page.excerpts.push(Excerpt {
                        line: index + 1,
                        source,
                        text: block.join("\n") + "\n",
                    });
                } else if language.starts_with("rust") {
                    page.other_rust.get_or_insert(index + 1);
                } else if language == "text"
                    && block.first().is_some_and(|line| line.ends_with('/'))
                {
                    page.listed = Some(listed(&block[1..]));
                }
            } else if !line.is_empty() {
                if let Some(name) = heading {
                    return Err(format!("line {}: no file follows {name}", index + 1).into());
                }
                heading = file_name(line);
                above = line;
            }
        }
        Ok(page)
    }
}

/// The name of a file in a heading, with what stands behind it.
fn file_name(line: &str) -> Option<String> {
    let (name, rest) = line.strip_prefix("### `")?.split_once('`')?;
    Some(format!("{name}{rest}"))
}

/// The file of the repository whose link is at the end of a line, before a colon.
fn linked_file(line: &str, root: &str) -> Option<String> {
    let (_, link) = line.strip_suffix("):")?.rsplit_once("](")?;
    let source = link.strip_prefix(root)?;
    (!source.contains('#')).then(|| source.to_owned())
}

/// The files of a tree: a line for each file or folder, which are indented by two, and may be
/// explained.
fn listed(lines: &[&str]) -> BTreeSet<String> {
    let mut folders = Vec::new();
    let mut files = BTreeSet::new();
    for line in lines {
        let name = line.split_whitespace().next().unwrap_or_default();
        let depth = (line.len() - line.trim_start().len()) / 2;
        folders.truncate(depth.saturating_sub(1));
        if name.ends_with('/') {
            folders.push(name);
        } else {
            files.insert(folders.concat() + name);
        }
    }
    files
}

/// The files of a crate, by their names within it.
fn files(of_guide: &Crate, page: &Page) -> Result<BTreeMap<String, String>> {
    let of_page = || CRATES.iter().filter(|known| known.page == of_guide.page);
    let first = of_page().next().map_or(of_guide.name, |first| first.name);
    let mut files = BTreeMap::new();
    let mut is_behind = false;
    for (name, text) in &page.files {
        let owner = name
            .split_once('/')
            .filter(|(folder, _)| of_page().any(|known| known.name == *folder));
        let (owner, name) = owner.unwrap_or((first, name));
        if owner != of_guide.name {
            continue;
        }
        let replaced = name.strip_suffix(SHIPPED);
        is_behind |= replaced.is_some();
        if of_guide.is_shipped || !is_behind {
            files.insert(replaced.unwrap_or(name).to_owned(), text.clone());
        }
    }
    if let (Some(listed), true) = (&page.listed, of_guide.name == first && !of_guide.is_shipped) {
        let present = files.keys().cloned().collect();
        let page = of_guide.page;
        if let Some(missing) = listed.difference(&present).next() {
            return Err(format!("docs/guide/{page} lists {missing}, but does not have it").into());
        }
        if let Some(surplus) = present.difference(listed).next() {
            return Err(format!("docs/guide/{page} has {surplus}, but does not list it").into());
        }
    }
    Ok(files)
}

/// Writes a crate anew, such that cargo takes the packages of this workspace for those of the
/// checkout beside it, and compiles all others in the versions and with the profiles of this
/// workspace, in place of the page's profiles.
fn write(files: &BTreeMap<String, String>, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        let text = match name.ends_with("Cargo.toml") {
            true => with_workspace(name, text, &workspace())?,
            false => text.clone(),
        };
        fs::write(path, text)?;
    }
    let path = folder.join("Cargo.toml");
    let mut manifest = read_manifest(&path)?;
    // Without this table, the crate would belong to the workspace around it.
    manifest
        .entry("workspace")
        .or_insert_with(|| Table::new().into());
    if let Some(profiles) = read_manifest(&workspace().join("Cargo.toml"))?.remove("profile") {
        manifest.insert("profile".into(), profiles);
    }
    fs::write(path, toml::to_string(&manifest)?)?;
    fs::copy(workspace().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    Ok(())
}

fn read_manifest(path: &Path) -> Result<Table> {
    let text = fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(text.parse()?)
}

/// The manifest `name` of a crate, with the folder `workspace` in place of the checkout that the
/// guide expects beside the crate.
fn with_workspace(name: &str, manifest: &str, workspace: &Path) -> Result<String> {
    let up = "../".repeat(name.split('/').count());
    let own = format!("path = \"{}", workspace.display());
    let manifest = manifest.replace(&format!("path = \"{up}gridstride"), &own);
    match manifest.lines().find(|line| line.contains("../gridstride")) {
        None => Ok(manifest),
        Some(line) => Err(format!("{name}: `{line}` is not the folder beside the crate").into()),
    }
}

/// Runs cargo in a folder, with the target folder of the workspace, so that compiled crates are
/// shared. Clippy compiles the packages of the folder; with `finds_races`, the race detector's
/// compiler does.
fn run(arguments: &[&str], finds_races: bool, folder: &Path) -> Result<()> {
    let mut command = cargo::command();
    command.env("CARGO_TARGET_DIR", cargo::target());
    match finds_races {
        // Its reports name lines.
        true => command
            .envs(race::environment())
            .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only"),
        false => command
            .env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver")
            .env("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__"),
    };
    let status = command
        .args(&arguments[..1])
        .arg("--quiet")
        .args(&arguments[1..])
        .current_dir(folder)
        .status()?;
    if !status.success() {
        let command = arguments.join(" ");
        return Err(format!("cargo {command} failed in {}", folder.display()).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A page

```text
sums/
  Cargo.toml    the manifest
  .cargo/config.toml
  kernels/      for the GPU
    src/lib.rs
  build.rs
```

### `Cargo.toml`

```toml
[package]

[features]
```

```rust,no_run
fn main() {}
```
";

    #[test]
    fn a_file_has_its_name_above_it() {
        let page = Page::read(PAGE, "../../").unwrap();
        let text = "[package]\n\n[features]\n".to_owned();
        assert_eq!(page.files, [("Cargo.toml".to_owned(), text)]);
        assert_eq!(page.other_rust, Some(20));
    }

    #[test]
    fn an_excerpt_must_be_in_its_file() {
        let check = |code: &str| {
            let text =
                format!("Rust, [`guide`](../../xtask/src/guide.rs):\n\n```rust\n{code}\n```\n");
            let page = Page::read(&text, "../../").unwrap();
            assert_eq!(page.other_rust, None);
            page.excerpts[0].check(&workspace())
        };
        check("/// Arguments of cargo.\ntype Arguments = &'static [&'static str];").unwrap();
        let error = check("type Arguments = [&'static str];").unwrap_err();
        let expected = "line 3: xtask/src/guide.rs does not have these lines";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_name_without_a_file_is_an_error() {
        let error = Page::read("### `build.rs`\n\nCompiles:\n", "../../")
            .err()
            .unwrap();
        assert_eq!(error.to_string(), "line 3: no file follows build.rs");
    }

    #[test]
    fn a_file_that_the_tree_lists_must_be_there() {
        let page = Page::read(PAGE, "../../").unwrap();
        let listed = [
            ".cargo/config.toml",
            "Cargo.toml",
            "build.rs",
            "kernels/src/lib.rs",
        ];
        assert_eq!(
            page.listed.clone().unwrap(),
            listed.map(str::to_owned).into()
        );
        let error = files(&CRATES[0], &page).unwrap_err().to_string();
        let expected =
            "docs/guide/your-own-kernels.md lists .cargo/config.toml, but does not have it";
        assert_eq!(error, expected);
    }

    #[test]
    fn the_checkout_is_beside_the_crate() {
        let replaced = |name, manifest| with_workspace(name, manifest, Path::new("/w"));
        let beside = replaced("Cargo.toml", "a = { path = \"../gridstride\" }").unwrap();
        assert_eq!(beside, "a = { path = \"/w\" }");
        let inner = "a = { path = \"../../gridstride/crates/a\" }";
        let beside = replaced("kernels/Cargo.toml", inner).unwrap();
        assert_eq!(beside, "a = { path = \"/w/crates/a\" }");
        assert!(replaced("Cargo.toml", inner).is_err());
    }
}
