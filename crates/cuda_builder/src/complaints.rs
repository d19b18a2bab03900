//! What rustc and LLVM print about mistakes, as errors that say what to do.

use std::path::{Path, PathBuf};
use std::{fs, slice};

use crate::BuildError;

/// Marks of what LLVM prints after its message: a request to report a bug, and addresses.
const BEHIND_MESSAGE: [&str; 2] = ["PLEASE submit a bug report", "Stack dump:"];

/// Returns the error for two functions with one symbol, from the output of rustc.
pub(crate) fn of_one_name(package: &str, stderr: &str, sources: &[PathBuf]) -> Option<BuildError> {
    let block = stderr.find("error: symbol `")?;
    let block = stderr[block..].split("\n\n").next()?;
    let (name, rest) = block.strip_prefix("error: symbol `")?.split_once('`')?;
    rest.starts_with(" is already defined")
        .then(|| BuildError::KernelNames {
            package: package.to_owned(),
            name: name.to_owned(),
            places: sources.iter().flat_map(|file| places(name, file)).collect(),
            stderr: block.to_owned(),
        })
}

/// The places in a file where a function of this name is marked as a kernel or `no_mangle`, as
/// `file:line`.
fn places(name: &str, file: &Path) -> Vec<String> {
    let is_rust = file.extension().is_some_and(|extension| extension == "rs");
    let text = is_rust.then(|| fs::read_to_string(file).unwrap_or_default());
    let lines = lines_of(name, &text.unwrap_or_default());
    let place = |line| format!("{}:{line}", file.display());
    lines.into_iter().map(place).collect()
}

fn lines_of(name: &str, text: &str) -> Vec<usize> {
    let has_symbol = |line: &str| {
        let words = ["#[kernel", "::kernel", "no_mangle", "export_name"];
        words.iter().any(|word| line.contains(word))
    };
    let mut found = Vec::new();
    // Whether the attributes above the line give the function a symbol.
    let mut is_marked = false;
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        is_marked |= has_symbol(line);
        if !line.starts_with("//") && defines(line, name) && is_marked {
            found.push(number);
        }
        // Attributes may have several lines; what they mark follows.
        let is_attribute = line.starts_with('#') || line.ends_with([',', '(', ']']);
        is_marked &= line.starts_with("//") || is_attribute && !line.contains("fn ");
    }
    found
}

/// Whether a line has `fn NAME`.
fn defines(line: &str, name: &str) -> bool {
    line.match_indices("fn ").any(|(at, _)| {
        let rest = line[at + 3..].trim_start();
        let rest = rest.strip_prefix("r#").unwrap_or(rest);
        let behind = rest.strip_prefix(name).map(|rest| rest.chars().next());
        behind.is_some_and(|next| next.is_none_or(|c| !c.is_alphanumeric() && c != '_'))
    })
}

/// Returns the error for what LLVM cannot compile, from the output of `program`; `None` if the
/// output names no function.
pub(crate) fn of_llvm(package: &str, program: &Path, stderr: &str) -> Option<BuildError> {
    let function = function_of(stderr)?;
    let end = BEHIND_MESSAGE.iter().filter_map(|mark| stderr.find(mark));
    let message = &stderr[..end.min().unwrap_or(stderr.len())];
    Some(BuildError::Llvm {
        package: package.to_owned(),
        function: format!("{:#}", rustc_demangle::demangle(function)),
        program: program.to_owned(),
        stderr: message.trim().to_owned(),
    })
}

/// The symbol of the function that LLVM was compiling.
fn function_of(stderr: &str) -> Option<&str> {
    // The passes of the code generator, those of the optimiser, and errors of both.
    for (before, after) in [
        (" on function '@", slice::from_ref(&'\'')),
        (" on function \"", slice::from_ref(&'"')),
        ("In function: ", &['\n'][..]),
        ("in function ", &[' ', ':', '\n'][..]),
    ] {
        if let Some((_, rest)) = stderr.rsplit_once(before) {
            let symbol = rest.split(after).next().unwrap_or_default();
            return Some(symbol.trim_matches('"')).filter(|symbol| !symbol.is_empty());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_of_a_name_are_found() {
        let text = "\
/// Adds.
#[kernel]
#[allow(clippy::too_many_arguments)]
pub unsafe fn add(x: u32) {}

pub fn add() {}
#[kernel(
    max_block = 64,
    min_blocks = 2,
)]
// fn add
unsafe fn add
#[unsafe(no_mangle)] extern \"ptx-kernel\" fn r#add<'a>() {}
#[kernel] fn adds() { fn add() {} }
#[cuda_std::kernel]
fn address() {}
";
        assert_eq!(lines_of("add", text), [4, 12, 13, 14]);
        assert_eq!(lines_of("address", text), [16]);
        assert_eq!(lines_of("other", text), [0; 0]);
    }

    #[test]
    fn two_functions_of_a_name_are_an_error_with_the_remedy() {
        let stderr = "\
warning: other

error: symbol `add` is already defined
  --> src/lib.rs:20:31
   |
20 |     fn add() {}

warning: `k` generated 1 warning
";
        let error = of_one_name("k", stderr, &[]).unwrap().to_string();
        let remedy = "the kernel crate `k` has two kernels of the name `add`, but the modules of a \
                      crate share one list of kernels in the PTX: rename one\nerror: symbol";
        assert!(error.starts_with(remedy), "{error}");
        assert!(error.ends_with("fn add() {}"), "{error}");
        assert!(of_one_name("k", "error: other", &[]).is_none());
    }

    #[test]
    fn errors_of_llvm_name_the_function_and_the_remedy() {
        let stderr = "\
LLVM ERROR: Cannot select: 0x55: f64 = fsin 0x56
In function: _RNvMCsdtFHevlGMUc_1kNtB2_4Deep2go
PLEASE submit a bug report to https://github.com/llvm/llvm-project/issues/
Stack dump:
0.	Program arguments: /usr/bin/llc
1.	Running pass 'Function Pass Manager' on module 'k.opt.ll'.
2.	Running pass 'NVPTX DAG->DAG Pattern Instruction Selection' on function '@_RNvMCsdtFHevlGMUc_1kNtB2_4Deep2go'
 #0 0x00007ff1e24b8786 llvm::sys::PrintStackTrace
";
        let error = of_llvm("k", Path::new("llc"), stderr).unwrap();
        assert_eq!(
            error.to_string(),
            "LLVM cannot compile the function `<k::Deep>::go` of the kernel crate `k` for the GPU: \
             the function, or one that is inlined into it, has an operation that GPUs lack, which \
             the message below names. Write it with other operations, for example the functions of \
             `cuda_std` or of the crate `libm`.\n\
             llc printed:\n\
             LLVM ERROR: Cannot select: 0x55: f64 = fsin 0x56\n\
             In function: _RNvMCsdtFHevlGMUc_1kNtB2_4Deep2go"
        );
        for (stderr, function) in [
            (
                "Stack dump:\n2. Running pass 'x' on function '@add'\n",
                "`add`",
            ),
            (
                "1.	Running pass \"instcombine<x>\" on function \"add\"\n",
                "`add`",
            ),
            (
                "error: <unknown>:0:0: in function add void (ptr): unsupported call\n",
                "`add`",
            ),
        ] {
            let error = of_llvm("k", Path::new("opt"), stderr).unwrap().to_string();
            assert!(error.contains(function), "{error}");
        }
        assert!(of_llvm("k", Path::new("opt"), "opt: no such option").is_none());
    }
}
