//! Float functions.

use super::*;
use std::f64::consts::TAU;

macro_rules! exact {
    ($($name:ident, $type:ident, $kernel:ident, $bits:ident, $random:expr;)*) => {$(
        #[test]
        fn $name() {
            let special = [
                0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.5, 0.499_999_97, 1.0, -1.0,
                8_388_607.5, 4_503_599_627_370_495.5, 1e30, -1e30,
                $type::NAN, $type::INFINITY, $type::NEG_INFINITY, $type::MAX, $type::MIN,
                $type::MIN_POSITIVE, $type::EPSILON, 1.0 + $type::EPSILON, 1.0 - $type::EPSILON / 2.0,
                // Subnormal, the smallest and the largest.
                $type::from_bits(1), -$type::from_bits(1), $type::from_bits($type::MIN_POSITIVE.to_bits() - 1),
                $type::MIN_POSITIVE / 3.0,
            ];
            let mut operands = Vec::new();
            for a in special {
                for b in special {
                    // c is what cancels the product, so that only the rounding is left.
                    operands.extend([[a, b, 1.0], [a, b, -(a * b)], [a, b, -0.0]]);
                }
            }
            if small() {
                operands.truncate(300);
            }
            let bits: fn(u64) -> $bits = $random;
            let draws: Vec<$type> = random(17, if small() { 300 } else { 9000 })
                .into_iter()
                .map(|draw| $type::from_bits(bits(draw)))
                .collect();
            operands.extend(draws.chunks_exact(3).map(|draws| [draws[0], draws[1], draws[2]]));
            // Near 1, where no product overflows.
            operands.extend(random(18, 500).into_iter().map(|draw| {
                let part = |shift: u32| 0.5 + (draw >> shift & 0xffff) as $type / 50_000.0;
                [part(0), part(16), -part(32)]
            }));
            let expected: Vec<[$type; 8]> = operands
                .iter()
                .map(|&[a, b, c]| {
                    [a.mul_add(b, c), a.sqrt(), a.floor(), a.ceil(), a.trunc(), a.round_ties_even(), a * b + c, a / b]
                })
                .collect();
            operands.resize(operands.len().next_multiple_of(128), [1.0; 3]);
            for device in with_kernels() {
                let input = device.buffer_from(&operands).unwrap();
                let mut out = device.zeros::<[$type; 8]>(operands.len()).unwrap();
                let config = LaunchConfig::new((operands.len() / 128) as u32, 128);
                let arguments = (input.slice(), out.slice_mut());
                // SAFETY: an element per thread.
                unsafe { launch(&device, &kernels::floats::$kernel, config, arguments) };
                let names = ["fma", "sqrt", "floor", "ceil", "trunc", "round_ties_even", "a * b + c", "a / b"];
                for (i, found) in out.to_vec().unwrap().iter().take(expected.len()).enumerate() {
                    for ((name, found), expected) in names.iter().zip(found).zip(expected[i]) {
                        let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
                        assert!(same, "{device}: {name} of {:?} is {found:?}, not {expected:?}", operands[i]);
                    }
                }
            }
        }
    )*};
}

exact! {
    exact_functions_of_f32, f32, exact_f32, u32, |draw| draw as u32;
    exact_functions_of_f64, f64, exact_f64, u64, |draw| draw;
}

/// The approximations of `inputs` on every device.
fn approximations(inputs: &[f32]) -> Vec<(Device, Vec<[f32; 5]>)> {
    with_kernels()
        .map(|device| {
            let mut padded = inputs.to_vec();
            padded.resize(inputs.len().next_multiple_of(128), 1.0);
            let input = device.buffer_from(&padded).unwrap();
            let mut out = device.zeros::<[f32; 5]>(padded.len()).unwrap();
            let config = LaunchConfig::new((padded.len() / 128) as u32, 128);
            let arguments = (input.slice(), out.slice_mut());
            // SAFETY: an element per thread.
            unsafe { launch(&device, &kernels::floats::approximate, config, arguments) };
            let mut results = out.to_vec().unwrap();
            results.truncate(inputs.len());
            (device, results)
        })
        .collect()
}

/// The bounds that the functions document. The reference has an error of at most an ulp of
/// `f64`, 2⁻⁵² relative, which `slack` covers.
#[test]
fn approximations_keep_their_bounds() {
    let slack = 1.0 + 1e-6;
    let per = if small() { 40 } else { 2000 };
    fn turn(draw: u64) -> f64 {
        draw as i64 as f64 / 2f64.powi(63) * TAU * 0.999_999
    }
    let mut inputs = Vec::new();
    let mut add = |seed, number: fn(u64) -> f32| {
        inputs.extend(random(seed, per).into_iter().map(number));
    };
    // Positive numbers of all exponents, subnormal ones too.
    add(19, |draw| f32::from_bits(draw as u32 % 0x7f80_0000));
    // Between −150 and 130, where 2ˣ is anything from 0 to infinity.
    add(20, |draw| (draw % 280_000) as f32 / 1000.0 - 150.0);
    // Close to 1 and in (1/2, 2); within ±2π and ±100π.
    add(21, |draw| 1.0 + (draw as i64 >> 32) as f32 * 1e-14);
    add(22, |draw| 0.5 + (draw % 1_500_000) as f32 * 1e-6);
    add(23, |draw| turn(draw) as f32);
    add(24, |draw| (50.0 * turn(draw)) as f32);
    for (device, results) in approximations(&inputs) {
        for (&x, [rsqrt, exp2, log2, sin, cos]) in inputs.iter().zip(results) {
            let wide = f64::from(x);
            let near = |name: &str, found: f32, exact: f64, bound: f64| {
                let error = (f64::from(found) - exact).abs();
                assert!(
                    error <= bound * slack,
                    "{device}: {name} of {x:e} is {found:e}, {error:e} off, more than {bound:e}"
                );
            };
            if x > 0.0 {
                let exact = 1.0 / wide.sqrt();
                near("rsqrt", rsqrt, exact, exact * 2f64.powf(-22.9));
                let exact = wide.log2();
                let scale = if 0.5 < x && x < 2.0 { 1.0 } else { exact.abs() };
                near("log2", log2, exact, scale * 2f64.powi(-22));
            }
            let exact = wide.exp2();
            if exact < 2f64.powi(128) * (1.0 - 2f64.powi(-22)) {
                // An ulp of a float in [2^e, 2^(e+1)) is 2^(e−23), and 2⁻¹⁴⁹ at least.
                let ulp = 2f64.powf((wide.floor() - 23.0).max(-149.0));
                near("exp2", exp2, exact, 2.0 * ulp);
            } else if exact > 2f64.powi(128) * (1.0 + 2f64.powi(-22)) {
                assert_eq!(exp2, f32::INFINITY, "{device}: {x}");
            }
            let bound = match wide.abs() {
                small if small <= TAU => 2f64.powf(-20.5),
                large if large <= 50.0 * TAU => 2f64.powf(-14.7),
                _ => continue,
            };
            near("sin", sin, wide.sin(), bound);
            near("cos", cos, wide.cos(), bound);
        }
    }
}

#[test]
fn approximations_have_the_limits_that_they_should() {
    let (nan, infinity) = (f32::NAN, f32::INFINITY);
    let cases = [
        // x, then 1 / √x, 2ˣ, log₂ x, sin x, cos x.
        (0.0, [infinity, 1.0, -infinity, 0.0, 1.0]),
        (-0.0, [-infinity, 1.0, -infinity, -0.0, 1.0]),
        (infinity, [0.0, infinity, infinity, nan, nan]),
        (-infinity, [nan, 0.0, nan, nan, nan]),
        (nan, [nan; 5]),
    ];
    let inputs = cases.map(|(x, _)| x);
    for (device, results) in approximations(&inputs) {
        for ((x, expected), found) in cases.iter().zip(results) {
            let same = found.iter().zip(expected).all(|(found, expected)| {
                found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan()
            });
            assert!(same, "{device}: {x:?} gives {found:?}, not {expected:?}");
        }
    }
    for (device, results) in approximations(&[1.0, 4.0, -1.0]) {
        assert_eq!((results[0][0], results[1][0]), (1.0, 0.5), "{device}");
        let exp2 = [0, 1, 2].map(|i| results[i][1]);
        assert_eq!(exp2, [2.0, 16.0, 0.5], "{device}");
        assert_eq!((results[0][2], results[1][2]), (0.0, 2.0), "{device}");
        assert!(results[2][0].is_nan() && results[2][2].is_nan(), "{device}");
    }
}
