//! Adds vectors and hashes messages with the kernels of `rust_cuda_style`, through gridstride: on a
//! GPU if there is one and the feature `cuda` is on, else in the simulator.
//!
//! ```text
//! cargo run --release -p rust_cuda_style --bin rust_cuda_style_gridstride
//! cargo run --release -p rust_cuda_style --bin rust_cuda_style_gridstride --features cuda
//! ```

mod messages;

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use gridstride::Device;
use gridstride::device::{DeviceKind, Image, LaunchConfig, Module};
use rust_cuda_style_kernels as kernels;

static KERNELS: Module = Module::new(
    "rust_cuda_style",
    &[Image::new(
        "sm_70",
        include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx")),
    )],
);

/// Elements of the vectors.
const NUMBERS_LEN: usize = 100_000;
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
    let device = match Device::gpus().into_iter().next() {
        Some(gpu) => gpu,
        None => Device::simulator()?,
    };
    println!("{}", device.info());
    vecadd(&device)?;
    sha256(&device)
}

fn vecadd(device: &Device) -> Result<(), Box<dyn Error>> {
    let lhs: Vec<f32> = (0..NUMBERS_LEN).map(|i| i as f32).collect();
    let rhs = vec![0.5f32; NUMBERS_LEN];
    let (a, b) = (device.buffer_from(&lhs)?, device.buffer_from(&rhs)?);
    let mut c = device.zeros::<f32>(NUMBERS_LEN)?;
    let arguments = (a.slice(), b.slice(), c.slice_mut().as_mut_ptr());
    let config = LaunchConfig::for_len(NUMBERS_LEN, 256);
    // SAFETY: all buffers have the same length.
    unsafe { device.launch(&KERNELS, &kernels::vecadd, config, arguments)? };
    let expected: Vec<f32> = lhs.iter().zip(&rhs).map(|(a, b)| a + b).collect();
    if c.to_vec()? != expected {
        return Err("vecadd: wrong sums".into());
    }
    println!("vecadd: {NUMBERS_LEN} sums are right");
    Ok(())
}

fn sha256(device: &Device) -> Result<(), Box<dyn Error>> {
    // The simulator is slow.
    let (count, repeats) = match device.kind() {
        DeviceKind::Simulator => (1 << 8, 1),
        _ => (1 << 18, REPEATS),
    };
    let messages = messages::messages(count);
    let on_device = device.buffer_from(&messages)?;
    let mut digests = device.zeros::<[u8; 32]>(count)?;
    let config = LaunchConfig::for_len(count, 128);
    let mut times = Vec::new();
    for _ in 0..repeats {
        device.synchronize()?;
        let start = Instant::now();
        let digests = digests.slice_mut().as_mut_ptr();
        let arguments = (on_device.slice(), messages::LENGTH, digests);
        // SAFETY: there is a digest for each message.
        unsafe { device.launch(&KERNELS, &kernels::sha256, config, arguments)? };
        device.synchronize()?;
        times.push(start.elapsed());
    }
    let (expected, on_the_cpu) = messages::on_the_cpu(&messages, REPEATS);
    if digests.to_vec()? != expected {
        return Err("sha256: the digests differ from those of the CPU".into());
    }
    println!("sha256: {count} digests are those of the CPU");
    messages::print(
        &format!("{device}, without copies"),
        &messages,
        messages::median(times),
    );
    messages::print("CPU, all cores", &messages, on_the_cpu);
    Ok(())
}
