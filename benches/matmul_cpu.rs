//! Times products of matrices on the CPU beside ndarray's `dot`, and checks them against it.
//!
//!     cargo bench -p gridstride_benches --bench matmul_cpu
//!
//! By the clock, of whole calls; both are called in turns. `RAYON_NUM_THREADS` limits the number of cores. `dot` has one
//! thread, and for numbers of 16 bits no vector instructions: there it gets their values as `f32`, converted before the
//! clock starts. The error is the largest of a number of the product, of factors in [−1, 1).

mod common;

use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use common::{Clock, Measured, grouped, largest, random, show, unit};
use gridstride::Device;
use gridstride::matmul::{Scalar, matmul};
use gridstride::{Number, Real};
use half::{bf16, f16};
use ndarray::{Array2, ArrayView2, LinalgScalar};

#[derive(Parser)]
struct Args {
    /// Timed runs, after a first one that is not.
    #[arg(long, default_value_t = 9, value_parser = common::at_least_one)]
    runs: usize,
    /// Only products whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// A product of m × k and k × n.
struct Case {
    name: &'static str,
    m: usize,
    k: usize,
    n: usize,
    /// Whether the columns of the first matrix are contiguous, not its rows.
    transposed: bool,
}

const fn case(name: &'static str, [m, k, n]: [usize; 3]) -> Case {
    Case {
        name,
        m,
        k,
        n,
        transposed: false,
    }
}

const CASES: [Case; 9] = [
    case("64", [64; 3]),
    case("256", [256; 3]),
    case("1024", [1024; 3]),
    case("2048", [2048; 3]),
    Case {
        transposed: true,
        ..case("1024 transposed", [1024; 3])
    },
    case("tall", [50_000, 784, 10]),
    case("matrix-vector", [4096, 4096, 1]),
    case("vector-matrix", [1, 4096, 4096]),
    Case {
        transposed: true,
        ..case("deep", [10, 1_000_000, 10])
    },
];

/// A type to time.
trait Timed: Scalar<Sum: LinalgScalar + Into<f64>> {
    fn of(x: f64) -> Self;
    fn sum(self) -> Self::Sum;
}

macro_rules! timed {
    ($type:ty, $sum:ty, $of:expr, $sum_of:expr) => {
        impl Timed for $type {
            fn of(x: f64) -> Self {
                $of(x)
            }
            fn sum(self) -> $sum {
                $sum_of(self)
            }
        }
    };
}

timed!(f32, f32, |x| x as f32, |x| x);
timed!(f64, f64, |x| x, |x| x);
timed!(f16, f32, f16::from_f64, f16::to_f32);
timed!(bf16, f32, bf16::from_f64, bf16::to_f32);

fn main() -> Result<()> {
    let args = Args::parse();
    println!("{}", Device::cpu().info());
    for case in CASES.iter().filter(|case| case.name.contains(&args.only)) {
        time::<f32>(case, args.runs)?;
        time::<f64>(case, args.runs)?;
        time::<f16>(case, args.runs)?;
        time::<bf16>(case, args.runs)?;
    }
    Ok(())
}

fn time<T: Timed>(case: &Case, runs: usize) -> Result<()> {
    let Case { m, k, n, .. } = *case;
    let matrix = |seed, shape: (usize, usize)| {
        let number = |random: &mut common::Random| T::of(2.0 * random.uniform() - 1.0);
        let numbers = random(seed, shape.0 * shape.1, number);
        Array2::from_shape_vec(shape, numbers).expect("whole rows")
    };
    let a = match case.transposed {
        true => matrix(1, (k, m)).reversed_axes(),
        false => matrix(1, (m, k)),
    };
    let b = matrix(2, (k, n));
    let (a_sums, b_sums) = (a.map(|x| x.sum()), b.map(|x| x.sum()));
    let device = Device::cpu();
    let ours = || matmul(&device, a.view(), b.view());
    let error = check::<T>(a_sums.view(), b_sums.view(), ours()?.view());
    let (mut times, mut times_of_dot) = (Vec::new(), Vec::new());
    for run in 0..=runs {
        let start = Instant::now();
        let product = ours()?;
        let between = Instant::now();
        let product_of_dot = a_sums.dot(&b_sums);
        let end = Instant::now();
        drop((product, std::hint::black_box(product_of_dot)));
        if run > 0 {
            times.push((between - start).as_secs_f64() * 1e3);
            times_of_dot.push((end - between).as_secs_f64() * 1e3);
        }
    }
    let shape = match m == k && k == n {
        true => format!("{m}³"),
        false => [m, k, n].map(grouped).join(" × "),
    };
    let columns = if case.transposed { ", by columns" } else { "" };
    let row = |times| {
        Measured::new(format!("{shape}{columns}, {}", T::NAME), Clock::Call, times)
            .operations((2 * m * k * n) as u64, unit(T::Sum::NAME))
    };
    show(&row(times).error(error))?;
    Ok(show(&row(times_of_dot).program("ndarray (dot)"))?)
}

/// The largest error of the result against `dot` in `f64`: no sum may be farther from it than γ_k · |a| · |b| of either.
fn check<T: Timed>(
    a: ArrayView2<T::Sum>,
    b: ArrayView2<T::Sum>,
    result: ArrayView2<T::Sum>,
) -> f64 {
    let (a, b) = (a.map(|&x| x.into()), b.map(|&x| x.into()));
    let exact: Array2<f64> = a.dot(&b);
    let size = a.map(|x: &f64| x.abs()).dot(&b.map(|x: &f64| x.abs()));
    let roundings = (a.ncols() + 2) as f64;
    let gamma = |u: f64| roundings * u / (1.0 - roundings * u);
    let bound = gamma(T::Sum::UNIT_ROUNDOFF) + 2.0 * gamma(f64::EPSILON / 2.0);
    let numbers = result.iter().zip(&exact).zip(&size);
    let errors = numbers.map(|((&result, exact), size)| {
        let error = (result.into() - exact).abs();
        assert!(error <= bound * size, "{} is {error:e} off", T::NAME);
        error
    });
    largest(errors)
}
