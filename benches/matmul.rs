//! Times products of matrices in the device's memory, and checks some rows of each.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench matmul -- --device cuda
//!
//! `ms` is the median of runs by the device's events (by the clock on the CPU), with the least and the most: a
//! run makes as many calls one after the other as take about a millisecond, so that a small product's time is
//! not that of its launch. A GPU multiplies for 0.2 s before, to have the clocks that its power limit allows for
//! long. `limit` is what the device needs at least, for the multiplications or for reading A and B and writing C
//! once, whichever is longer, at the rates of the options: by default what an H100 SXM reaches. What stays in the
//! cache can be faster than the memory. `whole` is the clock's time from matrices of the host to C there, with all
//! copies. `error` is the largest error of the checked rows as a share of its bound. C of the types bf16 and f16
//! has their type, as cuBLAS's; of bf16-f32 and f16-f32 it has f32. The type bf16x6 is `Precision::F32ByBf16x6`:
//! compare it with f32. With `--casts` conversions between types are timed instead.

mod common;

use std::any::type_name;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use checks::matmul::{Check, Real, matrix};
use clap::Parser;
use common::{DeviceName, Times, time, time_whole};
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
    /// Timed runs, after a first one that is not.
    #[arg(long, default_value_t = 15, value_parser = common::at_least_one)]
    runs: usize,
    /// Writes the times to this file too.
    #[arg(long)]
    csv: Option<PathBuf>,
    /// TFLOP/s of f32 that the device reaches, for the limit.
    #[arg(long, default_value_t = 51.5)]
    peak_f32: f64,
    /// Those of f64.
    #[arg(long, default_value_t = 61.6)]
    peak_f64: f64,
    /// Those of tf32.
    #[arg(long, default_value_t = 402.0)]
    peak_tf32: f64,
    /// Those of f16 and bf16.
    #[arg(long, default_value_t = 766.0)]
    peak_half: f64,
    /// Bandwidth of the memory in TB/s that the device reaches, for the limit.
    #[arg(long, default_value_t = 2.86)]
    bandwidth: f64,
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
    fn operations(&self) -> f64 {
        2.0 * self.batch as f64 * self.m as f64 * self.k as f64 * self.n as f64
    }

    /// Of all matrices, each once.
    fn bytes<T, C>(&self) -> f64 {
        let Case { m, k, n, .. } = *self;
        let bytes = (m * k + k * n) * size_of::<T>() + m * n * size_of::<C>();
        (self.batch * bytes) as f64
    }

    /// Whether it is small enough to be taken without being asked for.
    fn suits(&self, device: DeviceName) -> bool {
        let (operations, bytes) = match device {
            DeviceName::Cuda(_) => (f64::INFINITY, f64::INFINITY),
            DeviceName::Auto | DeviceName::Cpu => (2e10, 5e8),
            DeviceName::Simulator => (5e6, 5e8),
        };
        self.operations() <= operations && self.bytes::<f64, f64>() <= bytes
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
        println!("{:<12} {:>12} {:>27} {:>8}", "", "numbers", "ms", "GB/s");
        return casts(&args, &device, count);
    }
    println!(
        "limits for TFLOP/s of {} (f32), {} (f64), {} (tf32), {} (16 bits) and {} TB/s",
        args.peak_f32, args.peak_f64, args.peak_tf32, args.peak_half, args.bandwidth
    );
    println!(
        "{:<8} {:<9} {:>20} {:>27} {:>8} {:>9} {:>6} {:>27} {:>6}",
        "type", "", "m × k × n", "ms", "TFLOP/s", "limit", "share", "whole", "error"
    );
    let mut bench = Bench {
        args: &args,
        device,
        csv: "type,size,m,k,n,ms,least,most,tflops\n".to_owned(),
    };
    for name in &args.types {
        for case in &CASES {
            let is_asked = args.sizes.iter().any(|size| size == case.name);
            let is_taken = is_asked || args.sizes.is_empty() && case.suits(args.device);
            if !is_taken || !case.types.contains(&&**name) {
                continue;
            }
            match name.as_str() {
                "f32" => bench.measure::<f32, f32>(case, name, args.peak_f32)?,
                "f64" => bench.measure::<f64, f64>(case, name, args.peak_f64)?,
                "tf32" => bench.measure::<f32, f32>(case, name, args.peak_tf32)?,
                "bf16x6" => bench.measure::<f32, f32>(case, name, args.peak_half / 6.0)?,
                "bf16" => bench.measure::<bf16, bf16>(case, name, args.peak_half)?,
                "f16" => bench.measure::<f16, f16>(case, name, args.peak_half)?,
                "bf16-f32" => bench.measure::<bf16, f32>(case, name, args.peak_half)?,
                _ => bench.measure::<f16, f32>(case, name, args.peak_half)?,
            }
        }
    }
    if let Some(path) = &args.csv {
        let cannot_write = || format!("cannot write {}", path.display());
        fs::write(path, &bench.csv).with_context(cannot_write)?;
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
    let bytes = (numbers.len() * (size_of::<T>() + size_of::<U>())) as f64;
    println!(
        "{types:<12} {:>12} {:>27} {:>8.0}",
        numbers.len(),
        said(&times),
        bytes / times.median * 1e-6
    );
    Ok(())
}

struct Bench<'a> {
    args: &'a Args,
    device: Device,
    /// What has been measured.
    csv: String,
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

    /// The largest error as a share of its bound: of the first product, of one in the middle, and of the last.
    fn largest_error(&self, matmul: &MatMul) -> Result<f64> {
        let batch = self.c.dim().0;
        let mut products = vec![0, batch / 2, batch - 1];
        products.dedup();
        let mut largest = 0f64;
        for product in products {
            let matrix = |of: &Array3<T>| of.index_axis(Axis(0), product).to_owned();
            let check = Check::new(matmul, matrix(&self.a).view(), matrix(&self.b).view());
            let check = match C::NAME {
                "bf16" => check.rounded(2f64.powi(-8), f64::from(bf16::MAX), 2f64.powi(-133)),
                "f16" => check.rounded(2f64.powi(-11), f64::from(f16::MAX), 2f64.powi(-24)),
                _ => check,
            };
            let checked = check.compare(self.c.index_axis(Axis(0), product))?;
            largest = largest.max(checked.share);
        }
        Ok(largest)
    }
}

impl Bench<'_> {
    /// Times a product, prints a line, and fails if the product is wrong.
    fn measure<T: Real + ResultIn<C>, C: Number>(
        &mut self,
        case: &Case,
        name: &str,
        peak: f64,
    ) -> Result<()> {
        let matmul = MatMul::new().precision(match name {
            "tf32" => Precision::Tf32,
            "bf16x6" => Precision::F32ByBf16x6,
            _ => Precision::Full,
        });
        let mut matrices = Matrices::<T, C>::random(case)?;
        let times = self.time(&matmul, &mut matrices)?;
        let mut error = matrices.largest_error(&matmul)?;
        let mut whole = "-".to_owned();
        if case.whole && self.device.kind() != DeviceKind::Cpu {
            whole = said(&self.time_whole(&matmul, &mut matrices)?);
            error = error.max(matrices.largest_error(&matmul)?);
        }
        let rate = case.operations() / times.median * 1e-9;
        let limit = self.limit::<T, C>(case, peak);
        let Case { batch, m, k, n, .. } = *case;
        let sizes = match batch {
            1 => format!("{m} × {k} × {n}"),
            _ => format!("{batch} · {m} × {k} × {n}"),
        };
        println!(
            "{name:<8} {:<9} {sizes:>20} {:>27} {rate:>8.3} {:>9} {:>6} {whole:>27} {error:>6.3}",
            case.name,
            said(&times),
            limit.map_or("-".into(), |limit| format!("{limit:.4}")),
            limit.map_or("-".into(), |limit| format!(
                "{:.0}%",
                100.0 * limit / times.median
            )),
        );
        let Times {
            median,
            least,
            most,
        } = times;
        self.csv += &format!(
            "{name},{},{m},{k},{n},{median:.5},{least:.5},{most:.5},{rate:.4}\n",
            case.name
        );
        Ok(())
    }

    /// The least time in ms that a GPU needs.
    fn limit<T, C>(&self, case: &Case, peak: f64) -> Option<f64> {
        if !matches!(self.device.kind(), DeviceKind::Cuda { .. }) {
            return None;
        }
        let multiplying = case.operations() / (peak * 1e12);
        let moving = case.bytes::<T, C>() / (self.args.bandwidth * 1e12);
        Some(1e3 * multiplying.max(moving))
    }

    /// The times of calls between matrices in the device's memory.
    fn time<T: Real + ResultIn<C>, C: Number>(
        &self,
        matmul: &MatMul,
        matrices: &mut Matrices<T, C>,
    ) -> Result<Times> {
        let (one, zero) = (num_traits::one(), num_traits::zero());
        if self.device.kind() == DeviceKind::Cpu {
            // Its memory is the host's.
            let Matrices { a, b, c } = matrices;
            return self.median(|calls| {
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
        let times = self.median(|calls| {
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

    /// The times of calls from and to the host's memory.
    fn time_whole<T: Real + ResultIn<C>, C: Number>(
        &self,
        matmul: &MatMul,
        matrices: &mut Matrices<T, C>,
    ) -> Result<Times> {
        let Matrices { a, b, c } = matrices;
        let call = || matmul.matmul_as(&self.device, a.view(), b.view());
        let (times, found) = time_whole(self.args.runs, call)?;
        *c = found;
        Ok(times)
    }

    /// The times of a call, where `run` makes so many of them and tells how long they took in ms.
    fn median(&self, mut run: impl FnMut(u32) -> Result<f64>) -> Result<Times> {
        // The first call loads kernels, the second tells how many take a millisecond.
        run(1)?;
        let calls = (1.0 / run(1)?).clamp(1.0, 100.0) as u32;
        let mut busy = 0.0;
        while self.device.kind() != DeviceKind::Cpu && busy < WARM_UP {
            busy += run(calls)?;
        }
        let times = (0..self.args.runs).map(|_| Ok(run(calls)? / f64::from(calls)));
        Ok(Times::of(times.collect::<Result<_>>()?))
    }
}

/// Times in milliseconds, of microseconds and of seconds alike.
fn said(times: &Times) -> String {
    let Times {
        median,
        least,
        most,
    } = times;
    format!("{median:.4} ({least:.4}-{most:.4})")
}
