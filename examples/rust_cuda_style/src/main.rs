//! Adds vectors and hashes messages on a GPU, with a host in plain cust: nothing of gridstride.
//!
//! ```text
//! cargo run --release -p rust_cuda_style
//! ```
//!
//! `cust` is the fork `gridstride_cust`, which needs no CUDA toolkit to compile. Without a driver,
//! this program says so. `rust_cuda_style_gridstride` runs the same kernels in the simulator too.

mod messages;

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use cust::prelude::*;

static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

/// Elements of the vectors.
const NUMBERS_LEN: usize = 100_000;
/// Messages: 256 MB.
const MESSAGES: usize = 1 << 18;
/// Times that the messages are hashed. The median is printed.
const REPEATS: usize = 9;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    // The context must be kept alive.
    let _ctx = cust::quick_init().map_err(|error| match cust::driver::load_status() {
        Err(reason) => format!("there is no GPU to run on: {reason}"),
        Ok(()) => format!("there is no GPU to run on: {error}"),
    })?;
    println!("{}", Device::get_device(0)?.name()?);
    let module = Module::from_ptx(PTX, &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    vecadd(&module, &stream)?;
    sha256(&module, &stream)
}

fn vecadd(module: &Module, stream: &Stream) -> Result<(), Box<dyn Error>> {
    let lhs: Vec<f32> = (0..NUMBERS_LEN).map(|i| i as f32).collect();
    let rhs = vec![0.5f32; NUMBERS_LEN];
    let mut out = vec![0.0f32; NUMBERS_LEN];
    let lhs_gpu = lhs.as_slice().as_dbuf()?;
    let rhs_gpu = rhs.as_slice().as_dbuf()?;
    let out_buf = out.as_slice().as_dbuf()?;

    let vecadd = module.get_function("vecadd")?;
    let (_, block_size) = vecadd.suggested_launch_configuration(0, 0.into())?;
    let grid_size = (NUMBERS_LEN as u32).div_ceil(block_size);
    // SAFETY: the arguments are those of the kernel, a slice as pointer and length, and the buffers
    // outlive the launch.
    unsafe {
        launch!(
            vecadd<<<grid_size, block_size, 0, stream>>>(
                lhs_gpu.as_device_ptr(),
                lhs_gpu.len(),
                rhs_gpu.as_device_ptr(),
                rhs_gpu.len(),
                out_buf.as_device_ptr(),
            )
        )?;
    }
    stream.synchronize()?;
    out_buf.copy_to(&mut out)?;
    let expected: Vec<f32> = lhs.iter().zip(&rhs).map(|(a, b)| a + b).collect();
    if out != expected {
        return Err("vecadd: wrong sums".into());
    }
    println!("vecadd: {NUMBERS_LEN} sums are right");
    Ok(())
}

fn sha256(module: &Module, stream: &Stream) -> Result<(), Box<dyn Error>> {
    let messages = messages::messages(MESSAGES);
    let mut digests = vec![[0u8; 32]; MESSAGES];
    let messages_gpu = messages.as_slice().as_dbuf()?;
    let digests_gpu = digests.as_slice().as_dbuf()?;
    let (block, grid) = (128, MESSAGES.div_ceil(128) as u32);
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let start = Instant::now();
        // SAFETY: the arguments are those of the kernel, with a digest for each message.
        unsafe {
            launch!(module.sha256<<<grid, block, 0, stream>>>(
                messages_gpu.as_device_ptr(),
                messages_gpu.len(),
                messages::LENGTH,
                digests_gpu.as_device_ptr(),
            ))?;
        }
        stream.synchronize()?;
        times.push(start.elapsed());
    }
    digests_gpu.copy_to(&mut digests)?;
    let (expected, on_the_cpu) = messages::on_the_cpu(&messages, REPEATS);
    if digests != expected {
        return Err("sha256: the digests differ from those of the CPU".into());
    }
    println!("sha256: {MESSAGES} digests are those of the CPU");
    messages::print("GPU, without copies", &messages, messages::median(times));
    messages::print("CPU, all cores", &messages, on_the_cpu);
    Ok(())
}
