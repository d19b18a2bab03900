//! Times products of matrices in the device's memory, and checks some rows of each.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench matmul -- --device cuda
//!
//! By the device's events, a time is that of as many calls one after the other as take about a millisecond, divided by
//! them, so that a small product's time is not that of its launch. A GPU multiplies for 0.2 s before, to have the clocks
//! that its power limit allows for long. Some products are timed as whole calls too, from matrices of the host to C there,
//! with all copies. The error is the largest of the checked rows, of factors in [−1, 1); each has to be within its bound.
//! C of the types bf16 and f16 has their type, as cuBLAS's; of bf16-f32 and f16-f32 it has f32. The type bf16x6 is
//! `Precision::F32ByBf16x6`, another way to products in f32, with six operations for one. With `--casts` conversions
//! between types are timed instead.

mod common;

use std::any::type_name;
use std::time::Instant;

use anyhow::{Result, ensure};
use checks::matmul::{Check, Real, matrix};
use clap::Parser;
use common::{Clock, DeviceName, Measured, Unit, grouped, largest, show, time, time_whole};
use gridstride::Device;
use gridstride::Number;
use gridstride::device::DeviceKind;
use gridstride::matmul::{Cast, CastTo, MatMul, Precision, ResultIn, Scalar};
use half::{bf16, f16};
use ndarray::{Array1, Array3, Axis};

#[derive(Parser)]
struct Args {
    /// Where to multiply.
    #[arg(long, default_value = "cpu")]
    device: DeviceName,
    /// Products to take, by name; by default all that do not take long on the device.
    #[arg(long, value_delimiter = ',')]
    sizes: Vec<String>,
    /// Types to take.
    #[arg(long, value_delimiter = ',', default_value = "f32,f64,tf32,bf16,f16")]
    types: Vec<String>,
    /// Times conversions between types of that many numbers, instead of products.
    #[arg(long, num_args = 0..=1, default_missing_value = "268435456")]
    casts: Option<usize>,
    /// Timed runs, after a first one that is not; at most 7 where one takes over 20 ms.
    #[arg(long, default_value_t = 15, value_parser = common::at_least_one)]
    runs: usize,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Products, m × k and k × n, of a batch.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    batch: usize,
    m: usize,
    k: usize,
    n: usize,
    types: &'static [&'static str],
    /// Whether the whole call is timed too.
    whole: bool,
}

const TYPES: [&str; 8] = [
    "f32", "f64", "tf32", "bf16", "f16", "bf16-f32", "f16-f32", "bf16x6",
];

const fn case(name: &'static str, [m, k, n]: [usize; 3]) -> Case {
    Case {
        name,
        batch: 1,
        m,
        k,
        n,
        types: &TYPES,
        whole: false,
    }
}

const fn whole(case: Case) -> Case {
    Case {
        whole: true,
        ..case
    }
}

/// Factors with few columns, for which tensor cores have nothing.
const fn plain(case: Case) -> Case {
    Case {
        types: &["f32", "f64"],
        ..case
    }
}

/// Milliseconds that a GPU multiplies before it is timed. The first calls after a pause run at clocks that its power
/// limit does not allow for long: how many of them are timed would decide the median.
const WARM_UP: f64 = 200.0;

/// A matrix and a vector, in every type of numbers.
const fn vector(case: Case) -> Case {
    Case {
        types: &["f32", "f64", "bf16", "f16", "bf16-f32", "f16-f32"],
        ..case
    }
}

/// A thousand such products.
const fn batch(case: Case) -> Case {
    Case {
        batch: 1000,
        ..case
    }
}

const CASES: [Case; 17] = [
    case("128", [128; 3]),
    case("256", [256; 3]),
    case("512", [512; 3]),
    whole(case("1024", [1024; 3])),
    case("2048", [2048; 3]),
    whole(case("4096", [4096; 3])),
    case("8192", [8192; 3]),
    case("16384", [16_384; 3]),
    whole(case("rectangle", [6000, 4800, 4000])),
    plain(whole(case("tall", [50_000, 784, 10]))),
    plain(case("wide", [10, 784, 50_000])),
    vector(case("vector", [16_384, 16_384, 1])),
    vector(case("row", [1, 16_384, 16_384])),
    plain(case("short", [1, 8, 1 << 22])),
    batch(case("batch32", [32; 3])),
    batch(case("batch", [64; 3])),
    batch(case("batch128", [128; 3])),
];

impl Case {
    fn operations(&self) -> usize {
        2 * self.batch * self.m * self.k * self.n
    }

    /// Of A and B, each once.
    fn bytes_in<T>(&self) -> usize {
        self.batch * (self.m * self.k + self.k * self.n) * size_of::<T>()
    }

    /// Of C.
    fn bytes_out<C>(&self) -> usize {
        self.batch * self.m * self.n * size_of::<C>()
    }

    /// `1024³`, `50 000 × 784 × 10` or `1000 of 64³`.
    fn shape(&self) -> String {
        let Case { batch, m, k, n, .. } = *self;
        let shape = match m == k && k == n {
            true => format!("{m}³"),
            false => [m, k, n].map(grouped).join(" × "),
        };
        match batch {
            1 => shape,
            _ => format!("{batch} of {shape}"),
        }
    }

    /// Whether it is small enough to be taken without being asked for.
    fn suits(&self, device: DeviceName) -> bool {
        let (operations, bytes) = match device {
            DeviceName::Cuda(_) => (usize::MAX, usize::MAX),
            DeviceName::Auto | DeviceName::Cpu => (20_000_000_000, 500_000_000),
            DeviceName::Simulator => (5_000_000, 500_000_000),
        };
        self.operations() <= operations && self.bytes_in::<f64>() + self.bytes_out::<f64>() <= bytes
    }
}

fn main() -> Result<()> {
    let args = Args::parse();
    for name in &args.types {
        ensure!(TYPES.contains(&&**name), "there is no type {name}");
    }
    for name in &args.sizes {
        let is_case = CASES.iter().any(|case| case.name == name);
        ensure!(is_case, "there is no size {name}");
    }
    let device = args.device.open()?;
    println!("{}", device.info());
    if let Some(count) = args.casts {
        return casts(&args, &device, count);
    }
    let bench = Bench {
        runs: args.runs,
        device,
    };
    for name in &args.types {
        for case in &CASES {
            let is_asked = args.sizes.iter().any(|size| size == case.name);
            let is_taken = is_asked || args.sizes.is_empty() && case.suits(args.device);
            if !is_taken || !case.types.contains(&&**name) {
                continue;
            }
            match name.as_str() {
                "f32" => bench.measure::<f32, f32>(case, name, Unit::F32)?,
                "f64" => bench.measure::<f64, f64>(case, name, Unit::TensorF64)?,
                "tf32" => bench.measure::<f32, f32>(case, name, Unit::TensorTf32)?,
                "bf16x6" => bench.measure::<f32, f32>(case, name, Unit::TensorHalf)?,
                "bf16" => bench.measure::<bf16, bf16>(case, name, Unit::TensorHalf)?,
                "f16" => bench.measure::<f16, f16>(case, name, Unit::TensorHalf)?,
                "bf16-f32" => bench.measure::<bf16, f32>(case, name, Unit::TensorHalf)?,
                _ => bench.measure::<f16, f32>(case, name, Unit::TensorHalf)?,
            }
        }
    }
    Ok(())
}

/// Times the conversions of random numbers, and compares the results with the CPU's.
fn casts(args: &Args, device: &Device, count: usize) -> Result<()> {
    let numbers: Array1<f32> = matrix(1, 0, (1, count))?.remove_axis(Axis(0));
    cast::<f32, f16>(args, device, &numbers)?;
    cast::<f32, bf16>(args, device, &numbers)?;
    cast::<f32, f64>(args, device, &numbers)?;
    cast::<f16, f32>(args, device, &numbers.mapv(f16::from_f32))?;
    cast::<bf16, f32>(args, device, &numbers.mapv(bf16::from_f32))?;
    cast::<f64, f32>(args, device, &numbers.mapv(f64::from))
}

fn cast<T: CastTo<U>, U: Scalar>(args: &Args, device: &Device, numbers: &Array1<T>) -> Result<()> {
    let there = device.upload(numbers)?;
    let (times, converted) = time(device, args.runs, &|| there.cast::<U>())?;
    let expected = Device::cpu().upload(numbers)?.cast::<U>()?.download()?;
    ensure!(
        converted.download()? == expected,
        "other numbers than the CPU's"
    );
    let short = |name: &'static str| name.rsplit("::").next().unwrap_or(name);
    let types = [type_name::<T>(), type_name::<U>()].map(short).join(" to ");
    let row = Measured::new(types, Clock::Device, times)
        .bytes(numbers.len() * (size_of::<T>() + size_of::<U>()));
    Ok(show(&row)?)
}

struct Bench {
    runs: usize,
    device: Device,
}

/// Matrices of the host.
struct Matrices<T, C> {
    a: Array3<T>,
    b: Array3<T>,
    c: Array3<C>,
}

impl<T: Real + ResultIn<C>, C: Number> Matrices<T, C> {
    fn random(case: &Case) -> Result<Matrices<T, C>> {
        let Case { batch, m, k, n, .. } = *case;
        let a = matrix(1, 0, (batch * m, k))?;
        let b = matrix(1, 1, (batch * k, n))?;
        Ok(Matrices {
            a: a.into_shape_with_order((batch, m, k))?,
            b: b.into_shape_with_order((batch, k, n))?,
            c: Array3::from_elem((batch, m, n), C::from_f64(0.0)),
        })
    }

    /// The largest error, of the first product, of one in the middle, and of the last. Fails if one is beyond its bound.
    fn largest_error(&self, matmul: &MatMul) -> Result<f64> {
        let batch = self.c.dim().0;
        let mut products = vec![0, batch / 2, batch - 1];
        products.dedup();
        let errors = products.into_iter().map(|product| {
            let [a, b] = [&self.a, &self.b].map(|of| of.index_axis(Axis(0), product));
            let check = Check::new(matmul, a, b);
            let check = match C::NAME {
                "bf16" => check.rounded(2f64.powi(-8), f64::from(bf16::MAX), 2f64.powi(-133)),
                "f16" => check.rounded(2f64.powi(-11), f64::from(f16::MAX), 2f64.powi(-24)),
                _ => check,
            };
            Ok(check.compare(self.c.index_axis(Axis(0), product))?.error)
        });
        Ok(largest(errors.collect::<Result<Vec<_>>>()?))
    }
}

impl Bench {
    /// Times a product, and fails if it is wrong.
    fn measure<T: Real + ResultIn<C>, C: Number>(
        &self,
        case: &Case,
        name: &str,
        unit: Unit,
    ) -> Result<()> {
        let (precision, type_name, program, factor) = match name {
            "tf32" => (Precision::Tf32, name, "gridstride", 1),
            "bf16x6" => (Precision::F32ByBf16x6, "f32", "gridstride (bf16x6)", 6),
            _ => (Precision::Full, name, "gridstride", 1),
        };
        let matmul = MatMul::new().precision(precision);
        let what = format!("{}, {type_name}", case.shape());
        let operations = (factor * case.operations()) as u64;
        let mut matrices = Matrices::<T, C>::random(case)?;
        let row = |clock, times, error| {
            let row = Measured::new(&what, clock, times)
                .program(program)
                .bytes(case.bytes_in::<T>() + case.bytes_out::<C>())
                .operations(operations, unit)
                .error(error);
            show(&row)
        };
        let times = self.time(&matmul, &mut matrices)?;
        row(Clock::Device, times, matrices.largest_error(&matmul)?)?;
        if case.whole && self.device.kind() != DeviceKind::Cpu {
            let Matrices { a, b, c } = &mut matrices;
            let call = || matmul.matmul_as(&self.device, a.view(), b.view());
            let (times, found) = time_whole(self.runs.min(7), call)?;
            *c = found;
            row(Clock::Call, times, matrices.largest_error(&matmul)?)?;
        }
        Ok(())
    }

    /// The times of calls between matrices in the device's memory.
    fn time<T: Real + ResultIn<C>, C: Number>(
        &self,
        matmul: &MatMul,
        matrices: &mut Matrices<T, C>,
    ) -> Result<Vec<f64>> {
        let (one, zero) = (num_traits::one(), num_traits::zero());
        if self.device.kind() == DeviceKind::Cpu {
            // Its memory is the host's.
            let Matrices { a, b, c } = matrices;
            return self.times(|calls| {
                let start = Instant::now();
                for _ in 0..calls {
                    matmul.gemm(&self.device, one, a.view(), b.view(), zero, c.view_mut())?;
                }
                Ok(start.elapsed().as_secs_f64() * 1e3)
            });
        }
        let (a, b) = (
            self.device.upload(&matrices.a)?,
            self.device.upload(&matrices.b)?,
        );
        let mut c = matmul.matmul_device_as::<C, T, _, _>(&a, &b)?;
        let (start, end) = (self.device.event()?, self.device.event()?);
        let times = self.times(|calls| {
            self.device.record(&start)?;
            for _ in 0..calls {
                matmul.gemm_device(one, &a, &b, zero, &mut c)?;
            }
            self.device.record(&end)?;
            Ok(end.elapsed_since(&start)?.as_secs_f64() * 1e3)
        })?;
        matrices.c = c.download()?;
        Ok(times)
    }

    /// The times of a call, where `run` makes so many of them and tells how long they took in ms.
    fn times(&self, mut run: impl FnMut(u32) -> Result<f64>) -> Result<Vec<f64>> {
        // The first call loads kernels, the second tells how many take a millisecond.
        run(1)?;
        let once = run(1)?;
        let calls = (1.0 / once).clamp(1.0, 100.0) as u32;
        let mut busy = 0.0;
        while self.device.kind() != DeviceKind::Cpu && busy < WARM_UP {
            busy += run(calls)?;
        }
        let runs = if once > 20.0 {
            self.runs.min(7)
        } else {
            self.runs
        };
        (0..runs)
            .map(|_| Ok(run(calls)? / f64::from(calls)))
            .collect()
    }
}
