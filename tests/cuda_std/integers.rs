//! Operations on integers at their extremes: what the host computes is right.

use super::*;
use gridstride::device::Element;
use kernels::integers::{self, SIGNED, UNSIGNED};

/// Bits at both ends and in the middle of a width, and some without a pattern.
fn extremes(bits: u32) -> Vec<u128> {
    let (top, half) = (1 << (bits - 1), 1 << (bits / 2));
    let mut all = vec![
        0,
        1,
        2,
        3,
        7,
        10,
        u128::MAX,
        u128::MAX - 1,
        top,
        top + 1,
        top - 1,
        half,
        half + 1,
        half - 1,
        u128::MAX << (bits / 2),
    ];
    let draws = random(31, if small() { 4 } else { 20 });
    all.extend(
        draws
            .chunks_exact(2)
            .map(|draw| u128::from(draw[0]) << 64 | u128::from(draw[1])),
    );
    all
}

/// The results of a kernel that computes one for each number, in blocks of 128.
fn computed<T: Element, R: Element>(
    device: &Device,
    kernel: &Kernel<(DeviceSlice<T>, DeviceSliceMut<R>)>,
    numbers: &[T],
) -> Vec<R> {
    let mut padded = numbers.to_vec();
    padded.resize(numbers.len().next_multiple_of(128), numbers[0]);
    let input = device.buffer_from(&padded).unwrap();
    let mut out = device.zeros::<R>(padded.len()).unwrap();
    let config = LaunchConfig::new((padded.len() / 128) as u32, 128);
    let arguments = (input.slice(), out.slice_mut());
    // SAFETY: an element per thread.
    unsafe { launch_of(&COMMON, device, kernel, config, arguments) };
    let mut results = out.to_vec().unwrap();
    results.truncate(numbers.len());
    results
}

macro_rules! agree {
    ($($name:ident, $type:ident, $kernel:ident, $names:ident;)*) => {$(
        #[test]
        fn $name() {
            let numbers: Vec<$type> = extremes($type::BITS).into_iter().map(|bits| bits as $type).collect();
            let pairs: Vec<_> = numbers.iter().flat_map(|&a| numbers.iter().map(move |&b| [a, b])).collect();
            for device in with_kernels() {
                let found = computed(&device, &integers::$kernel, &pairs);
                for (found, [a, b]) in found.into_iter().zip(&pairs) {
                    let expected = integers::$type(*a, *b);
                    for ((found, expected), name) in found.iter().zip(&expected).zip($names) {
                        assert_eq!(found, expected, "{device}: {name} of {a} and {b} in {}", stringify!($type));
                    }
                }
            }
        }
    )*};
}

agree! {
    operations_of_i8, i8, of_i8, SIGNED;
    operations_of_i16, i16, of_i16, SIGNED;
    operations_of_i32, i32, of_i32, SIGNED;
    operations_of_i64, i64, of_i64, SIGNED;
    operations_of_i128, i128, of_i128, SIGNED;
    operations_of_u8, u8, of_u8, UNSIGNED;
    operations_of_u16, u16, of_u16, UNSIGNED;
    operations_of_u32, u32, of_u32, UNSIGNED;
    operations_of_u64, u64, of_u64, UNSIGNED;
    operations_of_u128, u128, of_u128, UNSIGNED;
}

/// What only the host can say is computed here, for the function would be wrong in the same way.
#[test]
fn the_least_number_has_no_negative() {
    for device in with_kernels() {
        let found = computed(&device, &integers::of_i16, &[[i16::MIN, 0]])[0];
        let of = |name| found[SIGNED.iter().position(|known| *known == name).unwrap()];
        assert_eq!([of("saturating_neg"), of("saturating_abs")], [i16::MAX; 2]);
        assert_eq!([of("wrapping_neg"), of("wrapping_abs")], [i16::MIN; 2]);
        assert_eq!([of("negated below zero"), of("absolute below one")], [1; 2]);
    }
}

#[test]
fn conversions_between_integers_and_floats() {
    let mut numbers = extremes(128);
    for power in 0..128 {
        let one = 1_u128 << power;
        // Halfway between floats, above and below.
        numbers.extend([
            one,
            one.wrapping_neg(),
            one - 1,
            one + 1,
            one + (one >> 24),
            one + (one >> 53),
            one + (one >> 24) + 1,
        ]);
        numbers.extend([
            one + (one >> 53) + 1,
            one + (one >> 23) + (one >> 24),
            one + (one >> 52) + (one >> 53),
        ]);
    }
    for device in with_kernels() {
        let found = computed(&device, &integers::conversions_of_integers, &numbers);
        for (found, &x) in found.into_iter().zip(&numbers) {
            assert_eq!(found, integers::conversions(x), "{device}: of {x:#x}");
        }
    }
}

#[test]
fn floats_become_integers() {
    let mut numbers = vec![
        0.0,
        -0.0,
        0.5,
        -0.5,
        0.999,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN,
    ];
    for power in 0..130 {
        let one = 2.0_f64.powi(power);
        numbers.extend([
            one,
            -one,
            one - 0.5,
            -one - 0.5,
            one.next_down(),
            -one.next_up(),
            1.7 * one,
            -1.3 * one,
        ]);
    }
    for device in with_kernels() {
        let found = computed(&device, &integers::truncations_of_floats, &numbers);
        for (found, &x) in found.into_iter().zip(&numbers) {
            assert_eq!(found, integers::truncations(x), "{device}: of {x:e}");
        }
    }
}
