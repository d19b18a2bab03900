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
use gridstride::matmul::MatMul;
use half::{bf16, f16};

use crate::common::opening::open_while_reading;
use crate::common::output::{NpyFile, check_distinct};
use crate::common::progress::{phase, spinner};
use crate::common::report::{self, timed};
use args::{Args, TypeName};
use factors::Factors;
use summary::{Run, Summary, Times};

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    match args.number {
        TypeName::F32 | TypeName::Tf32 | TypeName::F32ByBf16x6 => run_in::<f32>(args),
        TypeName::F64 => run_in::<f64>(args),
        TypeName::Bf16 => run_in::<bf16>(args),
        TypeName::F16 => run_in::<f16>(args),
    }
}

fn run_in<T: Real>(args: &Args) -> Result<()> {
    let inputs: Vec<&Path> = [&args.a, &args.b]
        .into_iter()
        .flatten()
        .map(|path| &**path)
        .collect();
    check_distinct(&[("--out", args.out.as_deref())], &inputs)?;
    let owned = args.clone();
    let read = move || Factors::<T>::new(&owned);
    let opened = open_while_reading(&args.devices.device, args.devices.memory, read)?;
    let (factors, devices) = (opened.value, opened.devices);
    let mut times = Times {
        reading: opened.reading,
        opening: opened.opening,
        ..Times::default()
    };
    let (a, b) = (factors.a.view(), factors.b.view());
    // Before the work, so that a path that cannot be written does not show only afterwards.
    let create = |path: &_| NpyFile::create(path, 'f', b.ncols());
    let out = args.out.as_deref().map(create).transpose()?;

    let matmul = MatMul::new().precision(args.number.precision());
    let product = multiplying::multiply(&matmul, &devices, &factors, args)?;
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
        factors: &factors,
        devices: &devices,
        product: &product,
        checked: &checked,
        times,
    }))
}
