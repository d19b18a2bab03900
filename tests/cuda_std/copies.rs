//! Asynchronous copies to shared memory.

use super::*;
use cuda_std_tests_kernels::copies;

const LEN: usize = copies::BLOCK as usize;

fn elements<const WORDS: usize>(seed: u64, count: usize) -> Vec<[u32; WORDS]> {
    let words = random_u32(seed, WORDS * count);
    words.as_chunks().0.to_vec()
}

macro_rules! of_bytes {
    ($($mirrored:ident, $summed:ident, $words:literal;)*) => {$(
        #[test]
        fn $mirrored() {
            let count = LEN * blocks() as usize;
            let input = elements::<$words>(40, count);
            for device in with_kernels() {
                let values = device.buffer_from(&input).unwrap();
                for there in [u32::MAX, 0x8421_7b3d, 0] {
                    let mut out = device.zeros::<[u32; $words]>(count).unwrap();
                    let config = LaunchConfig::new(blocks(), copies::BLOCK)
                        .with_shared_bytes(copies::BLOCK * 4 * $words);
                    let arguments = (values.slice(), there, out.slice_mut());
                    // SAFETY: an element per thread, in shared memory too.
                    unsafe { launch(&device, &copies::$mirrored, config, arguments) };
                    for (i, read) in out.to_vec().unwrap().into_iter().enumerate() {
                        let opposite = i - i % LEN + LEN - 1 - i % LEN;
                        let is_there = there >> (opposite % 32) & 1 == 1;
                        let expected = if is_there { input[opposite] } else { [0; $words] };
                        assert_eq!(read, expected, "{device}, thread {i}, there {there:#x}");
                    }
                }
            }
        }

        #[test]
        fn $summed() {
            for rounds in [0, 1, 2, 3, 4, 11] {
                let input = elements::<$words>(41, LEN * rounds);
                let sum = |i: usize| {
                    input.chunks(LEN).fold([0; $words], |mut sums: [u32; $words], tile| {
                        for (sum, value) in sums.iter_mut().zip(tile[(i + 1) % LEN]) {
                            *sum = sum.wrapping_add(value);
                        }
                        sums
                    })
                };
                let expected: Vec<_> = (0..LEN).map(sum).collect();
                for device in with_kernels() {
                    let values = device.buffer_from(&input).unwrap();
                    let mut out = device.zeros::<[u32; $words]>(LEN).unwrap();
                    let config = LaunchConfig::new(1, copies::BLOCK)
                        .with_shared_bytes(copies::BLOCK * 4 * $words * copies::STAGES as u32);
                    let arguments = (values.slice(), rounds as u32, out.slice_mut());
                    // SAFETY: an element per thread and round, and shared memory for all stages.
                    unsafe { launch(&device, &copies::$summed, config, arguments) };
                    assert_eq!(out.to_vec().unwrap(), expected, "{device}, {rounds} rounds");
                }
            }
        }
    )*};
}

of_bytes! {
    mirrored_4, summed_4, 1;
    mirrored_8, summed_8, 2;
    mirrored_16, summed_16, 4;
}
