//! The product, and how long it takes.

use std::time::{Duration, Instant};

use anyhow::Result;
use checks::matmul::Real;
use gridstride::Device;
use gridstride::device::DeviceKind;
use gridstride::matmul::MatMul;
use indicatif::ProgressBar;
use ndarray::Array2;
use program::progress;

use super::args::Args;
use super::factors::Factors;

/// C, and how long calls took from matrices of the host to C there.
pub struct TimedProduct<T: Real> {
    pub c: Array2<T::Sum>,
    pub times: Vec<Duration>,
    /// The same between matrices in the device's memory: of one GPU or simulator, without a limit
    /// on its memory. The CPU's memory is the host's.
    pub resident: Option<Resident<T>>,
}

/// C, and how long calls took from matrices in the device's memory to C there.
pub struct Resident<T: Real> {
    pub c: Array2<T::Sum>,
    pub times: Vec<Duration>,
}

/// Multiplications and additions.
pub fn operations([m, k, n]: [usize; 3]) -> f64 {
    2.0 * m as f64 * k as f64 * n as f64
}

/// Makes so many timed calls of each kind, after one that is not: the first one loads kernels.
pub fn multiply<T: Real>(
    matmul: &MatMul,
    devices: &[Device],
    factors: &Factors<T>,
    args: &Args,
) -> Result<TimedProduct<T>> {
    let (a, b, repeat) = (factors.a.view(), factors.b.view(), args.repeat());
    let measured_there = match devices {
        [device] if device.kind() != DeviceKind::Cpu && args.devices.memory.is_none() => {
            Some(device)
        }
        _ => None,
    };
    let kinds = 1 + usize::from(measured_there.is_some());
    // The calls that are not timed count too.
    let calls = kinds * (repeat + 1);
    let bar = progress::count("multiplying", calls as u64, "products");
    let mut c = matmul.matmul(devices, a, b)?;
    bar.inc(1);
    let there = |device: &Device| multiply_there(matmul, device, factors, repeat, &bar);
    let resident = measured_there.map(there).transpose()?;
    let mut times = Vec::new();
    for _ in 0..repeat {
        // Memory was checked for a single C, and freeing C is no part of the next product.
        drop(c);
        let start = Instant::now();
        c = matmul.matmul(devices, a, b)?;
        times.push(start.elapsed());
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(TimedProduct { c, times, resident })
}

fn multiply_there<T: Real>(
    matmul: &MatMul,
    device: &Device,
    factors: &Factors<T>,
    repeat: usize,
    bar: &ProgressBar,
) -> Result<Resident<T>> {
    let (a, b) = (factors.a.upload(device)?, factors.b.upload(device)?);
    let views = || (factors.a.view_of(&a), factors.b.view_of(&b));
    let (one, zero) = (num_traits::one(), num_traits::zero());
    let mut c = matmul.matmul_device(views().0, views().1)?;
    bar.inc(1);
    let (start, end) = (device.event()?, device.event()?);
    let mut times = Vec::new();
    for _ in 0..repeat {
        let (a, b) = views();
        device.record(&start)?;
        matmul.gemm_device(one, a, b, zero, &mut c)?;
        device.record(&end)?;
        times.push(end.elapsed_since(&start)?);
        bar.inc(1);
    }
    Ok(Resident {
        c: c.download()?,
        times,
    })
}
