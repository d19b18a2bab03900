//! Reading PTX: entries, barriers, and what is left undefined.

use std::collections::BTreeMap;

/// Functions that the driver itself provides.
const DRIVER_FUNCTIONS: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// The contents of a PTX text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PtxSummary {
    /// The entry points, that is the kernels, in the order of the text.
    pub entries: Vec<String>,
    /// For each function with a body (kernel or not): how many instructions of it wait for the
    /// block's other threads (`bar.*`, `barrier.*`, also those that reduce: `bar.red`).
    pub barriers: BTreeMap<String, usize>,
    /// Functions and variables that are used but not defined.
    pub undefined: Vec<String>,
}

impl PtxSummary {
    /// Reads a PTX text.
    #[must_use]
    pub fn of(ptx: &str) -> Self {
        let mut summary = Self::default();
        let mut function = None;
        // Calls, and inline assembly, have braces of their own.
        let mut open_braces = 0;
        for line in ptx.lines() {
            let line = line.split("//").next().unwrap_or_default().trim();
            if let Some(external) = line.strip_prefix(".extern ") {
                summary.undefined.extend(undefined_symbol(external));
            } else if let Some(name) = function_name(line) {
                if line.contains(".entry") {
                    summary.entries.push(name.to_owned());
                }
                function = Some(name.to_owned());
            } else if let Some(name) = &function {
                // Inline assembly may have several instructions in a line, within braces.
                let instructions = line.split([';', '{', '}']);
                let count = instructions.filter(|text| is_barrier(text.trim())).count();
                if count > 0 {
                    *summary.barriers.entry(name.clone()).or_default() += count;
                }
            }
            open_braces += line.matches('{').count();
            let closed = line.matches('}').count();
            open_braces = open_braces.saturating_sub(closed);
            if closed > 0 && open_braces == 0 {
                function = None;
            }
        }
        for entry in &summary.entries {
            summary.barriers.entry(entry.clone()).or_default();
        }
        summary
    }
}

/// The name behind `.entry` or `.func`.
pub(crate) fn function_name(line: &str) -> Option<&str> {
    let at = line
        .find(".entry ")
        .map(|at| at + 7)
        .or_else(|| line.find(".func ").map(|at| at + 6))?;
    let rest = line[at..].trim_start();
    // A function that returns something names it, in brackets, before itself.
    let rest = match rest.strip_prefix('(') {
        Some(result) => result.split_once(')')?.1.trim_start(),
        None => rest,
    };
    let end = rest.find(|c: char| !is_symbol(c)).unwrap_or(rest.len());
    (end > 0).then_some(&rest[..end])
}

pub(crate) fn is_symbol(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%')
}

/// The symbol of an `.extern` declaration, unless the launch or the driver provides it.
fn undefined_symbol(declaration: &str) -> Option<String> {
    if declaration.starts_with(".shared") {
        return None;
    }
    let name = if declaration.starts_with(".func") {
        function_name(declaration)?
    } else {
        let last = declaration
            .trim_end_matches(';')
            .split_ascii_whitespace()
            .next_back()?;
        last.split('[').next()?
    };
    (!DRIVER_FUNCTIONS.contains(&name)).then(|| name.to_owned())
}

fn is_barrier(instruction: &str) -> bool {
    // `@%p1 bar.sync 0` is a barrier under a predicate.
    let instruction = match instruction.strip_prefix('@') {
        Some(predicated) => predicated
            .split_once(char::is_whitespace)
            .map_or("", |(_, rest)| rest),
        None => instruction,
    };
    let instruction = instruction.trim_start();
    (instruction.starts_with("bar.") && !instruction.starts_with("bar.warp."))
        || instruction.starts_with("barrier.")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.version 7.0
.extern .func  (.param .b32 func_retval0) missing
(
	.param .b64 missing_param_0
)
;
.extern .func  (.param .b32 func_retval0) vprintf
.extern .shared .align 16 .b8 __dynamic_smem[];
.extern .global .align 4 .b8 TABLE[16];
.func  (.param .b32 func_retval0) helper(
	.param .b32 helper_param_0
)
{
	barrier.sync.aligned 0;
	bar.warp.sync -1;
}
.visible .entry first(
	.param .u64 first_param_0
)
.reqntid 256, 1, 1
{
	// bar.sync 0;
	bar.sync 	0;
	{ // callseq 0, 0
	call.uni missing, ();
	} // callseq 0, 0
	st.v2.b32 [%rd1], {%r1, %r2};
	@%p1 bar.sync 	0;
	ret;
}
.visible .entry reducing()
{
	{ .reg .pred %in; setp.ne.u32 %in, %r2, 0; bar.red.popc.u32 %r1, 0, %in; }
	{ .reg .pred %in; { .reg .pred %all; barrier.red.and.pred %all, 0, %in; selp.u32 %r3, 1, 0, %all; } }
	@!%p2 barrier.cta.red.or.pred %p1, 0, %p2;
	redux.sync.add.u32 %r1, %r2, -1;
	ret;
}
.visible .entry second()
{
	ret;
}
";

    #[test]
    fn entries_and_barriers_are_counted() {
        let summary = PtxSummary::of(PTX);
        assert_eq!(summary.entries, ["first", "reducing", "second"]);
        let counts = [("first", 2), ("helper", 1), ("reducing", 3), ("second", 0)];
        assert_eq!(
            summary.barriers,
            counts.map(|(name, n)| (name.to_owned(), n)).into()
        );
    }

    #[test]
    fn undefined_symbols_are_named() {
        assert_eq!(PtxSummary::of(PTX).undefined, ["missing", "TABLE"]);
    }
}
