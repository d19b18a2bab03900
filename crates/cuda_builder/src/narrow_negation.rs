//! Instructions of 16 signed bits that assemblers get wrong.
//!
//! In ptxas up to 13.0 and the drivers up to those of CUDA 13.0, the results of `neg.s16` and `abs.s16` stay numbers of 32 bits
//! when they are compared next: of −32768 that is 32768, which is not negative, so that `i16::saturating_neg` gives −32768.
//! A difference from zero becomes `neg.s16`. Without a sign the same bits are the result, and cannot be taken for wider ones.

/// Returns `ptx` with `neg.s16`, `abs.s16` and `sub.s16` as unsigned subtractions.
pub(crate) fn replaced(ptx: &str) -> String {
    let mut out = String::with_capacity(ptx.len());
    for line in ptx.split_inclusive('\n') {
        let changed = ["neg", "abs", "sub"]
            .iter()
            .find_map(|name| without_signs(line, name));
        out.push_str(changed.as_deref().unwrap_or(line));
    }
    out
}

/// A line with such an instruction, without it.
fn without_signs(line: &str, name: &str) -> Option<String> {
    let at = line.find(&format!("{name}.s16"))?;
    let (before, instruction) = line.split_at(at);
    // Neither `neg.s16x2` nor the end of another name.
    let operands = instruction[name.len()..].strip_prefix(".s16")?;
    let is_whole = before.trim_end().is_empty() || before.ends_with([' ', '\t', ';', '{', '"']);
    if !is_whole || !operands.starts_with(char::is_whitespace) {
        return None;
    }
    let (operands, rest) = operands.split_once(';')?;
    if name == "sub" {
        return Some(format!("{before}sub.u16{operands};{rest}"));
    }
    let (result, operand) = operands.split_once(',')?;
    let (result, operand) = (result.trim(), operand.trim());
    Some(match name {
        "neg" => format!("{before}sub.u16 \t{result}, 0, {operand};{rest}"),
        _ => format!(
            "{before}{{ .reg .b16 %negated; sub.u16 %negated, 0, {operand}; max.s16 {result}, {operand}, %negated; }}{rest}"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negations_are_unsigned() {
        let ptx = "\tneg.s16 \t%rs2, %rs1;\n\tabs.s16 \t%rs3, %rs2;\n\tsub.s16 \t%rs4, %rs5, %rs6;\n\tret;\n";
        let expected = "\tsub.u16 \t%rs2, 0, %rs1;
\t{ .reg .b16 %negated; sub.u16 %negated, 0, %rs2; max.s16 %rs3, %rs2, %negated; }
\tsub.u16 \t%rs4, %rs5, %rs6;
\tret;\n";
        assert_eq!(replaced(ptx), expected);
    }

    #[test]
    fn others_stay() {
        let ptx =
            "\tneg.s32 \t%r2, %r1;\n\tsub.s16x2 \t%r1, %r2, %r3;\n\tadd.s16 \t%rs1, %rs2, %rs3;";
        assert_eq!(replaced(ptx), ptx);
    }
}
