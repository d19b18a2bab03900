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
            unsafe { launch(&device, $kernel, config, arguments) };
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

/// Left of 0, ln |Γ(x)| is a difference, of ln (π / |x·sin πx|) and ln Γ(−x): up to |x|·(1 + ln |x|).
fn reflected(x: f64) -> f64 {
    if x < 0.0 { -x * (1.0 + (1.0 - x).ln()) } else { 0.0 }
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
        atan2 atan2_f32 atan2_f64 1.0 1.0 relative;
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
        complementary_error_function erfc_f32 erfc_f64 1.0 1.0 relative;
        inv_complementary_error_function erfc_inv_f32 erfc_inv_f64 0.501 4.0 relative;
        scaled_complementary_error_function erfcx_f32 erfcx_f64 0.501 4.0 relative;
        norm_cdf norm_cdf_f32 norm_cdf_f64 0.501 4.0 relative;
        inv_norm_cdf norm_cdf_inv_f32 norm_cdf_inv_f64 0.501 4.0 relative;
        rcbrt rcbrt_f32 rcbrt_f64 0.501 2.0 relative;
        gamma gamma_f32 gamma_f64 1.0 1.0 relative;
        log_gamma log_gamma_f32 log_gamma_f64 1.0 1.0 reflected;
        j0 j0_f32 j0_f64 1.0 1.0 amplitude;
        j1 j1_f32 j1_f64 1.0 1.0 amplitude;
        jn jn_f32 jn_f64 1.0 1.0 amplitude;
        y0 y0_f32 y0_f64 1.0 1.0 amplitude;
        y1 y1_f32 y1_f64 1.0 1.0 amplitude;
        yn yn_f32 yn_f64 1.0 1.0 amplitude;
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
        let references: Vec<&Reference> = references.iter().filter(|one| is_argument(one)).collect();
        let triples = references.iter().map(|one| [one.arguments[0] as $type, one.arguments[1] as $type, 0.0]);
        let triples: Vec<[$type; 3]> = triples.collect();
        let mut errors = Vec::new();
        let mut at = references.iter().cycle();
        on_devices!($function.$kernel, $type, &triples, |_: &Device, triple: [$type; 3], [found, other]: [$type; 2]| {
            let &&Reference { arguments, near, rest } = at.next().unwrap();
            if other != 0.0 {
                assert_eq!(found, other, "{} of {triple:?}", $function.name);
            }
            let error = f64::from(found) - near - rest * ulp_f64(near);
            let unit = $ulp(near.abs().max(($function.scale)(arguments[0])));
            errors.push((error.abs() / unit, triple, found));
        });
        errors
    }};
}

/// The table has results of normal numbers; such arguments of `f64` only as have normal numbers of `f32` for a result.
fn is_single(one: &Reference) -> bool {
    let is_single = |x: f64| f64::from(x as f32) == x;
    let is_normal = f64::from(f32::MIN_POSITIVE) <= one.near.abs() && one.near.abs() < f64::from(f32::MAX);
    one.arguments.into_iter().all(is_single) && is_normal
}

#[test]
fn errors_are_within_their_bounds() {
    let mut report = String::new();
    for function in functions() {
        let single = errors!(function, f32, single, ulp_f32, is_single);
        let double = errors!(function, f64, double, ulp_f64, |_| true);
        assert!(single.len() > 5 && double.len() > 10, "{}", function.name);
        let [of_f32, of_f64] = function.bounds;
        let worst = |errors: &[(f64, String)], bound: f64| {
            let worst = errors.iter().max_by(|a, b| a.0.total_cmp(&b.0)).unwrap().clone();
            if worst.0 <= bound { None } else { Some(format!("{} {}: {} ulp of {bound}\n", function.name, worst.1, worst.0)) }
        };
        let single: Vec<(f64, String)> = single.iter().map(|e| (e.0, format!("f32 {:?} {:?}", e.1, e.2))).collect();
        let double: Vec<(f64, String)> = double.iter().map(|e| (e.0, format!("f64 {:?} {:?}", e.1, e.2))).collect();
        for text in [worst(&single, of_f32), worst(&double, of_f64)].into_iter().flatten() {
            report += &text;
        }
    }
    assert!(report.is_empty(), "{report}");
}
