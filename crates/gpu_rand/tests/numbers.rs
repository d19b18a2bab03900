//! The generators against `rand_xoshiro`, and what their numbers are like.
//!
//! Statistical bounds are 5 standard deviations of the statistic over independent numbers, which
//! one test in two million exceeds by chance. The seeds are fixed, so a test always gives the same.

use gpu_rand::rand_core::{RngCore, SeedableRng};
use gpu_rand::xoroshiro::Xoroshiro128StarStar;
use gpu_rand::{DefaultRand, GpuRand, Philox};

mod double_double;

use double_double::Double;

const COUNT: usize = 1 << 18;

/// Generators of each kind, some seeds and streams apart.
fn generators() -> Vec<(&'static str, Box<dyn RngCore>)> {
    let states = DefaultRand::initialize_states(11, 3);
    vec![
        ("default", Box::new(states[0])),
        ("default, third stream", Box::new(states[2])),
        ("philox", Box::new(Philox::new(0, 0))),
        ("philox, stream", Box::new(Philox::new(0, 1 << 40))),
        ("philox, seed", Box::new(Philox::new(u64::MAX, 5))),
        (
            "xoroshiro",
            Box::new(Xoroshiro128StarStar::seed_from_u64(3)),
        ),
    ]
}

/// Fails unless the mean of the values is within 5 standard deviations of what is expected of
/// independent ones.
fn check_mean(what: &str, values: impl Iterator<Item = f64>, mean: f64, variance: f64) {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    let bound = 5.0 * (variance / count).sqrt();
    let found = sum / count;
    assert!(
        (found - mean).abs() < bound,
        "{what}: {found}, not {mean} ± {bound}"
    );
}

#[test]
fn the_default_generator_is_xoroshiro() {
    for seed in [0, 1, u64::MAX] {
        let mut ours = DefaultRand::seed_from_u64(seed);
        let mut theirs = Xoroshiro128StarStar::seed_from_u64(seed);
        for _ in 0..100 {
            assert_eq!(ours.next_u64(), theirs.next_u64());
        }
    }
    let zero = DefaultRand::from_seed([0; 16]);
    assert_eq!(zero, DefaultRand::seed_from_u64(0));
    let bytes = core::array::from_fn(|i| i as u8);
    let mut ours = DefaultRand::from_seed(bytes);
    let mut theirs = Xoroshiro128StarStar::from_seed(bytes);
    let (mut a, mut b) = ([0; 37], [0; 37]);
    ours.fill_bytes(&mut a);
    theirs.fill_bytes(&mut b);
    assert_eq!(a, b);
    assert_eq!(ours.next_u32(), theirs.next_u32());
}

#[test]
fn states_are_a_jump_apart() {
    let mut theirs = Xoroshiro128StarStar::seed_from_u64(5);
    for mut state in DefaultRand::initialize_states(5, 20) {
        assert_eq!(state.next_u64(), theirs.clone().next_u64());
        theirs.jump();
    }
    assert!(DefaultRand::initialize_states(5, 0).is_empty());
}

#[test]
fn uniform_numbers_have_the_moments_of_the_uniform_distribution() {
    for (name, mut random) in generators() {
        let single: Vec<f64> = (0..COUNT)
            .map(|_| f64::from(random.uniform_f32()))
            .collect();
        let double: Vec<f64> = (0..COUNT).map(|_| random.uniform_f64()).collect();
        for values in [&single, &double] {
            assert!(
                values.iter().all(|value| (0.0..1.0).contains(value)),
                "{name}"
            );
            check_mean(name, values.iter().copied(), 0.5, 1.0 / 12.0);
            // (u − 1/2)² has the mean 1/12 and the variance 1/80 − 1/144.
            let squares = values.iter().map(|value| (value - 0.5).powi(2));
            check_mean(name, squares, 1.0 / 12.0, 1.0 / 180.0);
        }
    }
}

#[test]
fn all_bits_vary() {
    for (name, mut random) in generators() {
        let numbers: Vec<u64> = (0..COUNT / 16).map(|_| random.next_u64()).collect();
        for bit in 0..64 {
            let bits = numbers.iter().map(|number| (number >> bit & 1) as f64);
            check_mean(name, bits, 0.5, 0.25);
        }
    }
}

#[test]
fn intervals_are_hit_equally_often() {
    const INTERVALS: usize = 256;
    for (name, mut random) in generators() {
        let mut hits = [0u32; INTERVALS];
        for _ in 0..COUNT {
            hits[(random.uniform_f32() * INTERVALS as f32) as usize] += 1;
        }
        let expected = (COUNT / INTERVALS) as f64;
        let terms = hits
            .iter()
            .map(|&hits| (f64::from(hits) - expected).powi(2) / expected);
        // χ² of n degrees of freedom has the mean n and the variance 2n.
        let (found, freedom) = (terms.sum::<f64>(), (INTERVALS - 1) as f64);
        assert!(
            (found - freedom).abs() < 5.0 * (2.0 * freedom).sqrt(),
            "{name}: {found}"
        );
    }
}

#[test]
fn normal_numbers_have_the_moments_of_the_normal_distribution() {
    for (name, mut random) in generators() {
        let single: Vec<f64> = (0..COUNT / 2)
            .flat_map(|_| random.normal_f32_2().map(f64::from))
            .collect();
        let double: Vec<f64> = (0..COUNT / 2).flat_map(|_| random.normal_f64_2()).collect();
        for values in [&single, &double] {
            let power = |n| values.iter().map(move |value: &f64| value.powi(n));
            // The mean of x²ⁿ is (2n − 1)!!, and its variance that of x⁴ⁿ without the square of
            // that.
            check_mean(name, power(1), 0.0, 1.0);
            check_mean(name, power(2), 1.0, 2.0);
            check_mean(name, power(3), 0.0, 15.0);
            check_mean(name, power(4), 3.0, 105.0 - 9.0);
            // The probability of more than 2 standard deviations.
            let tail = 0.045_500_263_896_358;
            let beyond = values
                .iter()
                .map(|value| f64::from(u8::from(value.abs() > 2.0)));
            check_mean(name, beyond, tail, tail * (1.0 - tail));
            // The two numbers of a pair are not correlated.
            let products = values.chunks_exact(2).map(|pair| pair[0] * pair[1]);
            check_mean(name, products, 0.0, 1.0);
        }
    }
}

/// The sum of errors of a `f32`, with the unit roundoff e = 2⁻²⁴. 1 − u is exact. The logarithm is
/// wrong by 2 e (1 ulp), which the root halves and adds e to, so that the radius r has the relative
/// error 2 e. The turns are exact in their quadrant; the angle, of at most π/4, is rounded by e,
/// with 2π as a `f32` by another e/2: 1.5 e · π/4 < 1.2 e. The series are cut off at 2 · 10⁻⁹, and
/// their last step is rounded by e, the steps before it by at most e (π/4)² / 2 together. The
/// product is rounded by e.
#[test]
fn normal_numbers_are_near_the_exact_transform() {
    let roundoff = f64::from(f32::EPSILON) / 2.0;
    let relative = (2.0 + 1.2 + 1.0 + 0.31 + 1.0) * roundoff + 2e-9;
    let mut random = Philox::new(3, 9);
    for _ in 0..COUNT {
        let mut again = random;
        let [u, v] = [again.uniform_f32(), again.uniform_f32()].map(f64::from);
        let radius = (-2.0 * (-u).ln_1p()).sqrt();
        let angle = std::f64::consts::TAU * v;
        let exact = [radius * angle.cos(), radius * angle.sin()];
        for (found, exact) in random.normal_f32_2().into_iter().zip(exact) {
            let error = (f64::from(found) - exact).abs();
            assert!(error <= radius * relative, "{found} for {exact}");
            assert!(error < 2e-6);
        }
        assert_eq!(random, again);
    }
}

/// As for `f32`, with e = 2⁻⁵³, where 2π is rounded by less than e/2 too, and the series are cut
/// off at 3 · 10⁻¹⁸. The reference has twice the digits.
#[test]
fn normal_numbers_in_f64_are_near_the_exact_transform() {
    let roundoff = f64::EPSILON / 2.0;
    let relative = (2.0 + 1.2 + 1.0 + 0.31 + 1.0) * roundoff + 3e-18;
    let mut random = Philox::new(3, 9);
    assert_eq!({ random }.normal_f64(), { random }.normal_f64_2()[0]);
    for _ in 0..COUNT / 4 {
        let mut again = random;
        let [u, v] = [again.uniform_f64(), again.uniform_f64()];
        // 1 − u is exact.
        let radius = (Double::from(-2.0) * Double::ln(1.0 - u)).sqrt();
        let exact = Double::cosine_and_sine(v).map(|value| radius * value);
        let radius = radius.to_f64();
        for (found, exact) in random.normal_f64_2().into_iter().zip(exact) {
            let error = (Double::from(found) - exact).to_f64().abs();
            assert!(error <= radius * relative, "{found}: {error:e}");
            assert!(error < 6e-15);
        }
        assert_eq!(random, again);
    }
}

/// The ends of the interval, which no seed reaches soon.
#[test]
fn extreme_numbers_are_finite() {
    /// Gives the same bits always.
    struct Constant(u64);
    impl RngCore for Constant {
        fn next_u32(&mut self) -> u32 {
            self.0 as u32
        }
        fn next_u64(&mut self) -> u64 {
            self.0
        }
        fn fill_bytes(&mut self, dest: &mut [u8]) {
            dest.fill(self.0 as u8);
        }
    }
    let (mut low, mut high) = (Constant(0), Constant(u64::MAX));
    assert_eq!((low.uniform_f32(), low.uniform_f64()), (0.0, 0.0));
    assert_eq!(low.normal_f32_2(), [0.0, 0.0]);
    assert_eq!(low.normal_f64_2(), [0.0, 0.0]);
    assert_eq!(high.uniform_f32(), 1.0f32.next_down());
    assert_eq!(high.uniform_f64(), 1.0f64.next_down());
    // The documented bounds. The cosine of the largest v is 1 − (2π · 2⁻²⁴)² / 2 or above.
    let radius = (Double::from(-2.0) * Double::ln(0.5f64.powi(24))).sqrt();
    let error = Double::from(f64::from(high.normal_f32())) - radius;
    assert!(error.to_f64().abs() < 2e-6);
    let radius = (Double::from(-2.0) * Double::ln(0.5f64.powi(53))).sqrt();
    let error = Double::from(high.normal_f64()) - radius;
    assert!(error.to_f64().abs() < 6e-15);
}

#[test]
fn neighbouring_streams_are_not_correlated() {
    let length = COUNT / 64;
    let centred = |mut random: &mut dyn RngCore| {
        Vec::from_iter((0..length).map(|_| random.uniform_f64() - 0.5))
    };
    let states = DefaultRand::initialize_states(1, 16).into_iter();
    let default = states.map(|mut state| centred(&mut state));
    let philox = (0..16).map(|stream| centred(&mut Philox::new(1, stream)));
    let seeds = (0..16).map(|seed| centred(&mut Philox::new(seed, 1)));
    for (name, streams) in [
        ("default", Vec::from_iter(default)),
        ("philox", philox.collect()),
        ("philox's seeds", seeds.collect()),
    ] {
        for (a, b) in (0..16).flat_map(|a| (0..a).map(move |b| (a, b))) {
            for lag in 0..4 {
                let pairs = streams[a].iter().zip(&streams[b][lag..]);
                let what = format!("{name} {a} {b} {lag}");
                check_mean(&what, pairs.map(|(x, y)| x * y), 0.0, 1.0 / 144.0);
            }
        }
    }
}

/// Compiles only if the host of Rust-CUDA's style can copy states to the device.
#[cfg(feature = "cust")]
#[test]
fn states_can_be_copied_by_cust() {
    fn copied<T: cust::memory::DeviceCopy>(values: &[T]) -> usize {
        size_of_val(values)
    }
    assert_eq!(copied(&DefaultRand::initialize_states(1, 3)), 48);
}
