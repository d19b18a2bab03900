//! Reading single lines of textual LLVM IR.

/// A symbol that stands at the start of `text`, just after the `@`: its name as written (with its
/// quotes, if any).
pub(super) fn symbol(text: &str) -> &str {
    let end = match text.strip_prefix('"') {
        Some(quoted) => quoted.find('"').map_or(text.len(), |close| close + 2),
        None => text.find(|c: char| !is_symbol(c)).unwrap_or(text.len()),
    };
    &text[..end]
}

fn is_symbol(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '-')
}

/// The name of the function that a `define` line starts; `None` for other lines.
pub(super) fn defined_function(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("define ")?;
    Some(symbol(&rest[rest.find('@')? + 1..]))
}

/// Position just behind the bracket that closes the one at `open`, strings skipped; `None` if no
/// bracket opens there, or none closes it.
pub(super) fn behind_closing_bracket(line: &str, open: usize) -> Option<usize> {
    if !line.get(open..)?.starts_with('(') {
        return None;
    }
    let mut depth = 0_usize;
    let mut in_string = false;
    for (position, c) in line
        .char_indices()
        .skip_while(|&(position, _)| position < open)
    {
        match c {
            '"' => in_string = !in_string,
            '(' if !in_string => depth += 1,
            ')' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(position + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// A `define` line with `attributes` added to the function's own.
pub(super) fn with_function_attributes(line: &str, attributes: &str) -> Option<String> {
    let name = defined_function(line)?;
    let name_end = line.find('@')? + 1 + name.len();
    let mut position = behind_closing_bracket(line, name_end)?;
    // The attributes follow `unnamed_addr` and precede `section`, `align` and their like.
    for word in [" local_unnamed_addr", " unnamed_addr"] {
        if line[position..].starts_with(word) {
            position += word.len();
        }
    }
    Some(format!(
        "{} {attributes}{}",
        &line[..position],
        &line[position..]
    ))
}

/// A `define` line whose parameter number `number` is aligned to `bytes` in the PTX; `None` if there
/// is no such parameter.
pub(super) fn with_aligned_parameter(line: &str, number: usize, bytes: usize) -> Option<String> {
    let open = line.find('@')? + 1 + defined_function(line)?.len();
    let close = behind_closing_bracket(line, open)? - 1;
    let mut depth = 0_i32;
    let ends = line[..close]
        .char_indices()
        .skip_while(|(at, _)| *at <= open)
        .filter(|(_, c)| {
            depth += match c {
                '(' | '[' | '{' | '<' => 1,
                ')' | ']' | '}' | '>' => -1,
                _ => 0,
            };
            *c == ',' && depth == 0
        });
    let end = ends.map(|(at, _)| at).chain([close]).nth(number)?;
    // The name comes last.
    let name = open + 1 + line[open + 1..end].rfind(" %")?;
    let attribute = format!(" alignstack({bytes})");
    match line[..name].ends_with(&attribute) {
        true => Some(line.to_owned()),
        false => Some(format!("{}{attribute}{}", &line[..name], &line[name..])),
    }
}

/// Copies a line, with other text in place of the names behind `sigil` (`@` or `%`) that `rename`
/// knows. Strings are no names.
pub(super) fn push_renamed(
    out: &mut String,
    line: &str,
    sigil: char,
    rename: impl Fn(&str) -> Option<String>,
) {
    let mut rest = line;
    while let Some(position) = rest.find([sigil, '"']) {
        let (before, from) = rest.split_at(position);
        out.push_str(before);
        let name = from.strip_prefix(sigil).map(symbol);
        let length = match name {
            Some(name) => 1 + name.len(),
            None => from[1..].find('"').map_or(from.len(), |close| close + 2),
        };
        let (token, behind) = from.split_at(length);
        match name.and_then(&rename) {
            Some(new) => out.push_str(&new),
            None => out.push_str(token),
        }
        rest = behind;
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_end_where_llvm_ends_them() {
        assert_eq!(symbol("TILE, i64 4"), "TILE");
        assert_eq!(symbol("a.b$c-d)"), "a.b$c-d");
        assert_eq!(symbol("\"odd name\" = global"), "\"odd name\"");
    }

    #[test]
    fn a_line_without_parameters_has_no_bracket_that_closes() {
        for (line, open) in [
            ("@f) (", 2),
            ("@fé()", 2),
            ("@f", 2),
            ("@f(", 2),
            ("@f(\")", 2),
        ] {
            assert_eq!(behind_closing_bracket(line, open), None, "{line}");
        }
        assert_eq!(behind_closing_bracket("@f(a(\")\")) #0", 2), Some(10));
    }

    /// Positions are bytes, not characters.
    #[test]
    fn parameters_are_counted_behind_any_name() {
        let line = "define ptx_kernel void @\"größe\"(i32 %a, ptr %b, i64 %c) {";
        let aligned = with_aligned_parameter(line, 1, 64).unwrap();
        assert_eq!(aligned, line.replace("ptr %b", "ptr alignstack(64) %b"));
        assert_eq!(with_aligned_parameter(line, 3, 64), None);
    }

    #[test]
    fn attributes_go_behind_the_parameters() {
        let line = "define ptx_kernel void @k(ptr dereferenceable(4) %a) unnamed_addr #0 {";
        assert_eq!(
            with_function_attributes(line, "convergent").unwrap(),
            "define ptx_kernel void @k(ptr dereferenceable(4) %a) unnamed_addr convergent #0 {"
        );
        let line = "define void @\"k(\"() {";
        assert_eq!(
            with_function_attributes(line, "x").unwrap(),
            "define void @\"k(\"() x {"
        );
    }
}
