//! Limits of the simulated device.

/// The limits of the simulated device. The default has the limits of compute capability 9.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Threads in a block, at most 1024: larger limits count as 1024.
    pub block_threads: u32,
    /// Bytes of shared memory of a block, static and dynamic together.
    pub shared_bytes: u32,
    /// Bytes of static shared memory of a block; the assembler refuses more. The simulator counts
    /// the arrays of `shared_array!`, and no statics with `#[address_space(shared)]`.
    pub static_shared_bytes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            block_threads: 1024,
            shared_bytes: 227 << 10,
            static_shared_bytes: 48 << 10,
        }
    }
}
