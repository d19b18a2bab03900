//! Atomics that rustc cannot say: additions of floats, and the scope of all of them.
//!
//! cuda_std declares `__atomic_add_f32` and `__atomic_add_f64`, whose calls become `atomicrmw
//! fadd`. Unlike inline assembly LLVM knows that instruction, and picks `atom.shared` or
//! `atom.global` where it sees what the pointer points to.
//!
//! rustc's own atomics are of system scope, that is, atomic towards the host too. They become of
//! device scope: it is all that cuda_std promises, and cheaper.
//!
//! LLVM 22 drops the order of `atomicrmw` for NVPTX: `atom.add` is relaxed. Fences around a relaxed
//! one give the order.

use super::line;

/// The functions, and the type that each adds.
const FLOAT_ADDITIONS: [(&str, &str); 2] = [
    ("__atomic_add_f32", "float"),
    ("__atomic_add_f64", "double"),
];
const SCOPE: &str = "syncscope(\"device\")";
/// The orders that close the operands of an atomic instruction.
const ORDERS: [&str; 5] = [" monotonic", " acquire", " release", " acq_rel", " seq_cst"];

/// `ir` with additions of floats in place of the calls, and all atomics of device scope.
pub(super) fn of_device_scope(ir: &str) -> String {
    let mut out = String::with_capacity(ir.len() + ir.len() / 50);
    for text in ir.lines() {
        let changed = float_addition(text).or_else(|| scoped(text));
        out.push_str(changed.as_deref().unwrap_or(text));
        out.push('\n');
    }
    out
}

/// `%r = call float @__atomic_add_f32(ptr %p, float %v)` as an instruction.
fn float_addition(text: &str) -> Option<String> {
    let call = text.find("call ")?;
    let (at, &(name, ty)) = FLOAT_ADDITIONS
        .iter()
        .find_map(|addition| Some((text.find(&format!("@{}(", addition.0))?, addition)))?;
    let open = at + 1 + name.len();
    let close = line::behind_closing_bracket(text, open)? - 1;
    let result = text[..call].trim_end();
    let result = result.strip_suffix("tail").unwrap_or(result).trim_end();
    // The attributes between type and value are of no use to an instruction.
    let (address, value) = text[open + 1..close].rsplit_once(',')?;
    let (address, value) = (operand(address)?, operand(value)?);
    // The line in the source, if the IR has lines.
    let line = text[close..]
        .find(", !dbg ")
        .map_or("", |at| &text[close + at..]);
    Some(format!(
        "{result} atomicrmw fadd ptr {address}, {ty} {value} {SCOPE} monotonic{line}"
    ))
}

/// The value in `ptr noundef %p` or in `ptr noundef addrspacecast (…)`.
fn operand(text: &str) -> Option<&str> {
    let text = text.trim();
    // An address in a static is an expression, which may have others within.
    let expressions = ["addrspacecast ", "getelementptr "].into_iter();
    match expressions.filter_map(|name| text.find(name)).min() {
        Some(first) => Some(&text[first..]),
        None => text.rsplit(' ').next(),
    }
}

/// An atomic instruction without a scope, with one.
fn scoped(text: &str) -> Option<String> {
    let instruction = text.split_once(" = ").map_or(text, |(_, value)| value);
    let instruction = instruction.trim_start();
    let starts_with = |name| instruction.starts_with(name);
    let keeps_order =
        starts_with("cmpxchg ") || starts_with("load atomic ") || starts_with("store atomic ");
    if !keeps_order && !starts_with("atomicrmw ") || text.contains("syncscope(") {
        return None;
    }
    let at = ORDERS.iter().filter_map(|order| text.find(order)).min()?;
    let (operands, rest) = text.split_at(at);
    if keeps_order {
        return Some(format!("{operands} {SCOPE}{rest}"));
    }
    let order = ORDERS.iter().find(|order| rest.starts_with(**order))?;
    let relaxed = format!("{operands} {SCOPE} monotonic{}", &rest[order.len()..]);
    let (before, after) = match *order {
        " acquire" => (None, Some("acquire")),
        " release" => (Some("release"), None),
        " acq_rel" => (Some("release"), Some("acquire")),
        " seq_cst" => (Some("seq_cst"), Some("acquire")),
        _ => (None, None),
    };
    let fence = |order: &str| format!("  fence {SCOPE} {order}");
    let lines = [before.map(fence), Some(relaxed), after.map(fence)];
    Some(lines.into_iter().flatten().collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_become_instructions() {
        for (call, expected) in [
            (
                "  %_0 = call noundef float @__atomic_add_f32(ptr noundef %address, float noundef %value) #3",
                "  %_0 = atomicrmw fadd ptr %address, float %value syncscope(\"device\") monotonic\n",
            ),
            (
                "  %1 = tail call double @__atomic_add_f64(ptr addrspacecast (ptr addrspace(3) @T to ptr), double 1.000000e+00)",
                "  %1 = atomicrmw fadd ptr addrspacecast (ptr addrspace(3) @T to ptr), double 1.000000e+00 syncscope(\"device\") monotonic\n",
            ),
            (
                "  %1 = tail call float @__atomic_add_f32(ptr noundef getelementptr inbounds nuw (float, ptr addrspacecast (ptr addrspace(3) @T to ptr), i64 1), float noundef %v)",
                "  %1 = atomicrmw fadd ptr getelementptr inbounds nuw (float, ptr addrspacecast (ptr addrspace(3) @T to ptr), i64 1), float %v syncscope(\"device\") monotonic\n",
            ),
            (
                "  %1 = call float @__atomic_add_f32(ptr noundef getelementptr inbounds nuw (i8, ptr @T, i64 4), float noundef %v)",
                "  %1 = atomicrmw fadd ptr getelementptr inbounds nuw (i8, ptr @T, i64 4), float %v syncscope(\"device\") monotonic\n",
            ),
        ] {
            assert_eq!(of_device_scope(call), expected);
        }
    }

    #[test]
    fn atomics_of_rustc_are_narrowed() {
        for (before, expected) in [
            (
                "  %3 = atomicrmw add ptr %p, i32 1 monotonic, align 4",
                "  %3 = atomicrmw add ptr %p, i32 1 syncscope(\"device\") monotonic, align 4\n",
            ),
            (
                "  %3 = cmpxchg ptr %p, i64 %a, i64 %b acq_rel monotonic, align 8",
                "  %3 = cmpxchg ptr %p, i64 %a, i64 %b syncscope(\"device\") acq_rel monotonic, align 8\n",
            ),
            (
                "  %3 = load atomic i32, ptr %p acquire, align 4, !noundef !7",
                "  %3 = load atomic i32, ptr %p syncscope(\"device\") acquire, align 4, !noundef !7\n",
            ),
            (
                "  store atomic i64 %value, ptr addrspace(3) @T monotonic, align 8",
                "  store atomic i64 %value, ptr addrspace(3) @T syncscope(\"device\") monotonic, align 8\n",
            ),
        ] {
            assert_eq!(of_device_scope(before), expected);
        }
    }

    #[test]
    fn fences_give_the_order() {
        for (order, before, after) in [
            ("acquire", "", "\n  fence syncscope(\"device\") acquire"),
            ("release", "  fence syncscope(\"device\") release\n", ""),
            (
                "acq_rel",
                "  fence syncscope(\"device\") release\n",
                "\n  fence syncscope(\"device\") acquire",
            ),
            (
                "seq_cst",
                "  fence syncscope(\"device\") seq_cst\n",
                "\n  fence syncscope(\"device\") acquire",
            ),
        ] {
            let text = format!("  %3 = atomicrmw xchg ptr %p, i32 1 {order}, align 4");
            let relaxed =
                "  %3 = atomicrmw xchg ptr %p, i32 1 syncscope(\"device\") monotonic, align 4";
            assert_eq!(
                of_device_scope(&text),
                format!("{before}{relaxed}{after}\n")
            );
        }
    }

    #[test]
    fn other_lines_stay() {
        let ir = "declare float @__atomic_add_f32(ptr, float)\n\
                  %a = atomicrmw or ptr %p, i32 1 syncscope(\"block\") monotonic, align 4\n\
                  %b = call i32 @atomicrmw_monotonic(i32 1)\n\
                  %c = load i32, ptr %monotonic, align 4\n\
                  store i32 %c, ptr %p, align 4\n\
                  ret void\n";
        assert_eq!(of_device_scope(ir), ir);
    }
}
