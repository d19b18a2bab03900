//! `GpuFloat` and `FloatExt`: against values in high precision, and at the limits.

use super::*;
use cuda_std::{DeviceSlice, DeviceSliceMut};
use cuda_std_tests_kernels::std_floats::*;
use std::f64::consts::PI;

/// The type of all kernels here.
type Floats<T> = Kernel<(DeviceSlice<[T; 3]>, DeviceSliceMut<[T; 2]>)>;

/// Launches a kernel on every device, and calls `check` with each triple and its results.
macro_rules! on_devices {
    ($kernel:expr, $type:ident, $triples:expr, $check:expr) => {
        for device in with_kernels() {
            let triples: &[[$type; 3]] = $triples;
            let input = device.buffer_from(triples).unwrap();
            let mut out = device.zeros::<[$type; 2]>(triples.len()).unwrap();
            let arguments = (input.slice(), out.slice_mut());
            let config = LaunchConfig::for_len(triples.len(), 64);
            // SAFETY: as long as each other.
            unsafe { launch_of(&COMMON, &device, $kernel, config, arguments) };
            for (triple, results) in triples.iter().zip(out.to_vec().unwrap()) {
                $check(&device, *triple, results);
            }
        }
    };
}

/// A function, and the bounds of its error that `GpuFloat` and `FloatExt` state.
struct Function {
    name: &'static str,
    single: &'static Floats<f32>,
    double: &'static Floats<f64>,
    /// In units of the last place of the result of `f32` and `f64`.
    bounds: [f64; 2],
    /// The least magnitude of a result that counts for a unit: 0 for a relative error.
    scale: fn(f64) -> f64,
}

/// An error relative to the result.
fn relative(_: f64) -> f64 {
    0.0
}

/// Bessel functions oscillate with this amplitude: the error next to their zeros is absolute.
fn amplitude(x: f64) -> f64 {
    (2.0 / (PI * x.abs())).sqrt().min(1.0)
}

/// Left of 0, ln |Γ(x)| is a difference, of ln (π / |x·sin πx|) and ln Γ(−x): up to |x|·(1 + ln
/// |x|).
fn reflected(x: f64) -> f64 {
    if x < 0.0 {
        -x * (1.0 + (1.0 - x).ln())
    } else {
        0.0
    }
}

macro_rules! functions {
    ($($name:ident $single:ident $double:ident $of_f32:literal $of_f64:literal $scale:ident;)*) => {
        [$(Function {
            name: stringify!($name),
            single: &$single,
            double: &$double,
            bounds: [$of_f32, $of_f64],
            scale: $scale,
        }),*]
    };
}

fn functions() -> [Function; 42] {
    functions! {
        powi powi_f32 powi_f64 0.501 1.0 relative;
        powf powf_f32 powf_f64 1.0 1.0 relative;
        exp exp_f32 exp_f64 1.0 1.0 relative;
        exp2 exp2_f32 exp2_f64 1.0 1.0 relative;
        ln ln_f32 ln_f64 1.0 1.0 relative;
        log log_f32 log_f64 3.0 3.0 relative;
        log2 log2_f32 log2_f64 1.0 1.0 relative;
        log10 log10_f32 log10_f64 1.0 1.0 relative;
        cbrt cbrt_f32 cbrt_f64 1.0 1.0 relative;
        hypot hypot_f32 hypot_f64 1.0 1.0 relative;
        sin sin_f32 sin_f64 1.0 1.0 relative;
        cos cos_f32 cos_f64 1.0 1.0 relative;
        tan tan_f32 tan_f64 1.0 1.0 relative;
        asin asin_f32 asin_f64 1.0 1.0 relative;
        acos acos_f32 acos_f64 1.0 1.0 relative;
        atan atan_f32 atan_f64 1.0 1.0 relative;
        atan2 atan2_f32 atan2_f64 2.0 2.0 relative;
        exp_m1 exp_m1_f32 exp_m1_f64 1.0 1.0 relative;
        ln_1p ln_1p_f32 ln_1p_f64 1.0 1.0 relative;
        sinh sinh_f32 sinh_f64 2.0 2.0 relative;
        cosh cosh_f32 cosh_f64 2.0 2.0 relative;
        tanh tanh_f32 tanh_f64 2.0 2.0 relative;
        asinh asinh_f32 asinh_f64 2.0 2.0 relative;
        acosh acosh_f32 acosh_f64 2.0 2.0 relative;
        atanh atanh_f32 atanh_f64 2.0 2.0 relative;
        sinpi sinpi_f32 sinpi_f64 0.501 2.0 relative;
        cospi cospi_f32 cospi_f64 0.501 2.0 relative;
        error_function erf_f32 erf_f64 1.0 1.0 relative;
        complementary_error_function erfc_f32 erfc_f64 3.0 3.0 relative;
        inv_complementary_error_function erfc_inv_f32 erfc_inv_f64 0.501 4.0 relative;
        scaled_complementary_error_function erfcx_f32 erfcx_f64 0.501 4.0 relative;
        norm_cdf norm_cdf_f32 norm_cdf_f64 0.501 4.0 relative;
        inv_norm_cdf norm_cdf_inv_f32 norm_cdf_inv_f64 0.501 4.0 relative;
        rcbrt rcbrt_f32 rcbrt_f64 0.501 2.0 relative;
        gamma gamma_f32 gamma_f64 1.0 8.0 relative;
        log_gamma log_gamma_f32 log_gamma_f64 3.0 3.0 reflected;
        j0 j0_f32 j0_f64 4.0 4.0 amplitude;
        j1 j1_f32 j1_f64 4.0 4.0 amplitude;
        jn jn_f32 jn_f64 16.0 16.0 amplitude;
        y0 y0_f32 y0_f64 4.0 4.0 amplitude;
        y1 y1_f32 y1_f64 4.0 4.0 amplitude;
        yn yn_f32 yn_f64 16.0 16.0 amplitude;
    }
}

/// A line of `references/floats.txt`: two arguments, a value near the result, and what it lacks.
struct Reference {
    arguments: [f64; 2],
    near: f64,
    rest: f64,
}

fn references(name: &str) -> Vec<Reference> {
    let lines = include_str!("references/floats.txt").lines();
    let lines = lines.filter(|line| line.split(' ').next() == Some(name));
    let read = |line: &str| {
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        let (numbers, rest) = words.split_at(words.len() - 1);
        let number = |word: &&str| f64::from_bits(u64::from_str_radix(word, 16).unwrap());
        let numbers: Vec<f64> = numbers.iter().map(number).collect();
        let (near, arguments) = numbers.split_last().unwrap();
        Reference {
            arguments: [arguments[0], arguments.get(1).copied().unwrap_or(0.0)],
            near: *near,
            rest: rest[0].parse().unwrap(),
        }
    };
    lines.map(read).collect()
}

macro_rules! ulp {
    ($($name:ident $type:ident $digits:literal $least:literal;)*) => {$(
        /// A unit of the last place of numbers as large as `x`.
        fn $name(x: f64) -> f64 {
            let exponent = if x == 0.0 { $least } else { x.abs().log2().floor() as i32 - $digits };
            2f64.powi(exponent.max($least))
        }
    )*};
}
ulp! {
    ulp_f32 f32 23 -149;
    ulp_f64 f64 52 -1074;
}

/// Returns the error in units of the last place of each result of the table, and its argument.
macro_rules! errors {
    ($function:expr, $type:ident, $kernel:ident, $ulp:ident, $is_argument:expr) => {{
        let references = references($function.name);
        let is_argument: fn(&Reference) -> bool = $is_argument;
        let references: Vec<&Reference> =
            references.iter().filter(|one| is_argument(one)).collect();
        let triples = references
            .iter()
            .map(|one| [one.arguments[0] as $type, one.arguments[1] as $type, 0.0]);
        let triples: Vec<[$type; 3]> = triples.collect();
        let mut errors = Vec::new();
        let mut at = references.iter().cycle();
        on_devices!(
            $function.$kernel,
            $type,
            &triples,
            |_: &Device, triple: [$type; 3], [found, other]: [$type; 2]| {
                let &&Reference {
                    arguments,
                    near,
                    rest,
                } = at.next().unwrap();
                assert_eq!(found, other, "{} of {triple:?}", $function.name);
                let error = f64::from(found) - near - rest * ulp_f64(near);
                let unit = $ulp(near.abs().max(($function.scale)(arguments[0])));
                errors.push((error.abs() / unit, (triple, found)));
            }
        );
        errors
    }};
}

/// The table has results of normal numbers; such arguments of `f64` only as have normal numbers of
/// `f32` for a result.
fn is_single(one: &Reference) -> bool {
    let is_single = |x: f64| f64::from(x as f32) == x;
    let is_normal =
        f64::from(f32::MIN_POSITIVE) <= one.near.abs() && one.near.abs() < f64::from(f32::MAX);
    one.arguments.into_iter().all(is_single) && is_normal
}

/// The largest error of a function, if it is above the bound.
fn above<T: std::fmt::Debug>(
    function: &Function,
    errors: &[(f64, T)],
    bound: f64,
) -> Option<String> {
    // The table is shorter than this if it does not fit.
    assert!(errors.len() > 5, "{}", function.name);
    let worst = errors.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    (worst.0.is_nan() || worst.0 > bound).then(|| {
        format!(
            "{}{:?}: {} units, more than {bound}\n",
            function.name, worst.1, worst.0
        )
    })
}

#[test]
fn errors_are_within_their_bounds() {
    let mut report = String::new();
    for function in functions() {
        let [of_f32, of_f64] = function.bounds;
        let single = errors!(function, f32, single, ulp_f32, is_single);
        let double = errors!(function, f64, double, ulp_f64, |_| true);
        report.extend(above(&function, &single, of_f32));
        report.extend(above(&function, &double, of_f64));
    }
    assert!(report.is_empty(), "{report}");
}

macro_rules! limits {
    ($($name:ident $type:ident $kernel:ident;)*) => {$(
        #[test]
        fn $name() {
            const INF: $type = $type::INFINITY;
            const NAN: $type = $type::NAN;
            let pi = std::$type::consts::PI;
            // Functions, arguments and the result, whose sign counts if it is 0 only for an
            // argument of −0.
            let cases: &[(&str, &[($type, $type, $type)])] = &[
                ("powi", &[(0.0, 0.0, 1.0), (-2.0, 3.0, -8.0), (2.0, -2.0, 0.25), (0.0, -1.0, INF), (INF, -1.0, 0.0)]),
                ("powf", &[(0.0, 0.0, 1.0), (1.0, NAN, 1.0), (NAN, 0.0, 1.0), (-2.0, 3.0, -8.0), (-2.0, 0.5, NAN),
                    (0.0, -1.0, INF), (-0.0, -1.0, -INF), (INF, -1.0, 0.0), (2.0, INF, INF), (0.5, INF, 0.0)]),
                ("exp", &[(0.0, 0.0, 1.0), (INF, 0.0, INF), (-INF, 0.0, 0.0), (1000.0, 0.0, INF), (-1000.0, 0.0, 0.0)]),
                ("exp2", &[(0.0, 0.0, 1.0), (10.0, 0.0, 1024.0), (INF, 0.0, INF), (-INF, 0.0, 0.0), (2000.0, 0.0, INF),
                    (-2000.0, 0.0, 0.0), (-4.0, 0.0, 0.0625)]),
                ("ln", &[(0.0, 0.0, -INF), (-0.0, 0.0, -INF), (1.0, 0.0, 0.0), (INF, 0.0, INF), (-1.0, 0.0, NAN)]),
                ("log", &[(0.0, 2.0, -INF), (INF, 2.0, INF), (-1.0, 2.0, NAN), (3.0, 3.0, 1.0), (1.0, 7.0, 0.0)]),
                ("log2", &[(0.0, 0.0, -INF), (8.0, 0.0, 3.0), (0.125, 0.0, -3.0), (INF, 0.0, INF), (-1.0, 0.0, NAN)]),
                ("log10", &[(0.0, 0.0, -INF), (1.0, 0.0, 0.0), (INF, 0.0, INF), (-1.0, 0.0, NAN)]),
                ("cbrt", &[(-8.0, 0.0, -2.0), (-0.0, 0.0, -0.0), (INF, 0.0, INF), (-INF, 0.0, -INF)]),
                ("hypot", &[(3.0, -4.0, 5.0), (INF, NAN, INF), (NAN, -INF, INF), ($type::MAX, $type::MAX, INF), (0.0, -0.0, 0.0)]),
                ("sin", &[(-0.0, 0.0, -0.0), (INF, 0.0, NAN), (-INF, 0.0, NAN)]),
                ("cos", &[(-0.0, 0.0, 1.0), (INF, 0.0, NAN), (-INF, 0.0, NAN)]),
                ("tan", &[(-0.0, 0.0, -0.0), (INF, 0.0, NAN), (-INF, 0.0, NAN)]),
                ("asin", &[(-0.0, 0.0, -0.0), (1.0, 0.0, pi / 2.0), (-1.0, 0.0, -pi / 2.0), (1.5, 0.0, NAN), (-INF, 0.0, NAN)]),
                ("acos", &[(1.0, 0.0, 0.0), (-1.0, 0.0, pi), (0.0, 0.0, pi / 2.0), (1.5, 0.0, NAN), (INF, 0.0, NAN)]),
                ("atan", &[(-0.0, 0.0, -0.0), (INF, 0.0, pi / 2.0), (-INF, 0.0, -pi / 2.0), (1.0, 0.0, pi / 4.0)]),
                ("atan2", &[(0.0, -1.0, pi), (-0.0, -1.0, -pi), (-0.0, 1.0, -0.0), (1.0, 0.0, pi / 2.0), (INF, INF, pi / 4.0),
                    (1.0, -INF, pi)]),
                ("exp_m1", &[(-0.0, 0.0, -0.0), (INF, 0.0, INF), (-INF, 0.0, -1.0), (1000.0, 0.0, INF)]),
                ("ln_1p", &[(-0.0, 0.0, -0.0), (-1.0, 0.0, -INF), (-2.0, 0.0, NAN), (INF, 0.0, INF)]),
                ("sinh", &[(-0.0, 0.0, -0.0), (INF, 0.0, INF), (-INF, 0.0, -INF), (-1000.0, 0.0, -INF)]),
                ("cosh", &[(0.0, 0.0, 1.0), (INF, 0.0, INF), (-INF, 0.0, INF), (-1000.0, 0.0, INF)]),
                ("tanh", &[(-0.0, 0.0, -0.0), (INF, 0.0, 1.0), (-INF, 0.0, -1.0), (50.0, 0.0, 1.0)]),
                ("asinh", &[(-0.0, 0.0, -0.0), (INF, 0.0, INF), (-INF, 0.0, -INF)]),
                ("acosh", &[(1.0, 0.0, 0.0), (0.5, 0.0, NAN), (INF, 0.0, INF), (-INF, 0.0, NAN)]),
                ("atanh", &[(-0.0, 0.0, -0.0), (1.0, 0.0, INF), (-1.0, 0.0, -INF), (2.0, 0.0, NAN)]),
                ("sinpi", &[(-0.0, 0.0, -0.0), (1.0, 0.0, 0.0), (0.5, 0.0, 1.0), (-1.5, 0.0, 1.0), (1e30, 0.0, 0.0),
                    (INF, 0.0, NAN), (1.0 / 6.0, 0.0, 0.5)]),
                ("cospi", &[(0.0, 0.0, 1.0), (0.5, 0.0, 0.0), (-1.0, 0.0, -1.0), (2.5, 0.0, 0.0), (1e30, 0.0, 1.0),
                    (-INF, 0.0, NAN)]),
                ("error_function", &[(-0.0, 0.0, -0.0), (INF, 0.0, 1.0), (-INF, 0.0, -1.0), (-30.0, 0.0, -1.0)]),
                ("complementary_error_function", &[(0.0, 0.0, 1.0), (INF, 0.0, 0.0), (-INF, 0.0, 2.0), (200.0, 0.0, 0.0)]),
                ("inv_complementary_error_function", &[(0.0, 0.0, INF), (-0.0, 0.0, INF), (2.0, 0.0, -INF), (1.0, 0.0, 0.0),
                    (-0.5, 0.0, NAN), (2.5, 0.0, NAN), (INF, 0.0, NAN)]),
                ("scaled_complementary_error_function", &[(0.0, 0.0, 1.0), (INF, 0.0, 0.0), (-INF, 0.0, INF), (-30.0, 0.0, INF)]),
                ("norm_cdf", &[(0.0, 0.0, 0.5), (INF, 0.0, 1.0), (-INF, 0.0, 0.0), (-50.0, 0.0, 0.0), (10.0, 0.0, 1.0)]),
                ("inv_norm_cdf", &[(0.0, 0.0, -INF), (1.0, 0.0, INF), (0.5, 0.0, 0.0), (-0.5, 0.0, NAN), (1.5, 0.0, NAN)]),
                ("rcbrt", &[(8.0, 0.0, 0.5), (-8.0, 0.0, -0.5), (0.0, 0.0, INF), (-0.0, 0.0, -INF), (INF, 0.0, 0.0)]),
                ("gamma", &[(1.0, 0.0, 1.0), (5.0, 0.0, 24.0), (0.0, 0.0, INF), (-0.0, 0.0, -INF), (-1.0, 0.0, NAN),
                    (INF, 0.0, INF), (-INF, 0.0, NAN), (200.0, 0.0, INF)]),
                ("log_gamma", &[(1.0, 0.0, 0.0), (2.0, 0.0, 0.0), (0.0, 0.0, INF), (-3.0, 0.0, INF), (INF, 0.0, INF),
                    (-INF, 0.0, INF)]),
                ("j0", &[(0.0, 0.0, 1.0), (INF, 0.0, 0.0), (-INF, 0.0, 0.0)]),
                ("j1", &[(0.0, 0.0, 0.0), (INF, 0.0, 0.0), (-INF, 0.0, 0.0)]),
                ("jn", &[(0.0, 0.0, 1.0), (0.0, 3.0, 0.0), (INF, 3.0, 0.0)]),
                ("y0", &[(0.0, 0.0, -INF), (-1.0, 0.0, NAN), (INF, 0.0, 0.0)]),
                ("y1", &[(0.0, 0.0, -INF), (-1.0, 0.0, NAN), (INF, 0.0, 0.0)]),
                ("yn", &[(0.0, 2.0, -INF), (-1.0, 2.0, NAN), (INF, 2.0, 0.0)]),
            ];
            let is_odd = [
                "sin", "tan", "asin", "atan", "exp_m1", "ln_1p", "sinh", "tanh", "asinh", "atanh",
            ];
            for function in functions() {
                let cases = cases.iter().find(|(name, _)| *name == function.name).unwrap().1;
                let mut cases = cases.to_vec();
                cases.push((NAN, 1.0, NAN));
                if is_odd.contains(&function.name) {
                    // Close to 0 they are x.
                    let least = $type::from_bits(1);
                    cases.extend([least, -least, $type::MIN_POSITIVE / 3.0].map(|x| (x, 0.0, x)));
                }
                let triples: Vec<[$type; 3]> = cases.iter().map(|&(x, y, _)| [x, y, 0.0]).collect();
                let mut expected = cases.iter().map(|&(_, _, result)| result).cycle();
                on_devices!(function.$kernel, $type, &triples, |device: &Device, [x, y, _]: [$type; 3], [found, _]: [$type; 2]| {
                    let expected = expected.next().unwrap();
                    let is_signed = x.to_bits() == (-0.0 as $type).to_bits();
                    // Where the result is no exact one, such as π / 2, one of its neighbours will
                    // do.
                    let is_near = expected.is_finite()
                        && expected != 0.0
                        && (found - expected).abs() <= expected.abs() * $type::EPSILON;
                    let same = found.is_nan() && expected.is_nan()
                        || found == expected && (!is_signed || found.is_sign_negative() == expected.is_sign_negative())
                        || is_near;
                    assert!(same, "{device}: {}({x:?}, {y:?}) is {found:?}, not {expected:?}", function.name);
                });
            }
        }
    )*};
}

limits! {
    limits_of_f32 f32 single;
    limits_of_f64 f64 double;
}

/// Returns m and n with x = m · 2ⁿ and ½ ≤ |m| < 1, in steps that are exact.
fn frexp(x: f64) -> (f64, i32) {
    let (mut m, mut n) = (x, 0);
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    while m.abs() >= 1.0 {
        (m, n) = (m * 0.5, n + 1);
    }
    while m.abs() < 0.5 {
        (m, n) = (m * 2.0, n - 1);
    }
    (m, n)
}

/// Returns x · 2ⁿ, rounded at most once, in the last product.
fn ldexp(x: f64, n: i32) -> f64 {
    let (m, exponent) = frexp(x);
    let exponent = exponent.saturating_add(n);
    match exponent {
        _ if m == 0.0 || !m.is_finite() => m,
        1025.. => m * f64::INFINITY,
        0..=1024 => m * 2.0 * 2f64.powi(exponent - 1),
        -1020..0 => m * 2f64.powi(exponent),
        -1400..-1020 => m * 2f64.powi(-400) * 2f64.powi(exponent + 400),
        _ => m * 0.0,
    }
}

macro_rules! exact {
    ($($name:ident $type:ident $bits:ident: $($kernel:ident = |$x:ident, $y:ident, $z:ident| $result:expr;)*;)*) => {$(
        #[test]
        fn $name() {
            let special: Vec<$type> = [
                0.0, 0.5, 1.5, 2.5, 3.0, 1.0, 100.25, 8_388_607.5, 4_503_599_627_370_495.5, 1e30, $type::NAN, $type::INFINITY,
                $type::MAX, $type::MIN_POSITIVE, $type::EPSILON, $type::from_bits(1), $type::MIN_POSITIVE / 3.0,
                1.0 - $type::EPSILON / 2.0,
            ].into_iter().flat_map(|x: $type| [x, -x]).collect();
            let mut triples = Vec::new();
            for &x in &special {
                triples.extend(special.iter().map(|&y| [x, y, 0.25 - x * y]));
            }
            let draws = random(31, if small() { 300 } else { 3000 });
            let draw = |draws: &[u64]| [0, 1, 2].map(|i| $type::from_bits(draws[i] as $bits));
            triples.extend(draws.chunks_exact(3).map(draw));
            // Of a size that leaves quotients and exponents small.
            let near = |&draw: &u64| [(draw as i32) as $type / 1e5, (draw >> 40) as $type % 300.0 - 150.0, 1.0];
            triples.extend(draws.iter().map(near));
            $({
                let expected: fn($type, $type, $type) -> [$type; 2] = |$x, $y, $z| {
                    let _ = ($y, $z);
                    $result
                };
                on_devices!(&$kernel, $type, &triples, |device: &Device, [x, y, z]: [$type; 3], found: [$type; 2]| {
                    let expected = expected(x, y, z);
                    let same = |a: $type, b: $type| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
                    let same = same(found[0], expected[0]) && same(found[1], expected[1]);
                    let name = stringify!($kernel);
                    assert!(same, "{device}: {name} of {x:?}, {y:?}, {z:?} is {found:?}, not {expected:?}");
                });
            })*
        }
    )*};
}

/// The exponent of x = m · 2ⁿ with 1 ≤ |m| < 2, and C's answers for the others.
fn exponent(x: f64) -> i32 {
    match x {
        _ if x == 0.0 || x.is_nan() => i32::MIN,
        _ if x.is_infinite() => i32::MAX,
        _ => frexp(x).1 - 1,
    }
}

macro_rules! saturated {
    ($x:ident) => {
        if $x > 1.0 {
            1.0
        } else if $x > 0.0 {
            $x
        } else {
            0.0
        }
    };
}

exact! {
    exact_methods_of_f32 f32 u32:
        floor_f32 = |x, y, z| [x.floor(), x.ceil()];
        round_f32 = |x, y, z| [x.round(), x.trunc()];
        fract_f32 = |x, y, z| [x.fract(), x.abs()];
        signum_f32 = |x, y, z| [x.signum(), x.copysign(y)];
        mul_add_f32 = |x, y, z| [x.mul_add(y, z), x.sqrt()];
        euclid_f32 = |x, y, z| [x.div_euclid(y), x.rem_euclid(y)];
        frexp_f32 = |x, y, z| [frexp(x.into()).0 as f32, frexp(x.into()).1 as f32];
        ldexp_f32 = |x, y, z| [ldexp(x.into(), y as i32) as f32; 2];
        unbiased_exp_f32 = |x, y, z| [exponent(x.into()) as f32, saturated!(x)];;
    exact_methods_of_f64 f64 u64:
        floor_f64 = |x, y, z| [x.floor(), x.ceil()];
        round_f64 = |x, y, z| [x.round(), x.trunc()];
        fract_f64 = |x, y, z| [x.fract(), x.abs()];
        signum_f64 = |x, y, z| [x.signum(), x.copysign(y)];
        mul_add_f64 = |x, y, z| [x.mul_add(y, z), x.sqrt()];
        euclid_f64 = |x, y, z| [x.div_euclid(y), x.rem_euclid(y)];
        frexp_f64 = |x, y, z| [frexp(x).0, frexp(x).1.into()];
        ldexp_f64 = |x, y, z| [ldexp(x, y as i32); 2];
        unbiased_exp_f64 = |x, y, z| [exponent(x).into(), saturated!(x)];;
}
