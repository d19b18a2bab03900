//! Statics in the sections `.shared`, `.shared.static` and `.constant`, and the extern static
//! `__dynamic_smem`, move to shared or constant memory.

use std::collections::HashMap;

use super::line;
use crate::BuildError;

/// The extern static that stands for the shared memory whose size is given at launch.
const DYNAMIC: &str = "__dynamic_smem";
/// The widest load is of 16 bytes, so that nothing in shared memory is aligned to less.
const MIN_ALIGN: u32 = 16;
/// Operands of the matrix instructions of warp groups begin at multiples of 1024 bytes. Without this
/// the driver places dynamic shared memory right behind a kernel's static shared memory.
const DYNAMIC_ALIGN: u32 = 1024;

/// The section of immutable statics that only the kernels read.
pub(super) const IMMUTABLE_SECTION: &str = ", section \".constant.immutable\"";

/// Where a static goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    /// To shared memory. An initial value is an error.
    Shared,
    /// To shared memory, without its initial value, which has to be zeros or undefined.
    SharedStatic,
    /// To constant memory, where the host may set it before a launch.
    Constant,
    /// To constant memory, with a value that LLVM may use.
    Immutable,
}

impl Memory {
    const ALL: [Self; 4] = [
        Self::Shared,
        Self::SharedStatic,
        Self::Constant,
        Self::Immutable,
    ];

    fn section(self) -> &'static str {
        match self {
            Self::Shared => ", section \".shared\"",
            Self::SharedStatic => ", section \".shared.static\"",
            Self::Constant => ", section \".constant\"",
            Self::Immutable => IMMUTABLE_SECTION,
        }
    }

    fn address_space(self) -> u32 {
        match self {
            Self::Shared | Self::SharedStatic => 3,
            Self::Constant | Self::Immutable => 4,
        }
    }
}

/// `ir` with the statics in their address spaces, and every use of one cast from there.
///
/// LLVM then infers `ld.shared`, `st.shared` and `ld.const` from the casts.
pub(super) fn to_address_spaces(ir: &str) -> Result<String, BuildError> {
    let statics: HashMap<&str, Memory> = ir.lines().filter_map(static_memory).collect();
    let mut out = String::with_capacity(ir.len() + ir.len() / 50);
    for text in ir.lines() {
        match static_memory(text) {
            Some((name, memory)) => out.push_str(&definition(name, memory, text)?),
            None => line::push_renamed(&mut out, text, '@', |name| {
                let space = statics.get(name)?.address_space();
                Some(format!(
                    "addrspacecast (ptr addrspace({space}) @{name} to ptr)"
                ))
            }),
        }
        out.push('\n');
    }
    Ok(out)
}

/// The name of the static that the line defines or declares, and where it goes.
fn static_memory(text: &str) -> Option<(&str, Memory)> {
    let name = line::symbol(text.strip_prefix('@')?);
    if !text[1 + name.len()..].starts_with(" = ") {
        return None;
    }
    let memory = Memory::ALL
        .into_iter()
        .find(|memory| text.contains(memory.section()));
    let memory = memory.or((name == DYNAMIC).then_some(Memory::Shared))?;
    Some((name, memory))
}

/// The definition in its address space.
fn definition(name: &str, memory: Memory, text: &str) -> Result<String, BuildError> {
    let malformed = || BuildError::Ir {
        message: format!("`{text}` is not a definition"),
    };
    // Metadata, which newer LLVMs attach, is of no use behind the rewriting.
    let strings = text.rfind('"').unwrap_or(0);
    let end = text[strings..].find(", !").map(|at| strings + at);
    let text = &text[..end.unwrap_or(text.len())];
    let text = text.replacen(memory.section(), "", 1);
    let is_constant = |head: &&str| !head.contains(" global ");
    let (head, value) = match text
        .split_once(" constant ")
        .filter(|(head, _)| is_constant(head))
    {
        Some(_) if memory == Memory::Shared => {
            return Err(BuildError::SharedInitialiser {
                name: name.to_owned(),
            });
        }
        Some(parts) => parts,
        None => text.split_once(" global ").ok_or_else(malformed)?,
    };
    let (value, rest) = split_value(value);
    let align = match rest.split_once("align ") {
        Some((_, digits)) => digits.trim().parse().map_err(|_| malformed())?,
        None => MIN_ALIGN,
    };
    let value = match memory {
        Memory::Shared => {
            let is_declaration = head.contains(" = external") || head.contains(" = extern_weak");
            let is_undefined = value.ends_with(" undef") || value.ends_with(" poison");
            if !is_declaration && !is_undefined {
                return Err(BuildError::SharedInitialiser {
                    name: name.to_owned(),
                });
            }
            let least = if name == DYNAMIC {
                DYNAMIC_ALIGN
            } else {
                MIN_ALIGN
            };
            format!("global {value}, align {}", align.max(least))
        }
        Memory::SharedStatic => {
            let end = type_end(value).ok_or_else(malformed)?;
            if !is_zero_or_undefined(&value[end..]) {
                return Err(BuildError::SharedInitialiser {
                    name: name.to_owned(),
                });
            }
            format!(
                "global {} undef, align {}",
                &value[..end],
                align.max(MIN_ALIGN)
            )
        }
        // The host may set it before a launch: no load becomes the initial value.
        Memory::Constant => format!("externally_initialized constant {value}, align {align}"),
        Memory::Immutable => format!("constant {value}, align {align}"),
    };
    Ok(format!(
        "{head} addrspace({}) {value}",
        memory.address_space()
    ))
}

/// The type and initialiser, and what follows the comma behind them.
fn split_value(text: &str) -> (&str, &str) {
    // A type may hold commas of its own (`{ i32, i32 }`), `align` is the only thing that follows.
    text.rsplit_once(", align ")
        .map_or((text, ""), |(value, _)| (value, &text[value.len()..]))
}

/// Where the type ends that a value begins with.
fn type_end(value: &str) -> Option<usize> {
    let mut depth = 0;
    for (i, character) in value.char_indices() {
        match character {
            '[' | '{' | '<' | '(' => depth += 1,
            ']' | '}' | '>' | ')' => depth -= 1,
            ' ' if depth == 0 => return Some(i),
            _ => {}
        }
    }
    None
}

/// Whether an initialiser has no bytes but zeros and undefined ones.
///
/// LLVM writes zeros as `zeroinitializer`, other bytes as strings, and addresses with the symbol.
fn is_zero_or_undefined(initialiser: &str) -> bool {
    let mut strings = initialiser.split("c\"").skip(1);
    let is_zero = |text: &str| {
        text.split('"')
            .next()
            .unwrap_or_default()
            .replace("\\00", "")
            .is_empty()
    };
    let is_number = |c: char| c.is_ascii_digit() || c == '-';
    let scalar = initialiser.trim();
    let is_other_scalar = scalar.starts_with(is_number) && scalar != "0";
    strings.all(is_zero)
        && !initialiser.contains('@')
        && !initialiser.contains("inttoptr")
        && !is_other_scalar
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewrite(ir: &str) -> String {
        to_address_spaces(ir).unwrap()
    }

    #[test]
    fn static_definitions_move() {
        assert_eq!(
            rewrite(
                "@T = internal unnamed_addr global [64 x i8] undef, section \".shared\", align 4"
            ),
            "@T = internal unnamed_addr addrspace(3) global [64 x i8] undef, align 16\n"
        );
        assert_eq!(
            rewrite(
                "@T = internal global <{ [4 x i8], [4 x i8] }> poison, section \".shared\", align 128"
            ),
            "@T = internal addrspace(3) global <{ [4 x i8], [4 x i8] }> poison, align 128\n"
        );
    }

    #[test]
    fn metadata_is_dropped() {
        assert_eq!(
            rewrite("@T = internal global [4 x i8] undef, section \".shared\", align 4, !guid !0"),
            "@T = internal addrspace(3) global [4 x i8] undef, align 16\n"
        );
    }

    #[test]
    fn the_dynamic_extern_moves() {
        for words in ["external", "external local_unnamed_addr"] {
            assert_eq!(
                rewrite(&format!("@__dynamic_smem = {words} global [0 x i32]")),
                format!("@__dynamic_smem = {words} addrspace(3) global [0 x i32], align 1024\n")
            );
        }
    }

    #[test]
    fn uses_are_cast_with_and_without_a_type_before_them() {
        let ir = "@T = internal global [4 x i8] undef, section \".shared\", align 4\n\
                  %a = load i32, ptr @T, align 4\n\
                  %b = phi ptr [ @T, %x ], [ @TT, %y ]\n\
                  %c = icmp eq ptr %p, @T\n\
                  call void asm sideeffect \"@T\", \"\"()";
        let cast = "addrspacecast (ptr addrspace(3) @T to ptr)";
        let expected = format!(
            "@T = internal addrspace(3) global [4 x i8] undef, align 16\n\
             %a = load i32, ptr {cast}, align 4\n\
             %b = phi ptr [ {cast}, %x ], [ @TT, %y ]\n\
             %c = icmp eq ptr %p, {cast}\n\
             call void asm sideeffect \"@T\", \"\"()\n"
        );
        assert_eq!(rewrite(ir), expected);
    }

    #[test]
    fn other_statics_stay() {
        let ir = "@T = internal global [4 x i8] zeroinitializer, align 4\n%a = load i32, ptr @T\n";
        assert_eq!(rewrite(ir), ir);
    }

    #[test]
    fn initialisers_are_refused() {
        for ir in [
            "@T = internal global [4 x i8] zeroinitializer, section \".shared\", align 4",
            "@T = internal constant [4 x i8] undef, section \".shared\", align 4",
            "@T = internal global [4 x i8] c\"\\07\\00\\00\\00\", section \".shared.static\", align 4",
            "@T = internal global [2 x i8] c\"\\00\\22\", section \".shared.static\", align 1",
            "@T = internal global <{ [4 x i8], [4 x i8] }> <{ [4 x i8] zeroinitializer, [4 x i8] c\"abcd\" }>, \
             section \".shared.static\", align 4",
            "@T = internal global <{ ptr }> <{ ptr @U }>, section \".shared.static\", align 8",
            "@T = internal global i32 7, section \".shared.static\", align 4",
        ] {
            let error = to_address_spaces(ir).unwrap_err();
            assert!(matches!(&error, BuildError::SharedInitialiser { name } if name == "T"));
        }
    }

    #[test]
    fn zeros_of_shared_statics_are_dropped() {
        for (value, ty) in [
            ("[1024 x i8] zeroinitializer", "[1024 x i8]"),
            (
                "<{ [4 x i8], ptr }> <{ [4 x i8] undef, ptr null }>",
                "<{ [4 x i8], ptr }>",
            ),
            ("i32 0", "i32"),
            (
                "<{ [4 x i8], [4 x i8] }> <{ [4 x i8] c\"\\00\", [4 x i8] undef }>",
                "<{ [4 x i8], [4 x i8] }>",
            ),
        ] {
            for kind in ["global", "constant"] {
                assert_eq!(
                    rewrite(&format!(
                        "@T = internal {kind} {value}, section \".shared.static\", align 4"
                    )),
                    format!("@T = internal addrspace(3) global {ty} undef, align 16\n")
                );
            }
        }
    }

    #[test]
    fn constant_statics_keep_their_initial_values_for_the_host_to_change() {
        assert_eq!(
            rewrite(
                "@T = constant [4 x i8] c\"\\01\\00\\00\\00\", section \".constant\", align 4\n\
                 %a = load i32, ptr @T, align 4"
            ),
            "@T = addrspace(4) externally_initialized constant [4 x i8] c\"\\01\\00\\00\\00\", align 4\n\
             %a = load i32, ptr addrspacecast (ptr addrspace(4) @T to ptr), align 4\n"
        );
    }
}
