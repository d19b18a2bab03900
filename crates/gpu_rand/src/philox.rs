//! A generator without a state in memory.

use rand_core::RngCore;
use rand_core::impls::fill_bytes_via_next;

/// The counter-based generator Philox4x32-10: number n of a stream is a function of the seed, the
/// stream and n.
///
/// Each thread takes its index as its stream, and needs no state of an earlier launch: a launch
/// that continues a stream begins [`at`](Self::at) another number. A seed has 2⁶⁴ streams of 2⁶⁶
/// numbers of 32 bits.
///
/// ```
/// use cuda_std::prelude::*;
/// use gpu_rand::{GpuRand, Philox};
///
/// #[kernel]
/// pub fn fill(seed: u64, out: &mut [f32]) {
///     let i = thread::index_1d() as usize;
///     if let Some(out) = out.get_mut(i) {
///         *out = Philox::new(seed, i as u64).uniform_f32();
///     }
/// }
///
/// # fn main() -> gridstride::Result<()> {
/// # use gridstride::Device;
/// # use gridstride::device::{LaunchConfig, Module};
/// # static KERNELS: Module = Module::new("kernels", &[]);
/// let device = Device::simulator()?;
/// let mut out = device.zeros::<f32>(100)?;
/// let arguments = (7, out.slice_mut());
/// // SAFETY: the slice is that of the buffer.
/// unsafe { device.launch(&KERNELS, &fill, LaunchConfig::for_len(100, 32), arguments)? };
/// assert_eq!(out.to_vec()?[42], Philox::new(7, 42).uniform_f32());
/// # Ok(())
/// # }
/// ```
///
/// Source of the algorithm: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1,
/// 2, 3", 2011. The seed is the key, and the stream the upper half of the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Philox {
    key: [u32; 2],
    stream: u64,
    /// The block that follows `block`.
    next_block: u64,
    block: [u32; 4],
    /// The numbers of `block` that have been given; 4 before the first block.
    given: u32,
}

impl Philox {
    /// Returns the generator of a stream, at its beginning.
    #[inline]
    #[must_use]
    pub const fn new(seed: u64, stream: u64) -> Self {
        Self {
            key: [seed as u32, (seed >> 32) as u32],
            stream,
            next_block: 0,
            block: [0; 4],
            given: 4,
        }
    }

    /// Returns the generator of the same stream that begins with number `4 · block` of 32 bits. Any
    /// number of them can be skipped at no cost.
    ///
    /// ```
    /// use gpu_rand::Philox;
    /// use gpu_rand::rand_core::RngCore;
    ///
    /// let mut from_start = Philox::new(1, 2);
    /// for _ in 0..400 {
    ///     from_start.next_u32();
    /// }
    /// assert_eq!(from_start.next_u32(), Philox::new(1, 2).at(100).next_u32());
    /// ```
    #[inline]
    #[must_use]
    pub const fn at(self, block: u64) -> Self {
        Self {
            next_block: block,
            given: 4,
            ..self
        }
    }

    /// Returns the next four numbers, without those that are left of four earlier ones.
    #[inline]
    pub fn next_4(&mut self) -> [u32; 4] {
        let (low, high) = (self.next_block, self.stream);
        let counter = [
            low as u32,
            (low >> 32) as u32,
            high as u32,
            (high >> 32) as u32,
        ];
        self.next_block = low.wrapping_add(1);
        self.given = 4;
        philox(counter, self.key)
    }
}

impl RngCore for Philox {
    #[inline]
    fn next_u32(&mut self) -> u32 {
        if self.given == 4 {
            self.block = self.next_4();
            self.given = 0;
        }
        let [a, b, c, d] = self.block;
        let number = match self.given {
            0 => a,
            1 => b,
            2 => c,
            _ => d,
        };
        self.given += 1;
        number
    }

    #[inline]
    fn next_u64(&mut self) -> u64 {
        let low = self.next_u32();
        u64::from(self.next_u32()) << 32 | u64::from(low)
    }

    fn fill_bytes(&mut self, dest: &mut [u8]) {
        fill_bytes_via_next(self, dest);
    }
}

/// Encrypts a counter in ten rounds.
#[inline]
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    let product = |a: u32, b: u32| {
        let product = u64::from(a) * u64::from(b);
        ((product >> 32) as u32, product as u32)
    };
    for _ in 0..10 {
        let (high_0, low_0) = product(0xd251_1f53, counter[0]);
        let (high_1, low_1) = product(0xcd9e_8d57, counter[2]);
        counter = [
            high_1 ^ counter[1] ^ key[0],
            low_1,
            high_0 ^ counter[3] ^ key[1],
            low_0,
        ];
        key = [
            key[0].wrapping_add(0x9e37_79b9),
            key[1].wrapping_add(0xbb67_ae85),
        ];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers of the authors' library Random123.
    #[test]
    fn blocks_are_those_of_random123() {
        for (counter, key, expected) in [
            (
                [0; 4],
                [0; 2],
                [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8],
            ),
            (
                [u32::MAX; 4],
                [u32::MAX; 2],
                [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd],
            ),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ] {
            assert_eq!(philox(counter, key), expected);
        }
    }

    #[test]
    fn seed_stream_and_place_have_all_their_bits() {
        let [block, stream, seed] = [
            0x85a3_08d3_243f_6a88,
            0x0370_7344_1319_8a2e,
            0x299f_31d0_a409_3822,
        ];
        let mut random = Philox::new(seed, stream).at(block);
        assert_eq!(random.next_u32(), 0xd16c_fe09);
        assert_eq!(random.next_u64(), 0x5001_e420_94fd_cceb);
        assert_eq!(random.next_u32(), 0x2412_6ea1);
        let mut next = Philox::new(seed, stream).at(block + 1);
        assert_eq!(random.next_4(), next.next_4());
    }
}
