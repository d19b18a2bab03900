//! A `SAFETY` comment gives an argument: what the operation requires, and why it holds here. A
//! `# Safety` section names the conditions.

use std::fs;
use std::path::Path;

/// Words of comments that only point elsewhere. The contract that a caller keeps has a name.
const POINTERS: [&str; 12] = [
    "as above",
    "as below",
    "as of the kernels",
    "as the caller",
    "as there.",
    "as they say",
    "passed on",
    "see above",
    "there are such",
    "there are words",
    "there is such",
    "they are there",
];

/// Calls `found` with each `SAFETY` comment and `# Safety` section of a source, and the number of
/// its first line.
fn comments(source: &str, mut found: impl FnMut(usize, String)) {
    let mut lines = source.lines().map(str::trim).enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let (first, prefix) = match line.strip_prefix("// SAFETY:") {
            Some(first) => (first, "//"),
            None if line == "/// # Safety" => ("", "///"),
            None => continue,
        };
        let mut text = first.trim().to_owned();
        let goes_on = |line: &str| {
            let body = line.strip_prefix(prefix);
            body.is_some_and(|body| !body.starts_with('/') && !body.starts_with(" # "))
        };
        while let Some((_, next)) = lines.next_if(|(_, next)| goes_on(next)) {
            text = format!("{text} {}", next.trim_start_matches('/').trim());
        }
        found(number + 1, text.to_lowercase());
    }
}

fn is_pointer(text: &str) -> bool {
    POINTERS.iter().any(|words| text.contains(words))
}

/// Calls `visit` with the sources below a folder. Paths are relative to `root`.
pub fn sources(root: &Path, folder: &Path, visit: &mut impl FnMut(&str, &str)) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .expect("the folder can be read")
        .map(|entry| entry.expect("the entry can be read").path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            sources(root, &path, visit);
        } else if name.ends_with(".rs") {
            let relative = path.strip_prefix(root).expect("below the root");
            let source = fs::read_to_string(&path).expect("the source can be read");
            visit(&relative.to_string_lossy().replace('\\', "/"), &source);
        }
    }
}

#[test]
fn comments_that_point_elsewhere_are_found() {
    let source = "
        // SAFETY: the slice has
        // the element. As above
        unsafe { a() };
        /// Passed on.
        // SAFETY: the index is below the length.
        unsafe { b() };
        // SAFETY: passed on to the caller.
        /// # Safety
        unsafe { c() }
        /// # Safety
        /// The slices
        /// are as they say.
        ///
        /// # Errors
        /// As above.
        unsafe fn d() {}";
    let mut found = Vec::new();
    comments(source, |line, text| found.push((line, is_pointer(&text))));
    let expected = [(2, true), (6, false), (8, true), (9, false), (11, true)];
    assert_eq!(found, expected);
}

#[test]
fn safety_comments_give_an_argument() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut places, mut all) = (String::new(), 0);
    for folder in [
        "benches",
        "build.rs",
        "cli",
        "crates",
        "examples",
        "fuzz",
        "integrations",
        "kernels-gpu",
        "learn",
        "python",
        "src",
        "tests",
        "xtask",
    ] {
        let mut visit = |path: &str, source: &str| {
            comments(source, |line, text| {
                all += 1;
                if is_pointer(&text) && path != "tests/repository/safety.rs" {
                    places += &format!("\n{path}:{line}: {text}");
                }
            });
        };
        let path = root.join(folder);
        match path.is_dir() {
            true => sources(root, &path, &mut visit),
            false => visit(folder, &fs::read_to_string(path).expect("readable")),
        }
    }
    assert!(all > 1000, "only {all} comments were found");
    assert!(places.is_empty(), "{places}");
}
