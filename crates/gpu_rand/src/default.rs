//! The default generator.

use rand_core::impls::fill_bytes_via_next;
use rand_core::{RngCore, SeedableRng};

/// The default generator, xoroshiro128**: 16 bytes, a period of 2¹²⁸ − 1, and a few instructions
/// for a number.
///
/// The host makes a state for each thread with [`initialize_states`](Self::initialize_states) and
/// copies them to the device. A kernel takes them as `*mut DefaultRand`, and continues with them in
/// the next launch. It copies its state to a variable, and stores it at the end:
///
/// ```
/// use cuda_std::prelude::*;
/// use gpu_rand::{DefaultRand, GpuRand};
///
/// /// # Safety
/// /// `states` has an element for each element of `out`.
/// #[kernel]
/// pub unsafe fn fill(states: *mut DefaultRand, out: &mut [f32]) {
///     let i = thread::index_1d() as usize;
///     if let Some(out) = out.get_mut(i) {
///         // SAFETY: the slice has an element for each thread.
///         let state = unsafe { &mut *states.add(i) };
///         let mut random = *state;
///         *out = random.normal_f32();
///         *state = random;
///     }
/// }
///
/// # fn main() -> gridstride::Result<()> {
/// # use gridstride::Device;
/// # use gridstride::device::{LaunchConfig, Module};
/// # static KERNELS: Module = Module::new("kernels", &[]);
/// let device = Device::simulator()?;
/// let mut states = device.buffer_from(&DefaultRand::initialize_states(1, 100))?;
/// let mut out = device.zeros::<f32>(100)?;
/// let arguments = (states.slice_mut().as_mut_ptr(), out.slice_mut());
/// // SAFETY: both buffers have 100 elements.
/// unsafe { device.launch(&KERNELS, &fill, LaunchConfig::for_len(100, 32), arguments)? };
/// let mut first = DefaultRand::initialize_states(1, 1)[0];
/// assert_eq!(out.to_vec()?[0], first.normal_f32());
/// # Ok(())
/// # }
/// ```
///
/// On the host, a state is plain data: [`bytemuck::Pod`] for gridstride's buffers and, with the
/// feature `cust`, [`DeviceCopy`](trait@cust::memory::DeviceCopy) for those of `cust`. The feature is on by
/// default.
///
/// A state whose bytes are 0, such as an element of `device.zeros::<DefaultRand>()`, is valid and
/// yields zeros only. Make states with `initialize_states`, `seed_from_u64` or `from_seed`.
///
/// Source of the algorithm: Blackman and Vigna, "Scrambled linear pseudorandom number generators",
/// 2021.
#[cfg_attr(
    not(target_arch = "nvptx64"),
    derive(bytemuck::Pod, bytemuck::Zeroable)
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DefaultRand {
    state: [u64; 2],
}

// SAFETY: two integers, which have one layout on both sides.
#[cfg(all(feature = "cust", not(target_arch = "nvptx64")))]
unsafe impl cust::memory::DeviceCopy for DefaultRand {}

impl DefaultRand {
    /// Returns `num_states` generators for the threads of a kernel. Each begins 2⁶⁴ numbers behind
    /// the one before it in the sequence of `seed`, so that they share no numbers before one has
    /// given 2⁶⁴.
    ///
    /// [`Philox`](crate::Philox) needs no states.
    ///
    /// ```
    /// use gpu_rand::DefaultRand;
    /// use gpu_rand::rand_core::SeedableRng;
    ///
    /// let states = DefaultRand::initialize_states(7, 1000);
    /// assert_eq!(states[0], DefaultRand::seed_from_u64(7));
    /// assert_ne!(states[0], states[1]);
    /// ```
    #[cfg(not(target_arch = "nvptx64"))]
    #[must_use]
    pub fn initialize_states(seed: u64, num_states: usize) -> alloc::vec::Vec<Self> {
        let first = Self::seed_from_u64(seed);
        let next = |state: &Self| {
            let mut next = *state;
            next.jump();
            Some(next)
        };
        core::iter::successors(Some(first), next)
            .take(num_states)
            .collect()
    }

    /// Skips 2⁶⁴ numbers.
    pub fn jump(&mut self) {
        // The coefficients of x^(2^64) modulo the characteristic polynomial of the state's
        // transition, the lowest first.
        const JUMP: u128 = 0x1708_65df_4b32_01fc_df90_0294_d8f5_54a5;
        let mut sum = [0; 2];
        for bit in 0..u128::BITS {
            if JUMP >> bit & 1 == 1 {
                sum = [sum[0] ^ self.state[0], sum[1] ^ self.state[1]];
            }
            self.next_u64();
        }
        self.state = sum;
    }
}

impl RngCore for DefaultRand {
    #[inline]
    fn next_u32(&mut self) -> u32 {
        self.next_u64() as u32
    }

    #[inline]
    fn next_u64(&mut self) -> u64 {
        let [a, b] = self.state;
        let mixed = a ^ b;
        self.state = [
            a.rotate_left(24) ^ mixed ^ (mixed << 16),
            mixed.rotate_left(37),
        ];
        a.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    fn fill_bytes(&mut self, dest: &mut [u8]) {
        fill_bytes_via_next(self, dest);
    }
}

impl SeedableRng for DefaultRand {
    type Seed = [u8; 16];

    /// Makes a generator of the bytes of its state. A seed of zeros, which would give zeros only,
    /// stands for `seed_from_u64(0)`.
    fn from_seed(seed: Self::Seed) -> Self {
        if seed == [0; 16] {
            return Self::seed_from_u64(0);
        }
        let mut state = [0; 2];
        rand_core::le::read_u64_into(&seed, &mut state);
        Self { state }
    }

    /// Makes a generator of two numbers of SplitMix64.
    fn seed_from_u64(seed: u64) -> Self {
        let mut numbers = rand_xoshiro::SplitMix64::seed_from_u64(seed);
        Self {
            state: [numbers.next_u64(), numbers.next_u64()],
        }
    }
}
