//! The one way through the host code of all kernels, calls → input → dispatch → partition → cpu or
//! gpu, as rules about which file of a kernel's crate imports which.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::safety::sources;

/// Returns the kernels: the crates with a `dispatch.rs`.
fn kernels() -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let mut kernels = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        let path = entry.unwrap().path();
        if path.join("src/dispatch.rs").exists() {
            kernels.push(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
    }
    assert!(kernels.len() >= 7, "{kernels:?}");
    kernels
}

/// Files or folders with a place in the order, and those that they must not import. All other files
/// of a kernel are concepts that any file may import, so that they import none of these.
const ROLES: [(&str, &[&str]); 6] = [
    ("calls", &["partition", "cpu", "gpu"]),
    ("input", &["calls", "dispatch", "partition", "cpu", "gpu"]),
    ("dispatch", &["calls"]),
    ("partition", &["calls", "dispatch", "cpu", "gpu"]),
    ("cpu", &["calls", "dispatch", "partition", "gpu"]),
    ("gpu", &["calls", "dispatch", "partition", "cpu"]),
];

/// Files other than `input.rs` that make errors of arguments, and why.
const MAKE_ERRORS: [(&str, &str); 5] = [
    (
        "tensor_sketch/session/mod.rs",
        "knows the state of a session",
    ),
    ("tensor_sketch/tables.rs", "makes a public argument"),
    ("time_series/fill.rs", "parses a text"),
    ("time_series/method.rs", "parses a text"),
    ("time_series/output/serialized.rs", "reads a file"),
];

/// The words and signs of a source without comments, texts, and code for tests.
fn tokens(source: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' => {
                let mut end = 1;
                while !rest[end..].starts_with('"') {
                    end += 1 + usize::from(rest[end..].starts_with('\\'));
                    end = (end..).find(|&end| rest.is_char_boundary(end)).unwrap();
                }
                end + 1
            }
            '\'' => {
                let end = rest[1..].char_indices().nth(1).map_or(1, |(at, _)| at + 1);
                match () {
                    () if rest[1..].starts_with('\\') => 3 + rest[3..].find('\'').unwrap() + 1,
                    () if rest[end..].starts_with('\'') => end + 1,
                    () => 1,
                }
            }
            _ if first.is_whitespace() => first.len_utf8(),
            _ => {
                let length = match word.unwrap_or(rest.len()) {
                    0 if rest.starts_with("::") => 2,
                    0 => first.len_utf8(),
                    length => length,
                };
                tokens.push(rest[..length].to_owned());
                length
            }
        };
        rest = &rest[length..];
    }
    without_tests(&tokens)
}

fn without_tests(tokens: &[String]) -> Vec<String> {
    let is_test = |rest: &[String]| {
        let starts = |words: &[&str]| rest.iter().take(words.len()).eq(words);
        starts(&["#", "[", "cfg", "(", "test"])
            || starts(&["#", "[", "cfg", "(", "all", "(", "test"])
    };
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        if is_test(&tokens[at..]) {
            // To the end of the item.
            let mut depth = 0;
            at += tokens[at..].iter().position(|token| token == "]").unwrap() + 1;
            loop {
                at += 1;
                match tokens[at - 1].as_str() {
                    "{" => depth += 1,
                    "}" => depth -= 1,
                    ";" => {}
                    _ => continue,
                }
                if depth == 0 {
                    break;
                }
            }
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

type ItemPath = Vec<String>;

/// A file of a crate, with the module that it is.
struct File {
    path: String,
    tokens: Vec<String>,
    /// What `use` names, with the name.
    uses: Vec<(String, ItemPath)>,
    /// Other paths.
    paths: Vec<ItemPath>,
}

/// Reads the tree of a `use` up to its end. Returns the index behind it.
fn read_use(
    tokens: &[String],
    mut at: usize,
    start: ItemPath,
    found: &mut Vec<(String, ItemPath)>,
) -> usize {
    let mut path = start.clone();
    let mut name = None;
    loop {
        match tokens[at].as_str() {
            "{" => {
                at = read_use(tokens, at + 1, path.clone(), found);
                (path, name) = (start.clone(), None);
                continue;
            }
            sign @ ("," | "}" | ";") => {
                if path != start {
                    path.pop_if(|last| last == "self");
                    let last = path.last().unwrap().clone();
                    found.push((name.take().unwrap_or(last), path));
                }
                if sign != "," {
                    return at + usize::from(sign == "}");
                }
                path = start.clone();
            }
            "::" => {}
            "as" => {
                at += 1;
                name = Some(tokens[at].clone());
            }
            word => path.push(word.to_owned()),
        }
        at += 1;
    }
}

impl File {
    fn new(path: &str, source: &str) -> File {
        let tokens = tokens(source);
        let (mut uses, mut paths) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < tokens.len() {
            if tokens[at] == "use" {
                at = read_use(&tokens, at + 1, Vec::new(), &mut uses);
            } else if tokens.get(at + 1).is_some_and(|next| next == "::") && tokens[at] != "::" {
                let mut path = vec![tokens[at].clone()];
                while tokens.get(at + 1).is_some_and(|next| next == "::") {
                    path.push(tokens[at + 2].clone());
                    at += 2;
                }
                paths.push(path);
            }
            at += 1;
        }
        File {
            path: path.to_owned(),
            tokens,
            uses,
            paths,
        }
    }

    fn defines(&self, name: &str) -> bool {
        let kinds = ["struct", "enum", "trait", "fn", "type", "const", "static"];
        let mut pairs = self.tokens.windows(2);
        pairs.any(|pair| pair[1] == name && kinds.contains(&pair[0].as_str()))
    }

    fn has(&self, words: &[&str]) -> bool {
        self.tokens.windows(words.len()).any(|found| found == words)
    }
}

/// The files of a crate by their modules.
struct Files(BTreeMap<ItemPath, File>);

impl Files {
    /// Reads the sources of `crates/<name>`. The paths of the files begin with the name.
    fn read(name: &str) -> Files {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("crates")
            .join(name)
            .join("src");
        let mut files = BTreeMap::new();
        sources(&root, &root, &mut |path, source| {
            let mut module: ItemPath = path
                .trim_end_matches(".rs")
                .split('/')
                .map(str::to_owned)
                .collect();
            module.pop_if(|last| last == "mod" || last == "lib");
            if module.last().is_none_or(|last| last != "tests") {
                files.insert(module, File::new(&format!("{name}/{path}"), source));
            }
        });
        Files(files)
    }

    /// Returns the path of a name from the root of the crate, or `None` for other crates.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<ItemPath> {
        let mut base = module.to_vec();
        let rest = match path[0].as_str() {
            "crate" => {
                base.clear();
                &path[1..]
            }
            "self" => &path[1..],
            "super" => {
                let levels = path.iter().take_while(|part| *part == "super").count();
                base.truncate(base.len() - levels);
                &path[levels..]
            }
            _ => {
                let child = [module, &path[..1]].concat();
                self.0.contains_key(&child).then_some(path)?
            }
        };
        base.extend_from_slice(rest);
        Some(base)
    }

    /// Returns the module that defines what a path names: behind all re-exports, in this crate.
    fn definition(&self, path: &[String]) -> Option<ItemPath> {
        let length = (0..=path.len())
            .rev()
            .find(|&length| self.0.contains_key(&path[..length]))?;
        let (module, rest) = path.split_at(length);
        let (file, Some(name)) = (&self.0[module], rest.first()) else {
            return Some(module.to_vec());
        };
        if file.defines(name) {
            return Some(module.to_vec());
        }
        for (other, target) in &file.uses {
            let target = self.absolute(module, target);
            if other == name {
                return target.and_then(|target| self.definition(&target));
            }
            if other == "*"
                && let Some((_, target)) = target.as_deref().and_then(<[String]>::split_last)
                && self.0.get(target).is_some_and(|file| file.defines(name))
            {
                return Some(target.to_vec());
            }
        }
        Some(module.to_vec())
    }

    /// Returns the modules that a module imports from, except those that it is in or has.
    fn imports(&self, module: &[String]) -> BTreeSet<ItemPath> {
        let file = &self.0[module];
        let paths = file.uses.iter().map(|(_, path)| path).chain(&file.paths);
        let absolute = paths.filter_map(|path| self.absolute(module, path));
        let targets = absolute.filter_map(|path| self.definition(&path));
        let is_near = |other: &ItemPath| other.starts_with(module) || module.starts_with(other);
        targets.filter(|other| !is_near(other)).collect()
    }
}

/// Returns the role of a module, the last of its names that is one.
fn role(module: &[String]) -> Option<&'static str> {
    let role = |name: &String| ROLES.iter().find(|(role, _)| role == name);
    let (role, _) = module.iter().rev().find_map(role)?;
    Some(*role)
}

/// Calls `visit` with each file of each kernel.
fn each_file(mut visit: impl FnMut(&Files, &[String], &File)) {
    for kernel in kernels() {
        let files = Files::read(&kernel);
        for (module, file) in &files.0 {
            visit(&files, module, file);
        }
    }
}

#[test]
fn kernels_import_in_one_direction() {
    let mut wrong = Vec::new();
    each_file(|files, module, file| {
        let role_here = role(module);
        let is_list = file.path.ends_with("mod.rs") || file.path.ends_with("lib.rs");
        if role_here.is_none() && is_list {
            return;
        }
        let of_concepts = ["calls", "dispatch", "partition", "cpu", "gpu"];
        let refused = match role_here {
            None => &of_concepts[..],
            Some(role) => ROLES.iter().find(|(other, _)| *other == role).unwrap().1,
        };
        for other in files.imports(module) {
            if role(&other).is_some_and(|role| refused.contains(&role)) {
                wrong.push(format!("{} imports {}", file.path, files.0[&other].path));
            }
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn only_dispatch_asks_for_the_kind_of_a_device_and_only_input_makes_errors_of_arguments() {
    let mut wrong = Vec::new();
    each_file(|_, module, file| {
        let role = role(module);
        if role != Some("dispatch") && file.has(&["DeviceKind"]) {
            wrong.push(format!("{} has DeviceKind", file.path));
        }
        for name in ["input", "input_at", "Shape"] {
            let makes = file.has(&["Error", "::", name]);
            let may =
                role == Some("input") || MAKE_ERRORS.iter().any(|(path, _)| *path == file.path);
            if makes && !may {
                wrong.push(format!("{} makes an Error::{name}", file.path));
            }
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_files_import_each_other() {
    let mut circles = Vec::new();
    for kernel in kernels() {
        let files = Files::read(&kernel);
        let imports: BTreeMap<_, _> = (files.0.keys())
            .map(|module| (module, files.imports(module)))
            .collect();
        for (module, direct) in &imports {
            for other in direct {
                let (mut seen, mut next) = (BTreeSet::new(), vec![other]);
                while let Some(reached) = next.pop() {
                    if seen.insert(reached) {
                        next.extend(&imports[reached]);
                    }
                }
                if seen.contains(module) {
                    circles.push(format!(
                        "{} imports {}",
                        files.0[*module].path, files.0[other].path
                    ));
                }
            }
        }
    }
    assert!(
        circles.is_empty(),
        "these lead back to themselves: {circles:#?}"
    );
}

#[test]
fn imports_are_read() {
    let source = r#"
        // use crate::no;
        use crate::a::{self, b::{C, D as E}, f::*};
        pub(super) use g::H;
        #[cfg(test)]
        mod tests { use crate::not; }
        fn i<'a>(c: char) -> k::L { super::super::m("use x; \"::y", 'z', '\n', '"') }
    "#;
    let file = File::new("file.rs", source);
    let text = |path: &ItemPath| path.join("::");
    let uses = file
        .uses
        .iter()
        .map(|(name, path)| format!("{name} {}", text(path)));
    let expected = [
        "a crate::a",
        "C crate::a::b::C",
        "E crate::a::b::D",
        "* crate::a::f::*",
        "H g::H",
    ];
    assert_eq!(uses.collect::<Vec<_>>(), expected);
    assert!(file.paths.iter().map(text).eq(["k::L", "super::super::m"]));
}
