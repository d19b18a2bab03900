//! Struct parameters of kernels become memory that LLVM can look into.
//!
//! rustc hands a struct to a kernel as an array of integers (`[2 x i64]` for a pointer and a
//! length). LLVM does not follow pointers out of such an array, so that every access through one
//! would be generic. Passed as `byval`, which is the same in PTX, the pointers are known to be
//! global: `ld.global` in place of `ld`.

use std::collections::HashMap;

use super::line;

/// `ir` with the kernels' array parameters passed as `byval`.
pub(super) fn by_value(ir: &str) -> String {
    let mut out = String::with_capacity(ir.len() + ir.len() / 50);
    let mut kernel = Kernel::default();
    for text in ir.lines() {
        if text.starts_with("define ") {
            kernel = Kernel::read(text).unwrap_or_default();
            out.push_str(kernel.define.as_deref().unwrap_or(text));
        } else {
            line::push_renamed(&mut out, text, '%', |name| kernel.names.get(name).cloned());
        }
        out.push('\n');
        if text.ends_with(':') {
            // The loads stand first in the first block.
            out.push_str(&std::mem::take(&mut kernel.loads));
        }
    }
    out
}

/// The changes of a kernel.
#[derive(Default)]
struct Kernel {
    /// Its definition.
    define: Option<String>,
    /// The first lines of its body.
    loads: String,
    /// New names in its body. LLVM counts unnamed values, and the loads are not where it counted.
    names: HashMap<String, String>,
}

impl Kernel {
    /// `None` if the line is no kernel's definition.
    fn read(define: &str) -> Option<Self> {
        let name = line::defined_function(define).filter(|_| define.contains(" ptx_kernel "))?;
        let open = define.find('@')? + 1 + name.len();
        let close = line::behind_closing_bracket(define, open)? - 1;
        let mut kernel = Self::default();
        let parameters = split_at_commas(&define[open + 1..close]);
        let parameters: Vec<_> = parameters.iter().map(|one| kernel.parameter(one)).collect();
        kernel.define = Some(format!(
            "{}{}{}",
            &define[..=open],
            parameters.join(", "),
            &define[close..]
        ));
        Some(kernel)
    }

    /// A parameter as it is to be.
    fn parameter(&mut self, text: &str) -> String {
        let Some((array, bytes, name)) = array_parameter(text) else {
            return text.to_owned();
        };
        let value = format!("%struct.{name}");
        self.loads += &format!("  {value} = load {array}, ptr %param.{name}, align {bytes}\n");
        self.names.insert(name.to_owned(), value);
        format!("ptr byval({array}) align {bytes} %param.{name}")
    }
}

/// The type, the size of an element in bytes and the name of a parameter `[2 x i64] %0`.
fn array_parameter(text: &str) -> Option<(&str, u32, &str)> {
    let end = text.strip_prefix('[')?.find(']')? + 2;
    let (array, rest) = text.split_at(end);
    let (_, element) = array[1..end - 1].split_once(" x ")?;
    let bits: u32 = element.strip_prefix('i')?.parse().ok()?;
    let (_, name) = rest.rsplit_once('%')?;
    Some((array, bits / 8, name.trim()))
}

/// The parts between commas that stand in no brackets and no strings.
fn split_at_commas(text: &str) -> Vec<&str> {
    let (mut depth, mut in_string, mut start) = (0_usize, false, 0);
    let mut parts = Vec::new();
    for (position, c) in text.char_indices() {
        match c {
            '"' => in_string = !in_string,
            '(' | '[' | '{' | '<' if !in_string => depth += 1,
            ')' | ']' | '}' | '>' if !in_string => depth = depth.saturating_sub(1),
            ',' if !in_string && depth == 0 => {
                parts.push(text[start..position].trim());
                start = position + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_passed_in_memory() {
        let ir = "\
define ptx_kernel void @k([2 x i64] %0, ptr captures(none, ret: address) %p, [3 x i32] %1) #0 {
start:
  %2 = alloca [16 x i8], align 8
  store [2 x i64] %0, ptr %2, align 8
  call void asm sideeffect \"%0\", \"\"()
  store [3 x i32] %1, ptr %p, align 4
next:
  ret void
}
define void @f([2 x i64] %0) {
  store [2 x i64] %0, ptr null
}
";
        let expected = "\
define ptx_kernel void @k(ptr byval([2 x i64]) align 8 %param.0, ptr captures(none, ret: address) %p, ptr byval([3 x i32]) align 4 %param.1) #0 {
start:
  %struct.0 = load [2 x i64], ptr %param.0, align 8
  %struct.1 = load [3 x i32], ptr %param.1, align 4
  %2 = alloca [16 x i8], align 8
  store [2 x i64] %struct.0, ptr %2, align 8
  call void asm sideeffect \"%0\", \"\"()
  store [3 x i32] %struct.1, ptr %p, align 4
next:
  ret void
}
define void @f([2 x i64] %0) {
  store [2 x i64] %0, ptr null
}
";
        assert_eq!(by_value(ir), expected);
    }

    #[test]
    fn kernels_without_structs_stay() {
        let ir = "define ptx_kernel void @k() {\nstart:\n  ret void\n}\n";
        assert_eq!(by_value(ir), ir);
    }
}
