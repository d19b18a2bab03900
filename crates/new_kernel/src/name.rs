//! Names of crates with a kernel.

use crate::Error;
use crate::files::TEMPLATE;

const KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield", "union",
];

/// Crates of the toolchain, and the package that the guide adds for shipping.
const OTHER_CRATES: [&str; 6] = ["alloc", "build_ptx", "core", "proc_macro", "std", "test"];

/// Checks that a crate, its kernel and the function that launches it can have this name.
///
/// # Errors
/// If the name is not made of `a` to `z`, `0` to `9` and `_` with a letter first, if it is a keyword
/// or another crate, if it begins with `gridstride_`, or if the template's code uses the same word
/// for something else.
pub fn check_name(name: &str) -> Result<(), Error> {
    match reason_against(name) {
        None => Ok(()),
        Some(reason) => Err(Error::Name {
            name: name.to_owned(),
            reason,
        }),
    }
}

fn reason_against(name: &str) -> Option<&'static str> {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_word) {
        Some("it has to begin with a letter from a to z, and to have only those, digits and _")
    } else if KEYWORDS.contains(&name) {
        Some("it is a keyword of Rust")
    } else if OTHER_CRATES.contains(&name) {
        Some("another crate has this name")
    } else if name.starts_with("gridstride_") {
        // Cargo.lock cannot have two packages of one name and version.
        Some("the packages of gridstride have such names")
    } else if words().any(|word| word == name) {
        Some("the code of the crate uses this word for something else")
    } else {
        None
    }
}

/// The words of the template's code, without its comments.
fn words() -> impl Iterator<Item = &'static str> {
    let sources = TEMPLATE.iter().filter(|(name, _)| name.ends_with(".rs"));
    let lines = sources.flat_map(|(_, text)| text.lines());
    let code = lines.map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .filter(|word| *word != "row_sums")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_that_nothing_else_has() {
        for name in [
            "row_sums",
            "blur",
            "k",
            "fft_2d",
            "a_name_that_is_so_long_that_lines_have_to_be_broken",
        ] {
            check_name(name).unwrap();
        }
        for (name, reason) in [
            ("", "it has to begin with a letter"),
            ("2d", "it has to begin with a letter"),
            ("_x", "it has to begin with a letter"),
            ("Blur", "it has to begin with a letter"),
            ("größe", "it has to begin with a letter"),
            ("my-kernel", "digits and _"),
            ("../blur", "it has to begin with a letter"),
            ("a/b", "digits and _"),
            ("match", "a keyword"),
            ("gen", "a keyword"),
            ("core", "another crate"),
            ("gridstride", "uses this word"),
            ("gridstride_simt", "packages of gridstride"),
            ("cuda_std", "uses this word"),
            ("kernels", "uses this word"),
            ("matrix", "uses this word"),
            ("main", "uses this word"),
        ] {
            let error = check_name(name).unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{name}` cannot be")), "{error}");
            assert!(error.contains(reason), "{error}");
        }
    }
}
