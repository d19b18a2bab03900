//! The size of a warp.

/// Lanes in a warp.
pub const WARP_SIZE: u32 = 32;
