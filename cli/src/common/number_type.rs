//! The types of numbers.

gridstride::choice! {
    /// Types of numbers. Each subcommand takes some of them.
    pub enum NumberType("type") {
        /// 32-bit floating point.
        F32("f32"),
        /// 64-bit floating point.
        F64("f64"),
        /// f32, of which tensor cores multiply the upper 19 bits on GPUs that support it.
        Tf32("tf32"),
        /// f32, as sums of six products of bf16 on GPUs that support it: about as accurate, and faster.
        F32ByBf16x6("f32-by-bf16x6"),
        /// The upper 16 bits of f32.
        Bf16("bf16"),
        /// 16-bit floating point.
        F16("f16"),
        /// 32-bit integers.
        I32("i32"),
    }
}
