//! The kernels by the bits of letters.

use cuda_std::host::Kernel;
use cuda_std::{DeviceSlice, DeviceSliceMut};
use edit_distance_kernels::{self as kernels, Job, Pair, Parameters, Texts};

use super::tuning::WORDS;

/// The kernels for letters of some number of bits.
pub struct Kernels {
    /// Short pairs, by words of rows per lane, in the order of [`WORDS`].
    pub short: [&'static Short; WORDS.len()],
    pub long: &'static Long,
}

pub type Short = Kernel<(
    Parameters,
    Texts,
    DeviceSlice<Job>,
    DeviceSlice<u32>,
    DeviceSliceMut<u32>,
)>;
pub type Long = Kernel<(
    Parameters,
    Texts,
    DeviceSlice<Pair>,
    DeviceSliceMut<u64>,
    DeviceSliceMut<u32>,
)>;

/// Returns the kernels for letters of up to `bits` bits.
pub fn kernels(bits: u32) -> &'static Kernels {
    match bits {
        0..=2 => &BITS_2,
        3..=4 => &BITS_4,
        _ => &BITS_8,
    }
}

macro_rules! kernels {
    ($($name:ident: $short_1:ident $short_2:ident $short_4:ident $long:ident;)*) => {$(
        static $name: Kernels = Kernels {
            short: [&kernels::$short_1, &kernels::$short_2, &kernels::$short_4],
            long: &kernels::$long,
        };
    )*};
}
kernels! {
    BITS_2: short_2_1 short_2_2 short_2_4 long_2;
    BITS_4: short_4_1 short_4_2 short_4_4 long_4;
    BITS_8: short_8_1 short_8_2 short_8_4 long_8;
}
