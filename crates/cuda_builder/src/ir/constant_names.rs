//! Names in the PTX of the constants that the host sets.
//!
//! The attribute `#[address_space(constant)]` cannot know whether another module has a static of
//! the same name. So the symbols that rustc writes are unique, `__cuda_std_constant.` before
//! crate, modules, name and line: `__cuda_std_constant.kernels::filter::WEIGHTS:12`.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::line;
use crate::BuildError;

/// The prefix of these symbols, in the quotes that LLVM writes around colons.
const PREFIX: &str = "\"__cuda_std_constant.";

/// A constant's symbol.
#[derive(Clone, Copy)]
struct Constant<'a> {
    /// As it stands in the IR.
    symbol: &'a str,
    /// Crate, modules and name.
    path: &'a str,
    line: u32,
}

impl<'a> Constant<'a> {
    /// `None` if the symbol is another one.
    fn read(symbol: &'a str) -> Option<Self> {
        let (path, line) = symbol
            .strip_prefix(PREFIX)?
            .strip_suffix('"')?
            .rsplit_once(':')?;
        let line = line.parse().ok()?;
        Some(Self { symbol, path, line })
    }

    fn name(&self) -> &'a str {
        self.path.rsplit("::").next().unwrap_or(self.path)
    }

    /// The name that cuda_std's `ConstantStatic::qualified_name` returns.
    fn qualified_name(&self) -> String {
        let parts = self.path.split("::");
        let parts = parts.map(|part| part.trim_start_matches("r#"));
        Vec::from_iter(parts).join("$")
    }
}

/// `ir` with the constants' names in the PTX: the name in the source where no other symbol has it,
/// else the qualified name.
pub(super) fn in_ptx(ir: &str) -> Result<Cow<'_, str>, BuildError> {
    if !ir.contains(PREFIX) {
        return Ok(Cow::Borrowed(ir));
    }
    let mut paths: HashMap<&str, Constant> = HashMap::new();
    let mut counts: HashMap<&str, u32> = HashMap::new();
    let mut others: HashSet<&str> = HashSet::new();
    for symbol in ir.lines().filter_map(symbol_of_line) {
        let Some(constant) = Constant::read(symbol) else {
            others.insert(symbol);
            continue;
        };
        if let Some(first) = paths.insert(constant.path, constant) {
            return Err(BuildError::ConstantNames {
                path: constant.path.to_owned(),
                lines: (first.line, constant.line),
            });
        }
        *counts.entry(constant.name()).or_default() += 1;
    }
    let new_name = |constant: &Constant| match constant.name() {
        name if counts[name] == 1 && !others.contains(name) => name.to_owned(),
        _ => constant.qualified_name(),
    };
    let names: HashMap<&str, String> = paths
        .values()
        .map(|constant| (constant.symbol, format!("@{}", new_name(constant))))
        .collect();
    let mut out = String::with_capacity(ir.len());
    for text in ir.lines() {
        line::push_renamed(&mut out, text, '@', |symbol| names.get(symbol).cloned());
        out.push('\n');
    }
    Ok(Cow::Owned(out))
}

/// The symbol of the static or function that the line defines or declares.
fn symbol_of_line(text: &str) -> Option<&str> {
    let is_function = text.starts_with("define ") || text.starts_with("declare ");
    match is_function {
        true => Some(line::symbol(&text[text.find('@')? + 1..])),
        false => Some(line::symbol(text.strip_prefix('@')?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_unique_stays() {
        let ir = "\
@\"__cuda_std_constant.k::filter::WEIGHTS:12\" = global [4 x i8] undef, section \".constant\", align 4
@TABLE = internal constant [4 x i8] undef, align 4
  %a = load i32, ptr @\"__cuda_std_constant.k::filter::WEIGHTS:12\", align 4
";
        let expected = "\
@WEIGHTS = global [4 x i8] undef, section \".constant\", align 4
@TABLE = internal constant [4 x i8] undef, align 4
  %a = load i32, ptr @WEIGHTS, align 4
";
        assert_eq!(in_ptx(ir).unwrap(), expected);
    }

    #[test]
    fn others_get_the_path() {
        let ir = "\
@\"__cuda_std_constant.k::a::X:1\" = global [4 x i8] undef
@\"__cuda_std_constant.k::r#type::X:1\" = global [4 x i8] undef
@\"__cuda_std_constant.k::TAKEN:2\" = global [4 x i8] undef
@\"__cuda_std_constant.k::scale:3\" = global [4 x i8] undef
@TAKEN = global [4 x i8] undef
define ptx_kernel void @scale(ptr %a) {
";
        let expected = "\
@k$a$X = global [4 x i8] undef
@k$type$X = global [4 x i8] undef
@k$TAKEN = global [4 x i8] undef
@k$scale = global [4 x i8] undef
@TAKEN = global [4 x i8] undef
define ptx_kernel void @scale(ptr %a) {
";
        assert_eq!(in_ptx(ir).unwrap(), expected);
    }

    #[test]
    fn two_of_one_module_are_an_error_with_both_lines() {
        let ir = "\
@\"__cuda_std_constant.k::X:10\" = global [4 x i8] undef
@\"__cuda_std_constant.k::X:20\" = global [4 x i8] undef
";
        let error = in_ptx(ir).unwrap_err().to_string();
        assert!(error.contains("`k::X`, in lines 10 and 20"), "{error}");
    }

    #[test]
    fn other_code_stays() {
        let ir = "@TABLE = constant [4 x i8] undef\n";
        assert!(matches!(in_ptx(ir).unwrap(), Cow::Borrowed(text) if text == ir));
    }
}
