//! Where matrix instructions of a warp group find their operands.

use crate::shared::SharedAddress;

/// A tile of A or B in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand(u64);

impl Operand {
    /// Rows along k: `stride` bytes lie between atoms whose rows of A or columns of B follow each
    /// other. What an instruction takes of k must be in one row of the atom.
    #[inline(always)]
    pub fn along_k(start: SharedAddress, stride: u32) -> Operand {
        Operand::new(start, 16, stride)
    }

    /// Rows across k: `stride` bytes lie between atoms whose rows of A or columns of B follow each
    /// other, and `stride_k` bytes between atoms whose k do. For 16-bit numbers only.
    #[inline(always)]
    pub fn across_k(start: SharedAddress, stride: u32, stride_k: u32) -> Operand {
        Operand::new(start, stride, stride_k)
    }

    #[inline(always)]
    fn new(start: SharedAddress, leading: u32, stride: u32) -> Operand {
        /// Pieces of 16 bytes that are exclusive or'ed with the numbers of eight rows of 128 bytes.
        const SWIZZLED: u64 = 1 << 62;
        let pieces = |bytes: u32| ((bytes & 0x3_ffff) >> 4) as u64;
        let start = start.bits();
        // What is out of range has to stay so.
        #[cfg(not(target_arch = "nvptx64"))]
        let start = start.min(0x3_ffff);
        Operand(SWIZZLED | pieces(stride) << 32 | pieces(leading) << 16 | pieces(start))
    }

    /// The same tile from `bytes`, a multiple of 16, further on.
    #[inline(always)]
    pub fn offset(self, bytes: u32) -> Operand {
        Operand(self.0 + (bytes >> 4) as u64)
    }

    /// The form that the instruction takes: from bit 0 the address, from bit 16 the first distance
    /// and from bit 32 the second, all in pieces of 16 bytes.
    #[inline(always)]
    pub fn bits(self) -> u64 {
        self.0
    }
}
