//! The functions of a warp under Rust-CUDA's names.

use super::*;
use cuda_std::{bf16, f16};
use cuda_std_tests_kernels::warp_functions;

const LANES: usize = 32;

/// The lane that each shuffle reads: idx, up, down, xor; nothing where the group of `width` lanes
/// has none.
fn sources(lane: usize, argument: usize, width: usize) -> [Option<usize>; 4] {
    let (start, argument) = (lane / width * width, argument % LANES);
    let end = start + width;
    [
        Some(start + argument % width),
        lane.checked_sub(argument).filter(|&source| source >= start),
        Some(lane + argument).filter(|&source| source < end),
        // A lane of an earlier group will do for the hardware.
        Some(lane ^ argument).filter(|&source| source < end),
    ]
}

macro_rules! shuffles {
    ($($kernel:ident $type:ty, $from:expr;)*) => {
        #[test]
        fn shuffles_read_the_lanes_of_their_group() {
            $({
                let from: fn(u128) -> $type = $from;
                let wide = |(low, high): (&u64, &u64)| from(u128::from(*high) << 64 | u128::from(*low));
                let (low, high) = (random(43, LANES), random(44, LANES));
                let input: Vec<$type> = low.iter().zip(&high).map(wide).collect();
                for device in with_kernels() {
                    let values = device.buffer_from(&input).unwrap();
                    for width in [1, 2, 4, 8, 16, 32] {
                        for argument in [0, 1, 3, 8, 15, 16, 31, 33] {
                            let mut out = device.zeros::<[$type; 4]>(LANES).unwrap();
                            let mut is_there = device.zeros::<u32>(LANES).unwrap();
                            let arguments = (values.slice(), argument, width, out.slice_mut(), is_there.slice_mut());
                            let config = LaunchConfig::new(1, LANES as u32);
                            // SAFETY: an element per thread.
                            unsafe { launch_of(&COMMON, &device, &warp_functions::$kernel, config, arguments) };
                            let (out, is_there) = (out.to_vec().unwrap(), is_there.to_vec().unwrap());
                            for lane in 0..LANES {
                                let sources = sources(lane, argument as usize, width as usize);
                                let expected = sources.map(|source| input[source.unwrap_or(lane)]);
                                let bits = |i: usize| u32::from(sources[i].is_some()) << i;
                                let context = || format!("{device}: lane {lane}, {argument} of {width}");
                                // As text, so that NaN equals NaN.
                                assert_eq!(format!("{:?}", out[lane]), format!("{expected:?}"), "{}", context());
                                let expected = (0..4).map(bits).sum::<u32>();
                                assert_eq!(is_there[lane], expected, "{}", context());
                            }
                        }
                    }
                }
            })*
        }
    };
}

shuffles! {
    warp_shuffles_u8 u8, |bits| bits as u8;
    warp_shuffles_i8 i8, |bits| bits as i8;
    warp_shuffles_u16 u16, |bits| bits as u16;
    warp_shuffles_i16 i16, |bits| bits as i16;
    warp_shuffles_u32 u32, |bits| bits as u32;
    warp_shuffles_i32 i32, |bits| bits as i32;
    warp_shuffles_u64 u64, |bits| bits as u64;
    warp_shuffles_i64 i64, |bits| bits as i64;
    warp_shuffles_u128 u128, |bits| bits;
    warp_shuffles_i128 i128, |bits| bits as i128;
    warp_shuffles_f32 f32, |bits| f32::from_bits(bits as u32);
    warp_shuffles_f64 f64, |bits| f64::from_bits(bits as u64);
    warp_shuffles_f16 f16, |bits| f16::from_bits(bits as u16);
    warp_shuffles_bf16 bf16, |bits| bf16::from_bits(bits as u16);
}

#[test]
fn a_width_that_is_no_power_of_two_is_refused() {
    for width in [0, 3, 64] {
        let config = LaunchConfig::new(1, 32);
        // SAFETY: always.
        let launched =
            unsafe { simulator().launch(&COMMON, &warp_functions::wrong_width, config, (width,)) };
        fails(launched, &["power of two up to 32"]);
    }
}

#[test]
fn votes_are_those_of_the_mask() {
    for (modulus, masks) in [
        (2, [u32::MAX, 0]),
        (1, [0xffff, 0xffff_0000]),
        (7, [0x5555_5555, 0x8a8a_8a8a]),
    ] {
        let input: Vec<u32> = random_u32(45, LANES).iter().map(|v| v % modulus).collect();
        let odd = (0..LANES).fold(0, |bits, lane| bits | (input[lane] % 2) << lane);
        for device in with_kernels() {
            let values = device.buffer_from(&input).unwrap();
            let mut out = device.buffer_from(&[[77_u32; 5]; LANES]).unwrap();
            let arguments = (values.slice(), masks, out.slice_mut());
            // SAFETY: an element per lane.
            unsafe {
                launch_of(
                    &COMMON,
                    &device,
                    &warp_functions::warp_votes,
                    LaunchConfig::new(1, 32),
                    arguments,
                )
            };
            for (lane, found) in out.to_vec().unwrap().into_iter().enumerate() {
                let Some(&mask) = masks.iter().find(|&mask| mask >> lane & 1 == 1) else {
                    assert_eq!(found, [77; 5], "{device}");
                    continue;
                };
                let [all, any, ballot, active, number] = found;
                let expected = odd & mask;
                assert_eq!(
                    (all, any),
                    (u32::from(expected == mask), u32::from(expected != 0)),
                    "{device}"
                );
                assert_eq!((ballot, number), (expected, lane as u32), "{device}");
                // Which lanes run together is left open, but this one does.
                assert_eq!(active >> lane & 1, 1, "{device}");
            }
        }
    }
}

macro_rules! matches {
    ($($kernel:ident $type:ident $from:expr;)*) => {
        #[test]
        fn matches_are_those_of_the_mask() {
            $(for kinds in [1, 2, 5] {
                let from: fn(u64) -> $type = $from;
                let input: Vec<$type> = random(46, LANES).iter().map(|v| from(v % kinds)).collect();
                for device in with_kernels() {
                    for mask in [u32::MAX, 1, 0x00ff_f0f0, 0xaaaa_aaaa] {
                        let values = device.buffer_from(&input).unwrap();
                        let mut out = device.zeros::<[u32; 3]>(LANES).unwrap();
                        let arguments = (values.slice(), mask, out.slice_mut());
                        // SAFETY: an element per lane.
                        unsafe { launch_of(&COMMON, &device, &warp_functions::$kernel, LaunchConfig::new(1, 32), arguments) };
                        for (lane, found) in out.to_vec().unwrap().into_iter().enumerate() {
                            let same = |other: &usize| input[*other].to_ne_bytes() == input[lane].to_ne_bytes();
                            let lanes = (0..LANES).filter(same).fold(0, |bits, lane| bits | 1 << lane) & mask;
                            let expected = match lanes == mask {
                                _ if mask >> lane & 1 == 0 => [0; 3],
                                true => [lanes, 1, mask],
                                false => [lanes, 0, 0],
                            };
                            assert_eq!(found, expected, "{device}, lane {lane}");
                        }
                    }
                }
            })*
        }
    };
}

matches! {
    warp_matches_u32 u32 |v| v as u32;
    warp_matches_i32 i32 |v| -(v as i32);
    // They differ in the high word, in the low one, or in both.
    warp_matches_u64 u64 |v| v << 33;
    warp_matches_i64 i64 |v| v as i64 - 2;
    // Of both signs of 0, by their bits; and NaN, which matches itself.
    warp_matches_f32 f32 |v| [0.0, -0.0, f32::NAN, 1.0, 2.0][v as usize];
    warp_matches_f64 f64 |v| [0.0, -0.0, f64::NAN, 1.0, 2.0][v as usize];
}

macro_rules! reductions {
    ($($kernel:ident $type:ident;)*) => {
        #[test]
        fn reductions_are_those_of_the_mask() {
            $({
                let input: Vec<$type> = random(47, LANES).iter().map(|&v| v as $type).collect();
                let operations: [fn($type, $type) -> $type; 6] =
                    [$type::wrapping_add, Ord::min, Ord::max, |a, b| a & b, |a, b| a | b, |a, b| a ^ b];
                for device in with_kernels() {
                    let values = device.buffer_from(&input).unwrap();
                    for mask in [u32::MAX, 1 << 7, 0x8000_0001, 0x0f0f_1234] {
                        let mut out = device.zeros::<[$type; 6]>(LANES).unwrap();
                        let arguments = (values.slice(), mask, out.slice_mut());
                        // SAFETY: an element per lane.
                        unsafe { launch_of(&COMMON, &device, &warp_functions::$kernel, LaunchConfig::new(1, 32), arguments) };
                        let is_in = |lane: &usize| mask >> lane & 1 == 1;
                        let lanes: Vec<$type> = (0..LANES).filter(is_in).map(|lane| input[lane]).collect();
                        let reduced = operations.map(|operation| lanes.iter().copied().reduce(operation).unwrap());
                        for (lane, found) in out.to_vec().unwrap().into_iter().enumerate() {
                            let expected = if is_in(&lane) { reduced } else { [0; 6] };
                            assert_eq!(found, expected, "{device}, lane {lane} of {mask:x}");
                        }
                    }
                }
            })*
        }
    };
}

reductions! {
    warp_reductions_u32 u32;
    warp_reductions_i32 i32;
}
