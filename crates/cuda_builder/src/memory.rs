//! The statics of a PTX text in shared and constant memory, the parameters of its kernels, and
//! whether they fit.
//!
//! The driver's assembler refuses PTX whose statics or parameters do not fit. It counts shared memory per kernel,
//! with the statics that the kernel and the functions that it calls name, and constant memory for
//! the whole PTX.

use std::collections::{BTreeMap, BTreeSet};

use crate::limits::{MORE_PARAMETERS, PARAMETER_LIMITS};
use crate::ptx::{function_name, is_symbol};
use crate::{BuildError, PtxVersion};

/// Bytes of static shared memory that a kernel can have.
const SHARED_LIMIT: usize = 48 << 10;
/// Bytes of statics that a PTX can have in constant memory.
const CONSTANT_LIMIT: usize = 64 << 10;
/// The number of statics that an error names.
const NAMED: usize = 4;

/// A static or a parameter, as PTX declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Variable<'a> {
    name: &'a str,
    bytes: usize,
    align: usize,
}

/// A function of the PTX, a kernel or not.
#[derive(Debug, Default)]
struct Function<'a> {
    is_entry: bool,
    parameters: Vec<Variable<'a>>,
    /// Shared statics that are declared within the function.
    shared: Vec<Variable<'a>>,
    /// Every symbol in its body.
    symbols: BTreeSet<&'a str>,
}

/// The declarations of a PTX text.
#[derive(Debug, Default)]
struct Statics<'a> {
    functions: BTreeMap<&'a str, Function<'a>>,
    shared: Vec<Variable<'a>>,
    constant: Vec<Variable<'a>>,
}

/// Checks that the statics in shared and constant memory and the kernels' parameters fit.
pub(crate) fn check(package: &str, ptx: &str, version: PtxVersion) -> Result<(), BuildError> {
    let statics = Statics::of(ptx);
    let limit = PARAMETER_LIMITS[usize::from(version >= MORE_PARAMETERS)];
    for (&kernel, function) in &statics.functions {
        let bytes = total(&function.parameters);
        if function.is_entry && bytes > limit {
            return Err(BuildError::Parameters {
                kernel: kernel.to_owned(),
                bytes,
                limit,
                version,
            });
        }
        let used = statics.shared_of(kernel);
        let bytes = total(&used);
        if function.is_entry && bytes > SHARED_LIMIT {
            return Err(BuildError::SharedMemory {
                kernel: kernel.to_owned(),
                bytes,
                limit: SHARED_LIMIT,
                largest: largest(used),
            });
        }
    }
    let bytes = total(&statics.constant);
    if bytes > CONSTANT_LIMIT {
        return Err(BuildError::ConstantMemory {
            package: package.to_owned(),
            bytes,
            limit: CONSTANT_LIMIT,
            largest: largest(statics.constant),
        });
    }
    Ok(())
}

impl<'a> Statics<'a> {
    fn of(ptx: &'a str) -> Self {
        let mut statics = Self::default();
        let mut current: Option<&str> = None;
        // Calls, and inline assembly, have braces of their own.
        let mut open_braces = 0;
        for line in ptx.lines() {
            let line = line.split("//").next().unwrap_or_default().trim();
            if line.starts_with(".extern ") {
                continue;
            }
            if let Some(name) = function_name(line) {
                let function = statics.functions.entry(name).or_default();
                function.is_entry = line.contains(".entry");
                current = Some(name);
            } else if let Some((space, variable)) = declaration(line) {
                match (space, current) {
                    // Braces hold the parameters of calls.
                    (".param", Some(name)) if open_braces == 0 => {
                        let function = statics.functions.entry(name).or_default();
                        function.parameters.push(variable);
                    }
                    (".param", _) => {}
                    (".shared", None) => statics.shared.push(variable),
                    (".shared", Some(name)) => {
                        let function = statics.functions.entry(name).or_default();
                        function.shared.push(variable);
                    }
                    _ => statics.constant.push(variable),
                }
            } else if let Some(name) = current {
                let symbols = line.split(|c| !is_symbol(c)).filter(|s| !s.is_empty());
                let function = statics.functions.entry(name).or_default();
                function.symbols.extend(symbols);
            }
            open_braces += line.matches('{').count();
            let closed = line.matches('}').count();
            open_braces = open_braces.saturating_sub(closed);
            // A declaration ends without a body: `;`, or `.noreturn;` of a function that never returns.
            if open_braces == 0 && (closed > 0 || line.ends_with(';')) {
                current = None;
            }
        }
        statics
    }

    /// The shared statics that a kernel and the functions that it calls name, in the order of
    /// ptxas: the kernel's own ones first.
    fn shared_of(&self, kernel: &str) -> Vec<Variable<'a>> {
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        let mut open = vec![kernel];
        let mut used = Vec::new();
        let mut symbols: BTreeSet<&str> = BTreeSet::new();
        while let Some(name) = open.pop() {
            let Some(function) = self.functions.get(name).filter(|_| reached.insert(name)) else {
                continue;
            };
            used.extend(&function.shared);
            symbols.extend(&function.symbols);
            open.extend(&function.symbols);
        }
        let is_used = |variable: &&Variable| symbols.contains(variable.name);
        used.extend(self.shared.iter().filter(is_used));
        used
    }
}

/// The memory and the variable of a line such as `.shared .align 16 .b8 TILE[1024];` or
/// `.param .u64 .ptr .align 1 copy_param_1`.
fn declaration(line: &str) -> Option<(&str, Variable<'_>)> {
    let mut words = line.split_ascii_whitespace();
    let is_linkage = |word: &&str| matches!(*word, ".visible" | ".weak" | ".common");
    let space = words.find(|word| !is_linkage(word))?;
    if !matches!(space, ".shared" | ".const" | ".param") {
        return None;
    }
    let mut word = words.next()?;
    let mut align = None;
    if word == ".align" {
        align = Some(words.next()?.parse().ok()?);
        word = words.next()?;
    }
    let bits: usize = word
        .trim_start_matches(|c: char| !c.is_ascii_digit())
        .parse()
        .ok()?;
    // A pointer says what it points to before its name.
    let declared = match space {
        ".param" => words.next_back()?.trim_end_matches(','),
        _ => words.next()?.trim_end_matches(';'),
    };
    let (name, count) = match declared.split_once('[') {
        Some((name, count)) => (name, count.split(']').next()?.parse().ok()?),
        None => (declared, 1),
    };
    let element = bits / 8;
    let variable = Variable {
        name,
        bytes: element.saturating_mul(count),
        align: align.unwrap_or(element).max(1),
    };
    Some((space, variable))
}

/// Bytes of the statics one after the other, each at a multiple of its alignment. A size beyond
/// `usize` is the largest `usize`.
fn total(variables: &[Variable]) -> usize {
    variables.iter().fold(0usize, |end, variable| {
        let start = end.checked_next_multiple_of(variable.align);
        start.unwrap_or(usize::MAX).saturating_add(variable.bytes)
    })
}

/// The names and sizes of the largest statics.
fn largest(mut variables: Vec<Variable>) -> Vec<(String, usize)> {
    variables.sort_by_key(|variable| std::cmp::Reverse(variable.bytes));
    variables.truncate(NAMED);
    let named = variables.iter().map(|one| (one.name.to_owned(), one.bytes));
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: PtxVersion = PtxVersion::new(7, 0);

    const PTX: &str = "\
.extern .shared .align 16 .b8 __dynamic_smem[];
.shared .align 1 .b8 A[1];
.shared .align 16 .b8 B[1024];
.shared .align 1 .b8 UNUSED[60000];
.visible .const .align 4 .b8 C[5];
.const .align 8 .u64 D[2] = {1, 2};
.const .f32 E = 0f3F800000;
.visible .global .align 4 .b8 G[4];
.func  (.param .b32 func_retval0) helper(
	.param .b64 helper_param_0
)
;
.visible .entry declared(
	.param .u64 declared_param_0
)
{
	mov.u64 	%rd2, B;
	{ mov.u64 	%rd3, A; }
	ret;
}
.func  (.param .b32 func_retval0) helper(
	.param .b64 helper_param_0
)
{
	st.shared.u8 	[A+0], %rs1;
	ret;
}
.visible .entry calls()
{
	// demoted variable
	.shared .align 16 .b8 LOCAL[3];
	call.uni (retval0), helper, (param0);
	ret;
}
";

    /// The sums are those that ptxas prints for kernels like these.
    #[test]
    fn kernels_have_the_shared_statics_that_they_name() {
        let statics = Statics::of(PTX);
        let names = |kernel| Vec::from_iter(statics.shared_of(kernel).iter().map(|one| one.name));
        assert_eq!(names("declared"), ["A", "B"]);
        assert_eq!(total(&statics.shared_of("declared")), 1040);
        assert_eq!(names("calls"), ["LOCAL", "A"]);
        assert_eq!(total(&statics.shared_of("calls")), 4);
        assert!(check("kernels", PTX, VERSION).is_ok());
    }

    /// LLVM declares functions before the statics of the module.
    #[test]
    fn statics_behind_a_declaration_belong_to_no_function() {
        let declarations = "\
.func fail
(
	.param .b64 fail_param_0
)
.noreturn;
.shared .align 4 .b8 FIRST[32768];
.shared .align 4 .b8 SECOND[32768];
.visible .entry one()
{
	call.uni fail, (param0);
	st.shared.b32 	[FIRST], %r1;
}
.visible .entry two()
{
	st.shared.b32 	[SECOND], %r1;
}
.func fail(
	.param .b64 fail_param_0
)
.noreturn
{
}
";
        let statics = Statics::of(declarations);
        for (kernel, name) in [("one", "FIRST"), ("two", "SECOND")] {
            let shared = statics.shared_of(kernel);
            assert_eq!((shared.len(), shared[0].name), (1, name), "{kernel}");
        }
        assert!(check("kernels", declarations, VERSION).is_ok());
    }

    #[test]
    fn constants_are_counted_whether_they_are_used_or_not() {
        let statics = Statics::of(PTX);
        let of = |name, bytes, align| Variable { name, bytes, align };
        let constants = [of("C", 5, 4), of("D", 16, 8), of("E", 4, 4)];
        assert_eq!(statics.constant, constants);
        assert_eq!(total(&statics.constant), 28);
    }

    #[test]
    fn too_much_shared_memory_is_an_error_with_the_kernel() {
        let full = PTX.replace("B[1024]", "B[49136]");
        assert!(check("kernels", &full, VERSION).is_ok());
        let error = check("kernels", &PTX.replace("B[1024]", "B[49137]"), VERSION).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the kernel `declared` has 49153 bytes of static shared memory, and the limit is \
             49152: use dynamic shared memory (`shared::dynamic_shared_mem`), whose size the launch \
             gives, in place of the largest statics: `B` (49137 bytes), `A` (1 byte)"
        );
    }

    #[test]
    fn too_many_bytes_of_parameters_are_an_error_with_the_kernel() {
        let ptx = |bytes: usize| {
            format!(
                "\
.visible .entry large(
	.param .u64 .ptr .align 1 large_param_0,
	.param .u8 large_param_1,
	.param .align 16 .b8 large_param_2[{bytes}]
)
.reqntid 256, 1, 1
{{
	{{ // callseq 0, 0
	.param .align 8 .b8 param0[8192];
	}} // callseq 0, 0
	ret;
}}
"
            )
        };
        assert!(check("kernels", &ptx(4336), VERSION).is_ok());
        let error = check("kernels", &ptx(4352), VERSION).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the parameters of the kernel `large` have 4368 bytes together, and the limit of PTX \
             7.0 is 4352: pass a pointer to a value in a buffer, or ask for `ptx_version` 8.1, \
             whose limit is 32764, for drivers of CUDA 12.1 and later"
        );
        let version = PtxVersion::new(8, 1);
        assert!(check("kernels", &ptx(32_736), version).is_ok());
        let error = check("kernels", &ptx(32_768), version)
            .unwrap_err()
            .to_string();
        assert!(
            error.ends_with("8.1 is 32764: pass a pointer to a value in a buffer"),
            "{error}"
        );
    }

    #[test]
    fn sizes_beyond_any_memory_are_errors() {
        for [declared, huge] in [
            ["A[1]", "A[18446744073709551615]"],
            ["D[2]", "D[4611686018427387904]"],
            [".const .align 8", ".const .align 18446744073709551615"],
        ] {
            let error = check("kernels", &PTX.replace(declared, huge), VERSION).unwrap_err();
            assert!(
                error.to_string().contains("18446744073709551615"),
                "{error}"
            );
        }
    }

    #[test]
    fn too_much_constant_memory_is_an_error_with_the_largest() {
        let full = PTX.replace("C[5]", "C[65512]");
        assert!(check("kernels", &full, VERSION).is_ok());
        let error = check("kernels", &PTX.replace("C[5]", "C[65513]"), VERSION).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the statics of `kernels` in constant memory have 65540 bytes, and the limit is 65536: \
             put the largest into global memory with `#[address_space(global)]`: `C` (65513 bytes), \
             `D` (16 bytes), `E` (4 bytes)"
        );
    }
}
