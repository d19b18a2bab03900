//! Inline assembly with side effects becomes convergent.
//!
//! Without it LLVM may copy or move a shuffle or a barrier across a branch, so that only some of
//! the lanes reach it. `asm!` has no option for it. Functions are marked too, since a call of one
//! that contains such assembly is as sensitive; LLVM takes the mark away where it proves that
//! nothing needs it.

use super::line;

/// `ir` with `convergent` at every call of `asm sideeffect` and at every function definition.
pub(super) fn mark(ir: &str) -> String {
    let mut out = String::with_capacity(ir.len() + ir.len() / 50);
    for text in ir.lines() {
        let marked = if text.starts_with("define ") {
            line::with_function_attributes(text, "convergent")
        } else {
            mark_call(text)
        };
        out.push_str(marked.as_deref().unwrap_or(text));
        out.push('\n');
    }
    out
}

fn mark_call(text: &str) -> Option<String> {
    let call = text.find("call ")?;
    let asm = call + text[call..].find(" asm sideeffect ")?;
    // The template and the constraints are strings; the bracket behind them opens the operands.
    let open = asm + behind_strings(&text[asm..], 2)?;
    let end = line::behind_closing_bracket(text, open)?;
    Some(format!("{} convergent{}", &text[..end], &text[end..]))
}

/// Position behind the `count`th string.
fn behind_strings(text: &str, count: usize) -> Option<usize> {
    text.match_indices('"')
        .nth(2 * count - 1)
        .map(|(position, _)| position + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_with_side_effects_are_marked() {
        let ir = r#"  %0 = call i32 asm sideeffect alignstack "f(${0}), x;", "=&r,~{memory}"() #5, !srcloc !2"#;
        let expected = r#"  %0 = call i32 asm sideeffect alignstack "f(${0}), x;", "=&r,~{memory}"() convergent #5, !srcloc !2"#;
        assert_eq!(mark(ir).trim_end(), expected);
        let ir = r#"  call void asm sideeffect "x", "r"(i32 %a)"#;
        assert_eq!(mark(ir).trim_end(), format!("{ir} convergent"));
    }

    #[test]
    fn pure_assembly_is_left_alone() {
        let ir = "  %0 = call i32 asm \"mov.u32 $0, %laneid;\", \"=r\"() #1\n";
        assert_eq!(mark(ir), ir);
    }

    #[test]
    fn every_function_is_marked() {
        let ir = "define internal i32 @f(i32 %a) unnamed_addr #2 {\n";
        assert_eq!(
            mark(ir),
            "define internal i32 @f(i32 %a) unnamed_addr convergent #2 {\n"
        );
        let ir = "declare i32 @g(i32)\n";
        assert_eq!(mark(ir), ir);
    }
}
