//! Launch bounds: a comment in inline assembly becomes an attribute of the kernel.
//!
//! `#[kernel]` cannot set LLVM's function attributes. It writes
//! `asm!("// cuda_builder maxntid 512 1 1 minctasm 2")` into the kernel's body instead; that call
//! is taken out here and `"nvvm.maxntid"="512,1,1" "nvvm.minctasm"="2"` set on the function.
//!
//! rustc does not pass parameters that are aligned to more than 16 bytes. `tensor_map!` of cuda_std
//! writes `// cuda_builder paramalign 0 64`, which aligns the kernel's parameter 0 to 64 bytes.

use super::line;
use crate::BuildError;

const MARKER: &str = "\"// cuda_builder ";
/// The bounds, and how many numbers follow each.
const BOUNDS: [(&str, usize); 5] = [
    ("reqntid", 3),
    ("maxntid", 3),
    ("cluster_dim", 3),
    ("minctasm", 1),
    ("maxnreg", 1),
];

/// `ir` with the markers taken out and their bounds set.
pub(super) fn from_markers(ir: &str) -> Result<String, BuildError> {
    let mut lines: Vec<String> = Vec::new();
    let mut define = None;
    for text in ir.lines() {
        if text.starts_with("define ") {
            define = Some(lines.len());
            lines.push(text.to_owned());
            continue;
        }
        match (marker(text), define) {
            (Some(marker), Some(define)) => {
                let bounded = with_bounds(&lines[define], marker)?;
                lines[define] = bounded;
            }
            _ => lines.push(text.to_owned()),
        }
    }
    lines.push(String::new());
    Ok(lines.join("\n"))
}

fn marker(text: &str) -> Option<&str> {
    let call = text.find("call ")?;
    let asm = call + text[call..].find(" asm ")?;
    let start = asm + text[asm..].find(MARKER)? + MARKER.len();
    text[start..].split('"').next()
}

fn with_bounds(define: &str, marker: &str) -> Result<String, BuildError> {
    let refuse = |message: String| BuildError::LaunchBounds {
        function: line::defined_function(define).unwrap_or("?").to_owned(),
        marker: marker.to_owned(),
        message,
    };
    if !define.contains(" ptx_kernel ") {
        return Err(refuse("only a kernel has launch bounds".to_owned()));
    }
    let mut attributes = Vec::new();
    let mut words = marker.split_ascii_whitespace();
    if let Some(numbers) = marker.strip_prefix("paramalign ") {
        let numbers: Vec<usize> = (numbers.split(' ').map(str::parse).collect::<Result<_, _>>())
            .map_err(|_| refuse("`paramalign` takes 2 numbers".to_owned()))?;
        let aligned = match numbers[..] {
            [parameter, bytes] => line::with_aligned_parameter(define, parameter, bytes),
            _ => return Err(refuse("`paramalign` takes 2 numbers".to_owned())),
        };
        return aligned.ok_or_else(|| refuse("the function has no such parameter".to_owned()));
    }
    while let Some(bound) = words.next() {
        let Some(&(_, count)) = BOUNDS.iter().find(|(name, _)| *name == bound) else {
            return Err(refuse(format!("`{bound}` is not a launch bound")));
        };
        let numbers: Vec<&str> = words.by_ref().take(count).collect();
        let all_positive = numbers
            .iter()
            .all(|n| n.parse::<u32>().is_ok_and(|n| n > 0));
        if numbers.len() != count || !all_positive {
            return Err(refuse(format!("`{bound}` takes {count} positive numbers")));
        }
        let attribute = format!("\"nvvm.{bound}\"");
        if define.contains(&attribute) {
            return Err(refuse(format!("`{bound}` is given twice")));
        }
        attributes.push(format!("{attribute}=\"{}\"", numbers.join(",")));
    }
    line::with_function_attributes(define, &attributes.join(" "))
        .ok_or_else(|| refuse("the function's definition cannot be read".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFINE: &str = "define ptx_kernel void @k(ptr %a) unnamed_addr #0 {";

    fn kernel(define: &str, marker: &str) -> String {
        format!(
            "{define}\nstart:\n  call void asm sideeffect alignstack \"// cuda_builder {marker}\", \
             \"~{{memory}}\"(), !srcloc !4\n  ret void\n}}\n"
        )
    }

    #[test]
    fn a_kernel_has_clusters() {
        let text = from_markers(&kernel(DEFINE, "reqntid 384 1 1 cluster_dim 2 1 1")).unwrap();
        assert!(text.contains("\"nvvm.cluster_dim\"=\"2,1,1\""), "{text}");
    }

    #[test]
    fn a_parameter_is_aligned_once() {
        let define =
            "define ptx_kernel void @k([8 x i128] %0, { i64, ptr } %1, i32 noundef %n) #1 {";
        let aligned = from_markers(&kernel(define, "paramalign 0 64")).unwrap();
        let expected = "define ptx_kernel void @k([8 x i128] alignstack(64) %0, { i64, ptr } %1, i32 noundef %n) #1 {";
        assert!(aligned.starts_with(expected), "{aligned}");
        let again = from_markers(&kernel(expected, "paramalign 0 64")).unwrap();
        assert!(again.starts_with(expected), "{again}");
        let other = from_markers(&kernel(define, "paramalign 2 64")).unwrap();
        assert!(other.contains("i32 noundef alignstack(64) %n)"), "{other}");
        for wrong in ["paramalign 3 64", "paramalign 0", "paramalign 0 x"] {
            let refused = from_markers(&kernel(define, wrong)).unwrap_err();
            assert!(refused.to_string().contains("paramalign"), "{refused}");
        }
    }

    #[test]
    fn markers_become_attributes() {
        assert_eq!(
            from_markers(&kernel(DEFINE, "maxntid 512 1 1 minctasm 2")).unwrap(),
            "define ptx_kernel void @k(ptr %a) unnamed_addr \
             \"nvvm.maxntid\"=\"512,1,1\" \"nvvm.minctasm\"=\"2\" #0 {\nstart:\n  ret void\n}\n"
        );
    }

    #[test]
    fn what_cannot_be_understood_is_refused() {
        for (define, marker, reason) in [
            (DEFINE, "reqntid 256 1", "takes 3 positive numbers"),
            (DEFINE, "reqntid 0 1 1", "takes 3 positive numbers"),
            (DEFINE, "reqnitd 256 1 1", "is not a launch bound"),
            (
                "define void @helper() {",
                "reqntid 256 1 1",
                "only a kernel",
            ),
        ] {
            let message = from_markers(&kernel(define, marker))
                .unwrap_err()
                .to_string();
            assert!(message.contains(reason), "{message}");
        }
    }

    #[test]
    fn a_bound_given_twice_is_refused() {
        let line = "  call void asm sideeffect \"// cuda_builder minctasm 2\", \"\"()\n";
        let ir = format!("{DEFINE}\n{line}{line}}}\n");
        assert!(
            from_markers(&ir)
                .unwrap_err()
                .to_string()
                .contains("given twice")
        );
    }

    #[test]
    fn a_definition_is_no_marker() {
        let ir = format!("{DEFINE} call void asm sideeffect \"// cuda_builder minctasm 2\"\n");
        assert_eq!(from_markers(&ir).unwrap(), ir);
    }

    #[test]
    fn other_assembly_stays() {
        let ir = "define void @f() {\n  call void asm sideeffect \"nop;\", \"\"()\n}\n";
        assert_eq!(from_markers(ir).unwrap(), ir);
    }
}
