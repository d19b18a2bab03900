//! Statics in section `.shared`, and the extern static `__dynamic_smem`, move to shared memory.

use std::collections::HashSet;

use super::line;
use crate::BuildError;

/// The extern static that stands for the shared memory whose size is given at launch.
const DYNAMIC: &str = "__dynamic_smem";
/// The widest load is of 16 bytes, so that nothing in shared memory is aligned to less.
const MIN_ALIGN: u32 = 16;
const SECTION: &str = ", section \".shared\"";

/// `ir` with the shared statics in address space 3, and every use of one cast from there.
///
/// LLVM then infers `ld.shared` and `st.shared` from the casts.
pub(super) fn to_shared_memory(ir: &str) -> Result<String, BuildError> {
    let names: HashSet<&str> = ir.lines().filter_map(shared_static).collect();
    let mut out = String::with_capacity(ir.len() + ir.len() / 50);
    for text in ir.lines() {
        match shared_static(text) {
            Some(name) => out.push_str(&definition(name, text)?),
            None => line::push_renamed(&mut out, text, '@', |name| {
                let cast = || format!("addrspacecast (ptr addrspace(3) @{name} to ptr)");
                names.contains(name).then(cast)
            }),
        }
        out.push('\n');
    }
    Ok(out)
}

/// The name of the shared static that the line defines or declares.
fn shared_static(text: &str) -> Option<&str> {
    let name = line::symbol(text.strip_prefix('@')?);
    let is_static = text[1 + name.len()..].starts_with(" = ");
    (is_static && (name == DYNAMIC || text.contains(SECTION))).then_some(name)
}

/// The definition in address space 3.
fn definition(name: &str, text: &str) -> Result<String, BuildError> {
    let malformed = || BuildError::Ir {
        message: format!("`{text}` is not a definition"),
    };
    let has_initialiser = || BuildError::SharedInitialiser {
        name: name.to_owned(),
    };
    let (head, value) = text.split_once(" global ").ok_or_else(has_initialiser)?;
    // Metadata, which newer LLVMs attach, is of no use behind the rewriting.
    let value = value
        .split(", !")
        .next()
        .unwrap_or_default()
        .replacen(SECTION, "", 1);
    let (value, rest) = split_value(&value);
    let is_declaration = head.contains(" = external") || head.contains(" = extern_weak");
    let is_undefined = value.ends_with(" undef") || value.ends_with(" poison");
    if !is_declaration && !is_undefined {
        return Err(has_initialiser());
    }
    let align = match rest.split_once("align ") {
        Some((_, digits)) => digits.trim().parse().map_err(|_| malformed())?,
        None => MIN_ALIGN,
    };
    Ok(format!(
        "{head} addrspace(3) global {value}, align {}",
        align.max(MIN_ALIGN)
    ))
}

/// The type and initialiser, and what follows the comma behind them.
fn split_value(text: &str) -> (&str, &str) {
    // A type may hold commas of its own (`{ i32, i32 }`), `align` is the only thing that follows.
    text.rsplit_once(", align ")
        .map_or((text, ""), |(value, _)| (value, &text[value.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewrite(ir: &str) -> String {
        to_shared_memory(ir).unwrap()
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
                format!("@__dynamic_smem = {words} addrspace(3) global [0 x i32], align 16\n")
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
        ] {
            let error = to_shared_memory(ir).unwrap_err();
            assert!(matches!(&error, BuildError::SharedInitialiser { name } if name == "T"));
        }
    }
}
