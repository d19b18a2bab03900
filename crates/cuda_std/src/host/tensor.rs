//! Arrays whose tiles are copied, and the copies that are not done.

/// The description of a [`TensorMap`](crate::tensor::TensorMap): an array of three axes, the one
/// whose elements are neighbours first, and the tiles that kernels copy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorTiles {
    /// The address of the first element, a multiple of 16.
    pub address: u64,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub element_bytes: u32,
    /// Elements of each axis: 1 to 2³².
    pub lengths: [u64; 3],
    /// Bytes from an element to the next one along the second and the third axis: multiples of 16
    /// below 2⁴⁰.
    pub strides: [u64; 2],
    /// Elements of a tile along each axis: 1 to 256. Rows along the first axis have a multiple of
    /// 16 bytes, and 128 bytes if they are swizzled.
    pub tile: [u32; 3],
    /// Whether the pieces of 16 bytes of a row of 128 bytes stand in shared memory at places that
    /// are exclusive or'ed with the row's number, as matrix instructions of warp groups take them.
    pub is_swizzled: bool,
}

/// Marks the maps of the simulator.
const MARK: u64 = 0x6772_6964_0000_0000;

impl TensorTiles {
    /// Fails with a sentence if no map can describe these tiles.
    pub fn check(&self) -> Result<(), String> {
        // Before the ranges are checked, the product may need more than 32 bits.
        let row_bytes = u64::from(self.tile[0]) * u64::from(self.element_bytes);
        let is_stride = |stride: &u64| stride.is_multiple_of(16) && *stride < 1 << 40;
        let problem = match () {
            () if !matches!(self.element_bytes, 1 | 2 | 4 | 8) => {
                format!(
                    "elements have {} bytes, not 1, 2, 4 or 8",
                    self.element_bytes
                )
            }
            () if !self.address.is_multiple_of(16) => {
                format!("the address {:#x} is no multiple of 16", self.address)
            }
            () if !self
                .lengths
                .iter()
                .all(|length| (1..=1 << 32).contains(length)) =>
            {
                format!("the lengths {:?} are not within 1 to 2³²", self.lengths)
            }
            () if !self.strides.iter().all(is_stride) => {
                format!(
                    "the strides {:?} are not multiples of 16 bytes below 2⁴⁰",
                    self.strides
                )
            }
            () if !self.tile.iter().all(|length| (1..=256).contains(length)) => {
                format!("the tile's lengths {:?} are not within 1 to 256", self.tile)
            }
            () if !row_bytes.is_multiple_of(16) => {
                format!("a tile's rows of {row_bytes} bytes are no multiple of 16")
            }
            () if self.is_swizzled && row_bytes != 128 => {
                format!("swizzled rows have {row_bytes} bytes, not 128")
            }
            () => return Ok(()),
        };
        Err(problem)
    }

    /// The words of the map that the simulator takes.
    pub(crate) fn simulated_words(&self) -> [u64; 16] {
        let mut words = [0; 16];
        words[0] = MARK | u64::from(self.element_bytes) << 1 | u64::from(self.is_swizzled);
        words[1] = self.address;
        words[2..5].copy_from_slice(&self.lengths);
        words[5..7].copy_from_slice(&self.strides);
        words[7..10].copy_from_slice(&self.tile.map(u64::from));
        words
    }

    pub(super) fn of_simulated(words: &[u64; 16]) -> Option<TensorTiles> {
        (words[0] >> 32 == MARK >> 32).then(|| TensorTiles {
            address: words[1],
            element_bytes: words[0] as u32 >> 1,
            lengths: [words[2], words[3], words[4]],
            strides: [words[5], words[6]],
            tile: [words[7], words[8], words[9]].map(|length| length as u32),
            is_swizzled: words[0] & 1 == 1,
        })
    }

    pub(super) fn tile_bytes(&self) -> usize {
        self.tile.iter().product::<u32>() as usize * self.element_bytes as usize
    }
}

/// A copy that has been started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    pub(super) tiles: TensorTiles,
    pub(super) at: [i32; 3],
    pub(super) to: usize,
    pub(super) barrier: usize,
}

/// The copies of tiles of a block that are not done.
#[derive(Debug, Default)]
pub struct Pending(pub(super) Vec<Copy>);

#[cfg(test)]
mod tests {
    use super::*;

    const TILES: TensorTiles = TensorTiles {
        address: 64,
        element_bytes: 4,
        lengths: [100, 10, 1],
        strides: [400, 4000],
        tile: [32, 8, 1],
        is_swizzled: true,
    };

    #[track_caller]
    fn refused(tiles: TensorTiles, said: &str) {
        let problem = tiles.check().unwrap_err();
        assert!(problem.contains(said), "{problem}");
    }

    #[test]
    fn tiles_of_any_numbers_are_checked() {
        assert_eq!(TILES.check(), Ok(()));
        let tile = |tile| TensorTiles { tile, ..TILES };
        refused(tile([u32::MAX, 8, 1]), "are not within 1 to 256");
        refused(tile([1 << 30, 8, 1]), "are not within 1 to 256");
        refused(tile([0, 8, 1]), "are not within 1 to 256");
        refused(tile([3, 8, 1]), "rows of 12 bytes are no multiple of 16");
        refused(tile([16, 8, 1]), "swizzled rows have 64 bytes, not 128");
        let element_bytes = u32::MAX;
        refused(
            TensorTiles {
                element_bytes,
                ..TILES
            },
            "elements have 4294967295 bytes",
        );
    }
}
