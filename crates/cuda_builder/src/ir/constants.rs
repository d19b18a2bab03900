//! Immutable statics get the section whose statics move to constant memory.

use super::line;
use super::statics::IMMUTABLE_SECTION;

/// Bytes of constant memory that a module's statics may take.
const LIMIT: usize = 64 << 10;
/// Sizes of statics are rounded up to this many bytes, the widest alignment of Rust's own types.
const ALIGN: usize = 16;
/// Bytes of a pointer.
const POINTER: usize = 8;
/// In the names of statics of `core`. Most are unused, which only LLVM's optimiser finds out.
const OF_CORE: &str = "4core";

/// `ir` with immutable statics in the section of constant memory, in their order and up to its
/// size.
///
/// Left out are unnamed constants and statics that hold pointers, whose values the driver would
/// have to relocate.
pub(super) fn to_section(ir: &str) -> String {
    let mut left = LIMIT - used(ir);
    let mut out = String::with_capacity(ir.len());
    for text in ir.lines() {
        match immutable_size(text).filter(|&size| size <= left) {
            Some(size) => {
                left -= size;
                out.push_str(&with_section(text));
            }
            None => out.push_str(text),
        }
        out.push('\n');
    }
    out
}

/// Bytes of the statics that are in constant memory already.
fn used(ir: &str) -> usize {
    let statics = ir
        .lines()
        .filter(|text| text.starts_with('@') && text.contains("section \".constant\""));
    let sizes = statics.filter_map(|text| {
        let (_, value) = text
            .split_once(" constant ")
            .or_else(|| text.split_once(" global "))?;
        size(value, Some(POINTER))
    });
    sizes.fold(0, usize::saturating_add).min(LIMIT)
}

/// The room in bytes that a static takes if it can go to constant memory.
fn immutable_size(text: &str) -> Option<usize> {
    let name = line::symbol(text.strip_prefix('@')?);
    let (head, value) = text[1 + name.len()..].split_once(" constant ")?;
    let is_left_out = [
        "private",
        " global ",
        "external",
        "addrspace",
        "thread_local",
    ]
    .iter()
    .any(|word| head.contains(word));
    if is_left_out || name.contains(OF_CORE) || value.contains(", section ") {
        return None;
    }
    size(value, None)
}

/// The room in bytes that a static takes, wherever it comes to lie.
///
/// A size that is rounded up to [`ALIGN`] lets the next static start at a multiple of `ALIGN`. From
/// there, one with a larger alignment is at most the difference of the alignments away.
///
/// rustc writes types as arrays of bytes and pointers. `None` for a type with a pointer if pointers
/// have no size here, and for other types. A size beyond `usize` is the largest `usize`.
fn size(value: &str, pointer: Option<usize>) -> Option<usize> {
    let end = match value.strip_prefix("<{") {
        Some(fields) => fields.find("}>")? + 2,
        None => value.find(']')? + 1,
    };
    let mut bytes = 0usize;
    for field in value[..end]
        .trim_matches(['<', '{', '}', '>', ' '])
        .split(", ")
    {
        let field = match field.trim() {
            "ptr" => pointer?,
            field => {
                let count = field.strip_prefix('[')?.strip_suffix(" x i8]")?;
                count.parse::<usize>().ok()?
            }
        };
        bytes = bytes.saturating_add(field);
    }
    let rounded = bytes.checked_next_multiple_of(ALIGN).unwrap_or(usize::MAX);
    Some(rounded.saturating_add(alignment(value).saturating_sub(ALIGN)))
}

/// The alignment of a definition in bytes.
fn alignment(value: &str) -> usize {
    let number = value.rsplit_once(", align ").map_or("", |(_, rest)| rest);
    let end = number.find(|c: char| !c.is_ascii_digit());
    number[..end.unwrap_or(number.len())].parse().unwrap_or(1)
}

/// The definition with the section, which stands before the alignment.
fn with_section(text: &str) -> String {
    match text.rsplit_once(", align ") {
        Some((before, align)) => format!("{before}{IMMUTABLE_SECTION}, align {align}"),
        None => format!("{text}{IMMUTABLE_SECTION}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether each static of the IR goes to constant memory.
    fn moves(ir: &str) -> Vec<bool> {
        let rewritten = to_section(ir);
        let lines = rewritten.lines();
        lines.map(|text| text.contains(IMMUTABLE_SECTION)).collect()
    }

    #[test]
    fn immutable_statics_go_to_constant_memory() {
        assert_eq!(
            to_section("@T = internal constant [8 x i8] c\"1, 2\\00\\00\\00\\00\", align 4"),
            "@T = internal constant [8 x i8] c\"1, 2\\00\\00\\00\\00\", \
             section \".constant.immutable\", align 4\n"
        );
        let ir = "\
@A = constant <{ [4 x i8], [4 x i8] }> <{ [4 x i8] c\"1234\", [4 x i8] undef }>, align 4
@B = internal global [4 x i8] zeroinitializer, align 4
@C = private unnamed_addr constant [4 x i8] zeroinitializer, align 4
@D = internal constant <{ ptr, [8 x i8] }> <{ ptr @A, [8 x i8] undef }>, align 8
@_RNv4core5TABLE = internal constant [4 x i8] zeroinitializer, align 4
@E = constant [4 x i8] zeroinitializer, section \".constant\", align 4";
        assert_eq!(moves(ir), [true, false, false, false, false, false]);
    }

    #[test]
    fn the_rest_stays_in_global_memory() {
        let ir = "\
@A = constant [40000 x i8] zeroinitializer, align 1
@B = constant [25537 x i8] zeroinitializer, align 1
@C = constant [25520 x i8] zeroinitializer, align 1
@D = constant [17 x i8] zeroinitializer, align 1";
        assert_eq!(moves(ir), [true, false, true, false]);
        let ir = "\
@A = constant [65520 x i8] zeroinitializer, section \".constant\", align 1
@B = constant [17 x i8] zeroinitializer, align 1
@C = constant [16 x i8] zeroinitializer, align 1";
        assert_eq!(moves(ir), [false, false, true]);
        // A pointer and 65,472 bytes, rounded up to 65,488, leave 48.
        let ir = "\
@A = constant <{ ptr, [65472 x i8] }> undef, section \".constant\", align 8
@B = constant [49 x i8] zeroinitializer, align 1
@C = constant [48 x i8] zeroinitializer, align 1, !dbg !0";
        assert_eq!(moves(ir), [false, false, true]);
    }

    #[test]
    fn sizes_beyond_any_memory_fit_nowhere() {
        let most = usize::MAX;
        let ir = format!(
            "\
@A = constant <{{ [{most} x i8], [1 x i8] }}> undef, align 1
@B = constant [{most} x i8] undef, align 1
@C = constant [1 x i8] zeroinitializer, align {most}
@D = constant [1 x i8] zeroinitializer, align 1"
        );
        assert_eq!(moves(&ir), [false, false, false, true]);
        let full = format!(
            "\
@A = constant [{most} x i8] undef, section \".constant\", align 1
@B = constant [{most} x i8] undef, section \".constant\", align 1
@C = constant [1 x i8] zeroinitializer, align 1"
        );
        assert_eq!(moves(&full), [false; 3]);
    }

    #[test]
    fn wide_alignments_take_the_room_before_the_static() {
        // 16 bytes, and 65,280 from the next multiple of 256: 65,536 together.
        let ir = "\
@A = constant [1 x i8] zeroinitializer, align 1
@B = constant [65296 x i8] zeroinitializer, align 256
@C = constant [65280 x i8] zeroinitializer, align 256
@D = constant [1 x i8] zeroinitializer, align 1";
        assert_eq!(moves(ir), [true, false, true, false]);
        let ir = "\
@A = global [65280 x i8] zeroinitializer, section \".constant\", align 256
@B = constant [17 x i8] zeroinitializer, align 1
@C = constant [16 x i8] zeroinitializer, align 1";
        assert_eq!(moves(ir), [false, false, true]);
    }
}
