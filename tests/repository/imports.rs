//! Reads which file of a crate imports which.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::safety::sources;

/// Appends the words and signs of a source. `::` is one sign. Texts and numbers are left out.
fn flatten(stream: TokenStream, tokens: &mut Vec<String>) {
    for tree in stream {
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Parenthesis | Delimiter::None => ("(", ")"),
                };
                tokens.push(open.to_owned());
                flatten(group.stream(), tokens);
                tokens.push(close.to_owned());
            }
            TokenTree::Punct(sign) if sign.as_char() == ':' => match tokens.last_mut() {
                Some(last) if last == ":" => last.push(':'),
                _ => tokens.push(":".to_owned()),
            },
            TokenTree::Literal(_) => {}
            other => tokens.push(other.to_string()),
        }
    }
}

/// Returns the tokens of a source without comments, texts, and code for tests.
fn tokens(source: &str) -> Vec<String> {
    let stream: TokenStream = source.parse().expect("the source is Rust");
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
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
            while at < tokens.len() {
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

pub type ItemPath = Vec<String>;

/// A file of a crate.
pub struct File {
    pub path: String,
    tokens: Vec<String>,
    /// The names that `use` declares, with the paths.
    uses: Vec<(String, ItemPath)>,
    /// All other paths.
    paths: Vec<ItemPath>,
}

/// Appends the names and paths of a `use`. Returns the index of the token behind it.
fn read_use(
    tokens: &[String],
    mut at: usize,
    start: ItemPath,
    uses: &mut Vec<(String, ItemPath)>,
) -> usize {
    let mut path = start.clone();
    let mut name = None;
    loop {
        match tokens[at].as_str() {
            "{" => {
                at = read_use(tokens, at + 1, path.clone(), uses);
                (path, name) = (start.clone(), None);
                continue;
            }
            sign @ ("," | "}" | ";") => {
                if path != start {
                    path.pop_if(|last| last == "self");
                    let last = path.last().map_or("self", String::as_str).to_owned();
                    uses.push((name.take().unwrap_or(last), path));
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
        // For each open brace, whether it is that of a module within the file, which counts as part
        // of the file.
        let mut braces: Vec<bool> = Vec::new();
        let outside = |mut path: ItemPath, braces: &[bool]| {
            for _ in braces.iter().filter(|is_module| **is_module) {
                if path.first().is_some_and(|first| first == "super") {
                    path.remove(0);
                }
            }
            path
        };
        let mut at = 0;
        while at < tokens.len() {
            match tokens[at].as_str() {
                "{" => braces.push(at >= 2 && tokens[at - 2] == "mod"),
                "}" => drop(braces.pop()),
                "use" if tokens[at + 1] != "<" => {
                    let mut read = Vec::new();
                    at = read_use(&tokens, at + 1, Vec::new(), &mut read);
                    let read = read.into_iter();
                    uses.extend(read.map(|(name, path)| (name, outside(path, &braces))));
                }
                first if first != "::" && tokens.get(at + 1).is_some_and(|next| next == "::") => {
                    let mut path = vec![first.to_owned()];
                    while tokens.get(at + 1).is_some_and(|next| next == "::") {
                        path.push(tokens[at + 2].clone());
                        at += 2;
                    }
                    paths.push(outside(path, &braces));
                }
                _ => {}
            }
            at += 1;
        }
        uses.retain(|(_, path)| !path.is_empty());
        paths.retain(|path| !path.is_empty());
        File {
            path: path.to_owned(),
            tokens,
            uses,
            paths,
        }
    }

    fn defines(&self, name: &str) -> bool {
        let kinds = [
            "struct", "enum", "union", "trait", "fn", "type", "const", "static", "mod",
        ];
        let mut pairs = self.tokens.windows(2);
        pairs.any(|pair| pair[1] == name && kinds.contains(&pair[0].as_str()))
            || self.has(&["macro_rules", "!", name])
    }

    pub fn has(&self, words: &[&str]) -> bool {
        self.tokens.windows(words.len()).any(|found| found == words)
    }
}

/// The files of a crate by their modules.
pub struct Files(pub BTreeMap<ItemPath, File>);

impl Files {
    /// Reads the files below a `src`.
    pub fn read(root: &Path) -> Files {
        let mut files = BTreeMap::new();
        sources(root, root, &mut |path, source| {
            let mut module: ItemPath = path
                .trim_end_matches(".rs")
                .split('/')
                .map(str::to_owned)
                .collect();
            module.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
            if !module.iter().any(|name| name == "tests") {
                files.insert(module, File::new(path, source));
            }
        });
        Files(files)
    }

    /// Returns the path of a name from the root of the crate, or `None` for other crates.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<ItemPath> {
        let is_program = module.first().is_some_and(|first| first == "bin");
        let root = if is_program { &module[..2] } else { &[] };
        let mut base = module.to_vec();
        let rest = match path[0].as_str() {
            "crate" => {
                base = root.to_vec();
                &path[1..]
            }
            "self" => &path[1..],
            "super" => {
                let levels = path.iter().take_while(|part| *part == "super").count();
                // A macro may name the module above the one that calls it, which the root lacks.
                base.truncate(base.len().saturating_sub(levels));
                &path[levels..]
            }
            first => {
                let is_child = |first: &String| {
                    let child = [module, std::slice::from_ref(first)].concat();
                    self.0.contains_key(&child)
                };
                if !is_child(&path[0]) {
                    // A name that a `use` declares, unless it is that of another crate.
                    let mut uses = self.0[module].uses.iter();
                    let (_, target) = uses.find(|(name, _)| name == first)?;
                    let is_here = ["crate", "self", "super"].contains(&target[0].as_str());
                    let target = (is_here || is_child(&target[0]))
                        .then(|| self.absolute(module, target))??;
                    return Some([&target, &path[1..]].concat());
                }
                path
            }
        };
        base.extend_from_slice(rest);
        Some(base)
    }

    /// Returns the module that defines what a path names: behind all re-exports, in this crate.
    fn definition(&self, path: &[String]) -> Option<ItemPath> {
        self.find(path, &mut BTreeSet::new()).or_else(|| {
            let lengths = (0..=path.len()).rev();
            let mut modules = lengths.map(|length| &path[..length]);
            modules
                .find(|module| self.0.contains_key(*module))
                .map(<[String]>::to_vec)
        })
    }

    fn find(&self, path: &[String], seen: &mut BTreeSet<ItemPath>) -> Option<ItemPath> {
        if !seen.insert(path.to_vec()) {
            return None;
        }
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
            let Some(mut target) = self.absolute(module, target) else {
                continue;
            };
            if other == "*" {
                target.pop();
            } else if other != name {
                continue;
            }
            let rest = &rest[usize::from(other != "*")..];
            let found = self.find(&[&target[..], rest].concat(), seen);
            if found.is_some() {
                return found;
            }
        }
        // A macro that is exported is at the root, wherever it stands.
        let is_exported = |file: &File| file.has(&["macro_rules", "!", name]);
        let mut exports = self.0.iter().filter(|(_, file)| is_exported(file));
        exports.next().map(|(exporter, _)| exporter.clone())
    }

    /// Returns the modules that a module imports from, except those that it is in or has.
    pub fn imports(&self, module: &[String]) -> BTreeSet<ItemPath> {
        let file = &self.0[module];
        let paths = file.uses.iter().map(|(_, path)| path).chain(&file.paths);
        let absolute = paths.filter_map(|path| self.absolute(module, path));
        let targets = absolute.filter_map(|path| self.definition(&path));
        let is_near = |other: &ItemPath| other.starts_with(module) || module.starts_with(other);
        targets.filter(|other| !is_near(other)).collect()
    }
}

#[test]
fn imports_are_read() {
    let source = r###"
        // use crate::no;
        use crate::a::{self, b::{C, D as E}, f::*};
        pub(super) use g::H;
        #[cfg(test)]
        mod tests { use crate::not; }
        mod within { use super::super::n; fn o() { super::p::q(); } }
        /* use crate::comment; */
        const TEXT: &str = r##"" use crate::text; ""##;
        fn i<'a>(c: char) -> k::L { super::super::m("use x; \"::y", 'z', '\n', '"') }
    "###;
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
        "n super::n",
    ];
    assert_eq!(uses.collect::<Vec<_>>(), expected);
    assert!(
        file.paths
            .iter()
            .map(text)
            .eq(["p::q", "k::L", "super::super::m"])
    );
}
