//! The operations of warps and warp groups, as the executor on the host performs them.

use super::size::WARP_SIZE;

/// The operations that the executor performs on the host, each with its per-lane argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpOperation {
    /// The value of the lane whose number is the argument (modulo 32, as in all shuffles).
    ShuffleIdx,
    /// The value of the lane that many below; its own where there is none.
    ShuffleUp,
    /// The value of the lane that many above; its own where there is none.
    ShuffleDown,
    /// The value of the lane whose number differs by exclusive or with the argument.
    ShuffleXor,
    /// A bit for every participating lane with a value other than 0.
    Ballot,
    /// A bit for every participating lane with the same value.
    MatchAny,
    /// Nothing but the rendezvous.
    Sync,
    /// [`mma::m8n8k4_f64`](crate::mma::m8n8k4_f64).
    M8n8k4F64,
    /// [`mma::m16n8k4_f64`](crate::mma::m16n8k4_f64).
    M16n8k4F64,
    /// [`mma::m16n8k8_f64`](crate::mma::m16n8k8_f64).
    M16n8k8F64,
    /// [`mma::m16n8k8_tf32`](crate::mma::m16n8k8_tf32).
    M16n8k8Tf32,
    /// [`mma::m16n8k16_f16`](crate::mma::m16n8k16_f16).
    M16n8k16F16,
    /// [`mma::m16n8k16_bf16`](crate::mma::m16n8k16_bf16).
    M16n8k16Bf16,
    /// [`mma::load_tiles`](crate::mma::load_tiles).
    LoadTiles,
    /// An instruction of [`wgmma`](crate::wgmma) for 64 columns.
    WgmmaN64,
    /// An instruction of [`wgmma`](crate::wgmma) for 128 columns.
    WgmmaN128,
    /// An instruction of [`wgmma`](crate::wgmma) for 256 columns.
    WgmmaN256,
    /// [`wgmma::wait`](crate::wgmma::wait).
    WgmmaWait,
}

impl WarpOperation {
    /// The threads that it is an operation of, whose indices in the block begin at a multiple of
    /// their number: those of a warp, or of a warp group.
    pub fn threads(self) -> u32 {
        match self {
            Self::WgmmaN64 | Self::WgmmaN128 | Self::WgmmaN256 => 4 * WARP_SIZE,
            _ => WARP_SIZE,
        }
    }
}

impl core::fmt::Display for WarpOperation {
    /// The name of the function; `all` and `any` are ballots.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::ShuffleIdx => "shuffle_idx",
            Self::ShuffleUp => "shuffle_up",
            Self::ShuffleDown => "shuffle_down",
            Self::ShuffleXor => "shuffle_xor",
            Self::Ballot => "ballot",
            Self::MatchAny => "match_any",
            Self::Sync => "sync_warp",
            Self::M8n8k4F64 => "m8n8k4_f64",
            Self::M16n8k4F64 => "m16n8k4_f64",
            Self::M16n8k8F64 => "m16n8k8_f64",
            Self::M16n8k8Tf32 => "m16n8k8_tf32",
            Self::M16n8k16F16 => "m16n8k16_f16",
            Self::M16n8k16Bf16 => "m16n8k16_bf16",
            Self::LoadTiles => "load_tiles",
            Self::WgmmaN64 => "a wgmma of 64 columns",
            Self::WgmmaN128 => "a wgmma of 128 columns",
            Self::WgmmaN256 => "a wgmma of 256 columns",
            Self::WgmmaWait => "wgmma::wait",
        })
    }
}
