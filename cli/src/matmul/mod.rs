//! Multiplies two matrices, random ones or those of NumPy's files, and checks the product.
//!
//! ```text
//! gridstride matmul --m 2000 --k 1500 --n 1000
//! ```

pub mod args;
mod factors;
mod multiplying;
mod summary;

use std::path::Path;

use anyhow::Result;
use checks::matmul::{Check, Real};
use gridstride::Device;
use gridstride::matmul::MatMul;
use program::output::{Format, NpyFile, check_outputs};
use program::progress::{phase, spinner};
use program::report::{self, timed};

use crate::common::opening::open_while_reading;
use args::Args;
use factors::{AnyFactors, Factors};
use summary::{Run, Summary, Times};

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let inputs: Vec<&Path> = [&args.a, &args.b]
        .into_iter()
        .flatten()
        .map(|path| &**path)
        .collect();
    check_outputs(&[("--out", args.out.as_deref(), Format::Npy)], &inputs)?;
    let owned = args.clone();
    let read = move || AnyFactors::new(&owned);
    let opened = open_while_reading(&args.devices.device, args.devices.memory, read)?;
    let times = Times {
        reading: opened.reading,
        opening: opened.opening,
        ..Times::default()
    };
    let devices = &opened.devices;
    match opened.value {
        AnyFactors::F32(factors) => run_in(args, &factors, devices, times),
        AnyFactors::F64(factors) => run_in(args, &factors, devices, times),
        AnyFactors::F16(factors) => run_in(args, &factors, devices, times),
        AnyFactors::Bf16(factors) => run_in(args, &factors, devices, times),
    }
}

fn run_in<T: Real>(
    args: &Args,
    factors: &Factors<T>,
    devices: &[Device],
    mut times: Times,
) -> Result<()> {
    let (a, b) = (factors.a.view(), factors.b.view());
    // Before the work, so that a path that cannot be written does not show only afterwards.
    let create = |path: &_| NpyFile::create(path, 'f', b.ncols());
    let mut out = args.out.as_deref().map(create).transpose()?;
    if let Some(out) = &mut out {
        out.require_space(a.nrows(), "multiply smaller matrices")?;
    }

    let matmul = MatMul::new().precision(args.precision());
    let product = multiplying::multiply(&matmul, devices, factors, args)?;
    let checking = spinner("checking");
    let checked = timed(&mut times.checking, || {
        let check = Check::new(&matmul, a, b);
        let of_call = check.compare(product.c.view())?;
        match &product.resident {
            Some(resident) => Ok(of_call.and(check.compare(resident.c.view())?)),
            None => anyhow::Ok(of_call),
        }
    })?;
    checking.finish_and_clear();
    if let Some(mut out) = out {
        timed(&mut times.writing, || {
            phase("writing", || {
                out.add(product.c.view())?;
                out.finish()
            })
        })?;
    }
    report::show(&Summary::new(&Run {
        args,
        factors,
        devices,
        product: &product,
        checked: &checked,
        times,
    }))
}
