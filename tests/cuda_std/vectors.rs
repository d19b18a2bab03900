//! Vectors of glam and numbers of half.

use super::*;
use cuda_std::glam::{DVec2, DVec3, Mat4, Vec2, Vec3, Vec3A, Vec4};
use cuda_std::{bf16, f16};
use cuda_std_tests_kernels::vectors::{self, LAYOUTS, Nested};

/// Size and alignment on a GPU, as CUDA has them for vectors of these names, where it has any.
const CUDA: [[u32; 2]; LAYOUTS] = [
    [8, 8],
    [12, 4],
    [16, 16],
    [16, 16],
    [16, 16],
    [36, 4],
    [48, 16],
    [64, 16],
    [64, 16],
    [16, 16],
    [24, 8],
    [32, 16],
    [32, 8],
    [32, 16],
    [72, 8],
    [128, 16],
    [48, 16],
    [96, 8],
    [8, 8],
    [12, 4],
    [16, 16],
    [8, 8],
    [12, 4],
    [16, 16],
    [2, 2],
    [2, 2],
    [112, 16],
];

#[test]
fn layouts_are_those_of_the_host() {
    assert_eq!(vectors::sizes(), CUDA);
    for device in with_kernels() {
        let mut out = device.zeros::<[[u32; 2]; LAYOUTS]>(1).unwrap();
        // SAFETY: an element.
        unsafe {
            launch_of(
                &COMMON,
                &device,
                &vectors::layouts,
                LaunchConfig::new(1, 1),
                (out.slice_mut(),),
            )
        };
        assert_eq!(out.to_vec().unwrap(), [CUDA], "{device}");
    }
}

#[test]
fn vectors_are_parameters() {
    let points: Vec<Vec3> = (0..70_u8).map(|i| Vec3::new(i.into(), 2.0, -1.0)).collect();
    let nested = Nested {
        byte: 3,
        four: Vec4::new(1.0, 2.0, 3.0, 4.0),
        three: Vec3::new(0.0, 0.0, 1.0),
        two: Vec2::new(2.0, 4.0),
        aligned: Vec3A::new(5.0, 6.0, 7.0),
        doubles: DVec2::new(0.5, 0.25),
        half: f16::from_f32(1.5),
    };
    // Column by column: it doubles x, and moves by (1, 2, 3).
    let matrix = [
        2.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 2.0, 3.0, 1.0,
    ];
    let expected: Vec<[f32; 8]> = (0..70_u8)
        .map(|i| {
            let x = f32::from(i);
            // (0, 0, 1) × (x, 2, −1) = (−2, x, 0), and 2 · ½ + 4 · ¼ + 7 + 1½ = 10½.
            [
                2.0 * x + 11.0,
                24.0,
                32.0,
                1.0,
                6.0 + x,
                9.0,
                10.5,
                x * x + 5.0,
            ]
        })
        .collect();
    for device in with_kernels() {
        let input = device.buffer_from(&points).unwrap();
        let mut out = device.zeros::<[f32; 8]>(70).unwrap();
        let offset = DVec3::new(10.0, 20.0, 30.0);
        let arguments = (
            input.slice(),
            nested,
            Mat4::from_cols_array(&matrix),
            offset,
            out.slice_mut(),
        );
        // SAFETY: as long as each other.
        unsafe {
            launch_of(
                &COMMON,
                &device,
                &vectors::transforms,
                LaunchConfig::new(2, 32),
                arguments,
            )
        };
        assert_eq!(out.to_vec().unwrap(), expected, "{device}");
    }
}

#[test]
fn halves_round_to_the_nearest() {
    let mut input: Vec<f32> = random_u32(52, 500)
        .iter()
        .map(|&bits| f32::from_bits(bits))
        .collect();
    input.extend([
        0.0,
        -0.0,
        1.0,
        65504.0,
        65519.9,
        65520.0,
        6e-8,
        2e-8,
        f32::INFINITY,
        f32::NAN,
        1.0 + 1.0 / 2048.0,
    ]);
    input.extend((0..500_u16).map(|i| f32::from(i) * 0.37 - 90.0));
    let others: Vec<f16> = random_u32(53, input.len())
        .iter()
        .map(|&bits| f16::from_bits(bits as u16))
        .collect();
    for device in with_kernels() {
        let there = device.buffer_from(&input).unwrap();
        let others_there = device.buffer_from(&others).unwrap();
        let mut out = device.zeros::<[u16; 4]>(input.len()).unwrap();
        let mut wide = device.zeros::<[f32; 2]>(input.len()).unwrap();
        let arguments = (
            there.slice(),
            others_there.slice(),
            out.slice_mut(),
            wide.slice_mut(),
        );
        // SAFETY: as long as each other.
        unsafe {
            launch_of(
                &COMMON,
                &device,
                &vectors::halves,
                LaunchConfig::new(2, 32),
                arguments,
            )
        };
        let results = out
            .to_vec()
            .unwrap()
            .into_iter()
            .zip(wide.to_vec().unwrap());
        for ((&x, &other), (found, wide)) in input.iter().zip(&others).zip(results) {
            let (half, brain) = (f16::from_f32(x), bf16::from_f32(x));
            // f32 holds sums and products of two halves closely enough that the second rounding
            // changes nothing.
            let (a, b) = (half.to_f32(), other.to_f32());
            let expected = [
                half.to_bits(),
                brain.to_bits(),
                f16::from_f32(a + b).to_bits(),
                f16::from_f32(a * b).to_bits(),
            ];
            for (i, (found, expected)) in found.into_iter().zip(expected).enumerate() {
                let is_nan = |bits: u16| {
                    if i == 1 {
                        bf16::from_bits(bits).is_nan()
                    } else {
                        f16::from_bits(bits).is_nan()
                    }
                };
                let same = found == expected || is_nan(found) && is_nan(expected);
                assert!(
                    same,
                    "{device}: result {i} of {x:?} and {other:?} is {found:x}, not {expected:x}"
                );
            }
            assert_eq!(
                format!("{wide:?}"),
                format!("{:?}", [b, brain.to_f32()]),
                "{device}"
            );
        }
    }
}

#[test]
fn halves_are_parameters() {
    for device in with_kernels() {
        let mut out = device.zeros::<[u32; 3]>(1).unwrap();
        let bits = [0x3c01, 0x4049, 0xfbff];
        let arguments = (
            f16::from_bits(bits[0]),
            bf16::from_bits(bits[1]),
            f16::from_bits(bits[2]),
            out.slice_mut(),
        );
        // SAFETY: an element.
        unsafe {
            launch_of(
                &COMMON,
                &device,
                &vectors::half_parameters,
                LaunchConfig::new(1, 1),
                arguments,
            )
        };
        assert_eq!(out.to_vec().unwrap(), [bits.map(u32::from)], "{device}");
    }
}
