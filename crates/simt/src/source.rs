//! The lines of machine code.

/// Returns file and line of the instruction before an address, outside of the libraries that kernels
/// call, or the address if the program has no debug information.
pub(crate) fn line(address: usize) -> String {
    line_of_calls(std::iter::once(address))
}

/// As [`line`], for calls that led to each other, the innermost first: the first one that is outside of
/// libraries.
pub(crate) fn line_of_calls(mut calls: impl Iterator<Item = usize> + Clone) -> String {
    let first = calls.clone().next().unwrap_or(0);
    let mut in_library = None;
    let found = calls.find_map(|address| match find(address)? {
        (site, false) => Some(site),
        (site, true) => {
            in_library.get_or_insert(site);
            None
        }
    });
    found
        .or(in_library)
        .unwrap_or_else(|| format!("{first:#x}"))
}

/// Returns file and line, and whether they are in a library.
fn find(address: usize) -> Option<(String, bool)> {
    let mut found = None;
    // The address is that of the next instruction.
    backtrace::resolve((address - 1) as *mut _, |symbol| {
        let (Some(file), Some(line)) = (symbol.filename(), symbol.lineno()) else {
            return;
        };
        let file = file.display().to_string();
        // Not of Rust: the system's libraries, of which a thread's start is one.
        if !file.ends_with(".rs") {
            return;
        }
        let is_library = [
            "/library/core/",
            "/library/std/",
            "/library/alloc/",
            "/cuda_std/src/",
        ]
        .iter()
        .any(|part| file.contains(part));
        let is_better = found.as_ref().is_none_or(|(_, was_library)| *was_library);
        if is_better {
            found = Some((format!("{file}:{line}"), is_library));
        }
    });
    found
}
