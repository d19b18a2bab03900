//! Conversions between floats and integers of 128 bits.
//!
//! LLVM turns them into calls of a library that GPUs do not have, and stops. They become calls of functions that stand at the
//! end of the IR.

/// An instruction, from its result's `=` on to its operand, and the function that it becomes.
struct Conversion {
    instruction: &'static str,
    operand_type: &'static str,
    behind_operand: &'static str,
    result_type: &'static str,
    function: &'static str,
}

const fn conversion(
    [instruction, operand_type, behind_operand]: [&'static str; 3],
    result_type: &'static str,
    function: &'static str,
) -> Conversion {
    Conversion {
        instruction,
        operand_type,
        behind_operand,
        result_type,
        function,
    }
}

/// The saturating ones are Rust's `as`, the others `to_int_unchecked`.
const CONVERSIONS: [Conversion; 12] = [
    conversion(
        ["uitofp i128 ", "i128", " to float"],
        "float",
        "f32_of_u128",
    ),
    conversion(
        ["sitofp i128 ", "i128", " to float"],
        "float",
        "f32_of_i128",
    ),
    conversion(
        ["uitofp i128 ", "i128", " to double"],
        "double",
        "f64_of_u128",
    ),
    conversion(
        ["sitofp i128 ", "i128", " to double"],
        "double",
        "f64_of_i128",
    ),
    conversion(
        ["fptoui float ", "float", " to i128"],
        "i128",
        "u128_of_f32",
    ),
    conversion(
        ["fptosi float ", "float", " to i128"],
        "i128",
        "i128_of_f32",
    ),
    conversion(
        ["fptoui double ", "double", " to i128"],
        "i128",
        "u128_of_f64",
    ),
    conversion(
        ["fptosi double ", "double", " to i128"],
        "i128",
        "i128_of_f64",
    ),
    conversion(
        ["call i128 @llvm.fptoui.sat.i128.f32(float ", "float", ")"],
        "i128",
        "u128_of_f32",
    ),
    conversion(
        ["call i128 @llvm.fptosi.sat.i128.f32(float ", "float", ")"],
        "i128",
        "i128_of_f32",
    ),
    conversion(
        ["call i128 @llvm.fptoui.sat.i128.f64(double ", "double", ")"],
        "i128",
        "u128_of_f64",
    ),
    conversion(
        ["call i128 @llvm.fptosi.sat.i128.f64(double ", "double", ")"],
        "i128",
        "i128_of_f64",
    ),
];

/// `ir` with calls in place of the conversions, and the functions if there is a call.
pub(super) fn to_calls(ir: &str) -> String {
    let mut out = String::with_capacity(ir.len());
    let mut is_changed = false;
    for text in ir.lines() {
        let changed = call(text);
        is_changed |= changed.is_some();
        out.push_str(changed.as_deref().unwrap_or(text));
        out.push('\n');
    }
    if is_changed {
        out.push_str(FUNCTIONS);
        // A second declaration of the same function would be an error.
        if !ir.contains("declare i128 @llvm.ctlz.i128(") {
            out.push_str("declare i128 @llvm.ctlz.i128(i128, i1 immarg)\n");
        }
    }
    out
}

/// A conversion as a call; nothing for other lines.
fn call(text: &str) -> Option<String> {
    let (result, instruction) = text.split_once(" = ")?;
    // `tail call`, `uitofp nneg`.
    let instruction = instruction
        .trim_start_matches("tail ")
        .replacen(" nneg ", " ", 1);
    CONVERSIONS.iter().find_map(|conversion| {
        let rest = instruction.strip_prefix(conversion.instruction)?;
        let rest = rest.strip_prefix("noundef ").unwrap_or(rest);
        let (operand, rest) = rest.split_once(conversion.behind_operand)?;
        // What follows is the line in the source, or attributes.
        let line = rest.find(", !dbg ").map_or("", |at| &rest[at..]);
        let Conversion {
            operand_type,
            result_type,
            function,
            ..
        } = conversion;
        Some(format!(
            "{result} = call {result_type} @gridstride_{function}({operand_type} {operand}){line}"
        ))
    })
}

/// To floats: shifts out the leading zeros, ORs the lower 64 bits into the last of the upper 64 (sticky), rounds those once with
/// `uitofp`, and scales by a power of two. From floats: both halves are exact.
const FUNCTIONS: &str = "
define internal i64 @gridstride_leading_bits(i128 %x, i128 %zeros) {
  %shifted = shl i128 %x, %zeros
  %low = trunc i128 %shifted to i64
  %shifted_high = lshr i128 %shifted, 64
  %high = trunc i128 %shifted_high to i64
  %has_low = icmp ne i64 %low, 0
  %sticky = zext i1 %has_low to i64
  %bits = or i64 %high, %sticky
  ret i64 %bits
}

define internal i128 @gridstride_zeros(i128 %x) {
  %count = call i128 @llvm.ctlz.i128(i128 %x, i1 false)
  %is_zero = icmp eq i128 %x, 0
  %zeros = select i1 %is_zero, i128 127, i128 %count
  ret i128 %zeros
}

define internal double @gridstride_f64_of_u128(i128 %x) {
  %zeros = call i128 @gridstride_zeros(i128 %x)
  %bits = call i64 @gridstride_leading_bits(i128 %x, i128 %zeros)
  %rounded = uitofp i64 %bits to double
  %zeros_64 = trunc i128 %zeros to i64
  %exponent = sub i64 1087, %zeros_64
  %scale_bits = shl i64 %exponent, 52
  %scale = bitcast i64 %scale_bits to double
  %result = fmul double %rounded, %scale
  ret double %result
}

define internal float @gridstride_f32_of_u128(i128 %x) {
  %zeros = call i128 @gridstride_zeros(i128 %x)
  %bits = call i64 @gridstride_leading_bits(i128 %x, i128 %zeros)
  %rounded = uitofp i64 %bits to float
  %zeros_32 = trunc i128 %zeros to i32
  %exponent = sub i32 191, %zeros_32
  %scale_bits = shl i32 %exponent, 23
  %scale = bitcast i32 %scale_bits to float
  %result = fmul float %rounded, %scale
  ret float %result
}

define internal double @gridstride_f64_of_i128(i128 %x) {
  %sign = ashr i128 %x, 127
  %flipped = xor i128 %x, %sign
  %magnitude = sub i128 %flipped, %sign
  %float = call double @gridstride_f64_of_u128(i128 %magnitude)
  %negated = fneg double %float
  %is_negative = icmp slt i128 %x, 0
  %result = select i1 %is_negative, double %negated, double %float
  ret double %result
}

define internal float @gridstride_f32_of_i128(i128 %x) {
  %sign = ashr i128 %x, 127
  %flipped = xor i128 %x, %sign
  %magnitude = sub i128 %flipped, %sign
  %float = call float @gridstride_f32_of_u128(i128 %magnitude)
  %negated = fneg float %float
  %is_negative = icmp slt i128 %x, 0
  %result = select i1 %is_negative, float %negated, float %float
  ret float %result
}

define internal i128 @gridstride_u128_of_f64(double %x) {
  %is_positive = fcmp ogt double %x, 0.0
  %is_large = fcmp oge double %x, 0x47F0000000000000
  %without_negative = select i1 %is_positive, double %x, double 0.0
  %number = select i1 %is_large, double 0.0, double %without_negative
  %scaled = fmul double %number, 0x3BF0000000000000
  %high = fptoui double %scaled to i64
  %high_float = uitofp i64 %high to double
  %high_part = fmul double %high_float, 0x43F0000000000000
  %low_part = fsub double %number, %high_part
  %low = fptoui double %low_part to i64
  %high_wide = zext i64 %high to i128
  %high_bits = shl i128 %high_wide, 64
  %low_bits = zext i64 %low to i128
  %bits = or i128 %high_bits, %low_bits
  %result = select i1 %is_large, i128 -1, i128 %bits
  ret i128 %result
}

define internal i128 @gridstride_i128_of_f64(double %x) {
  %negated = fneg double %x
  %is_negative = fcmp olt double %x, 0.0
  %absolute = select i1 %is_negative, double %negated, double %x
  %is_large = fcmp oge double %absolute, 0x47E0000000000000
  %number = select i1 %is_large, double 0.0, double %absolute
  %magnitude = call i128 @gridstride_u128_of_f64(double %number)
  %minus = sub i128 0, %magnitude
  %bits = select i1 %is_negative, i128 %minus, i128 %magnitude
  %most = select i1 %is_negative, i128 -170141183460469231731687303715884105728, i128 170141183460469231731687303715884105727
  %result = select i1 %is_large, i128 %most, i128 %bits
  ret i128 %result
}

define internal i128 @gridstride_u128_of_f32(float %x) {
  %wide = fpext float %x to double
  %result = call i128 @gridstride_u128_of_f64(double %wide)
  ret i128 %result
}

define internal i128 @gridstride_i128_of_f32(float %x) {
  %wide = fpext float %x to double
  %result = call i128 @gridstride_i128_of_f64(double %wide)
  ret i128 %result
}

";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_become_calls() {
        for (instruction, expected) in [
            (
                "  %_0 = uitofp i128 %x to double, !dbg !7",
                "  %_0 = call double @gridstride_f64_of_u128(i128 %x), !dbg !7",
            ),
            (
                "  %1 = call i128 @llvm.fptosi.sat.i128.f32(float %x) #4",
                "  %1 = call i128 @gridstride_i128_of_f32(float %x)",
            ),
            (
                "  %1 = fptoui double %x to i128",
                "  %1 = call i128 @gridstride_u128_of_f64(double %x)",
            ),
        ] {
            assert_eq!(call(instruction).as_deref(), Some(expected));
            let ir = to_calls(instruction);
            assert!(ir.contains("define internal double @gridstride_f64_of_u128(i128 %x) {"));
            assert_eq!(ir.matches("declare ").count(), 1);
        }
    }

    #[test]
    fn others_stay() {
        for ir in [
            "  %_0 = uitofp i64 %x to double\n",
            "  %_0 = zext i64 %x to i128\n",
        ] {
            assert_eq!(to_calls(ir), ir);
        }
    }
}
