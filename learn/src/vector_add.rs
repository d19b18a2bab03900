//! The sum of two vectors: a grid-stride loop, and copies and kernels divided over streams.

use anyhow::{Context, Result, ensure};
use checks::random::Random;
use files::memory::room_for;
use gridstride::Device;
use gridstride::device::{Buffer, LaunchConfig, PinnedBuffer, Stream};
use ladder_kernels::vector_add::{vector_add, vector_add_3d};

use super::KERNELS;
use super::climb::{Climb, Plan};
use super::rows::{Axis, Clock, Ladder};
use super::setup::{Defaults, Setup};

/// Streams, and the parts that the vectors are divided into.
const STREAMS: usize = 5;
const SWEPT_STREAMS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// Threads of a block.
const THREADS: u32 = 256;

/// Blocks of 8×8×4 threads, and a grid of as many along y and z.
const BLOCK_3D: (u32, u32, u32) = (8, 8, 4);
const BLOCKS_OF_A_SIDE: u32 = 16;

/// The size.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Elements of each vector; 20 million on a GPU.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    pub elements: Option<u32>,

    /// Sweep the number of streams, from ordinary memory and from page-locked memory.
    #[arg(long)]
    pub sweep: bool,
}

/// Runs all versions.
///
/// # Errors
/// If one fails or is wrong.
pub fn climb(options: &Options, setup: &Setup) -> Result<Ladder> {
    let defaults = Defaults {
        gpu: 20_000_000,
        cpu: 20_000_000,
        simulator: 10_000,
    };
    let n = setup.size(options.elements, defaults);
    let title = format!("Sum of two vectors of {n} i32, as f64");
    let mut climb = Climb::new(setup, title);
    climb.say("the vectors");
    let (a, b) = (
        random_vector(setup.seed, 0, n)?,
        random_vector(setup.seed, 1, n)?,
    );
    let check = |out: &[f64]| check(&a, &b, out);

    climb.cpu("plain", "one core", || Ok(plain(&a, &b)), |out| check(&out))?;
    if setup.has_kernels() {
        let device = &setup.device;
        let (on_device_a, on_device_b) = (device.buffer_from(&a)?, device.buffer_from(&b)?);
        for (version, config, changed) in [
            (
                "one thread",
                LaunchConfig::new(1, 1),
                "a grid-stride loop: right for any launch, easy to debug in this one",
            ),
            (
                "kernel",
                LaunchConfig::for_len(n, THREADS),
                "the same kernel, a thread per element",
            ),
        ] {
            let mut out = device.alloc::<f64>(n)?;
            let arguments = (on_device_a.slice(), on_device_b.slice(), out.slice_mut());
            climb.kernel(
                version,
                changed,
                // SAFETY: all have n elements and live until the result has been read.
                || Ok(unsafe { device.launch(&KERNELS, &vector_add, config, arguments) }?),
                |()| check(&out.to_vec()?),
            )?;
            climb.occupancy(&vector_add, config)?;
        }
        let mut out = device.alloc::<f64>(n)?;
        let side = BLOCKS_OF_A_SIDE;
        let threads = BLOCK_3D.0 * BLOCK_3D.1 * BLOCK_3D.2 * side * side;
        let config = LaunchConfig::new((n.div_ceil(threads as usize) as u32, side, side), BLOCK_3D);
        let arguments = (on_device_a.slice(), on_device_b.slice(), out.slice_mut());
        climb.kernel(
            "index_3d",
            "blocks of 8×8×4 in a grid of three dimensions: warps read eight neighbours, four times",
            // SAFETY: all have n elements and live until the result has been read.
            || Ok(unsafe { device.launch(&KERNELS, &vector_add_3d, config, arguments) }?),
            |()| check(&out.to_vec()?),
        )?;
        climb.occupancy(&vector_add_3d, config)?;
        drop((on_device_a, on_device_b, out));
        one_stream(&mut climb, device, &a, &b)?;
        let mut out = vec![0.0; n];
        let mut parts_of_5 = parts(device, n, STREAMS)?;
        climb.with_copies(
            "five streams",
            "five parts, each with a stream for its copies and its kernel, which wait for each other in ordinary memory",
            || Ok(add_on_streams(&mut parts_of_5, &a, &b, &mut out)?),
            |()| Ok(String::new()),
        )?;
        climb.checked(check(&out))?;
        let (mut pinned_a, mut pinned_b) = (device.pinned(n)?, device.pinned(n)?);
        pinned_a.copy_from_slice(&a);
        pinned_b.copy_from_slice(&b);
        let mut out = device.pinned(n)?;
        climb.with_copies(
            "pinned",
            "gridstride's page-locked memory, from and to which copies overlap with other work",
            || {
                Ok(add_on_streams(
                    &mut parts_of_5,
                    &pinned_a,
                    &pinned_b,
                    &mut out,
                )?)
            },
            |()| Ok(String::new()),
        )?;
        climb.checked(check(&out))?;
        drop(parts_of_5);
        if options.sweep {
            let ordinary = Copies::new(&a, &b, vec![0.0; n]);
            let pinned = Copies::new(&pinned_a, &pinned_b, out);
            sweep(&mut climb, device, ordinary, pinned, check)?;
        }
    }
    Ok(climb.finish())
}

fn random_vector(seed: u64, stream: u64, n: usize) -> Result<Vec<i32>> {
    let no_memory = || format!("there is no memory for vectors of {n} elements: lower --elements");
    let mut vector = room_for(n).with_context(no_memory)?;
    let mut random = Random::new(seed, stream);
    vector.extend((0..n).map(|_| random.next() as i32));
    Ok(vector)
}

fn plain(a: &[i32], b: &[i32]) -> Vec<f64> {
    a.iter()
        .zip(b)
        .map(|(&a, &b)| f64::from(a) + f64::from(b))
        .collect()
}

/// Sums of two `i32` are exact in `f64`.
fn check(a: &[i32], b: &[i32], out: &[f64]) -> Result<String> {
    ensure!(out.len() == a.len(), "there are {} sums", out.len());
    for (i, found) in out.iter().enumerate() {
        let expected = f64::from(a[i]) + f64::from(b[i]);
        ensure!(*found == expected, "element {i} is {found}, not {expected}");
    }
    Ok(String::new())
}

/// All copies and the kernel one after the other.
fn one_stream(climb: &mut Climb, device: &Device, a: &[i32], b: &[i32]) -> Result<()> {
    let n = a.len();
    let (mut device_a, mut device_b) = (device.alloc(n)?, device.alloc(n)?);
    let mut device_out = device.alloc::<f64>(n)?;
    let mut out = vec![0.0; n];
    climb.with_copies(
        "one stream",
        "upload, kernel and download, one after the other",
        || {
            device_a.copy_from(a)?;
            device_b.copy_from(b)?;
            let arguments = (device_a.slice(), device_b.slice(), device_out.slice_mut());
            let config = LaunchConfig::for_len(n, THREADS);
            // SAFETY: all have n elements and live until the result has been read.
            unsafe { device.launch(&KERNELS, &vector_add, config, arguments) }?;
            Ok(device_out.copy_to(&mut out)?)
        },
        |()| Ok(String::new()),
    )?;
    climb.checked(check(a, b, &out))
}

/// A stream with memory for its part of the vectors.
struct Part {
    stream: Stream,
    a: Buffer<i32>,
    b: Buffer<i32>,
    out: Buffer<f64>,
}

/// The memory that vectors are copied from and to.
struct Copies<'a, Out> {
    a: &'a [i32],
    b: &'a [i32],
    out: Out,
}

impl<'a, Out> Copies<'a, Out> {
    fn new(a: &'a [i32], b: &'a [i32], out: Out) -> Copies<'a, Out> {
        Copies { a, b, out }
    }
}

/// The times by the number of streams.
fn sweep(
    climb: &mut Climb,
    device: &Device,
    mut ordinary: Copies<'_, Vec<f64>>,
    mut pinned: Copies<'_, PinnedBuffer<f64>>,
    check: impl Fn(&[f64]) -> Result<String>,
) -> Result<()> {
    let plan = Plan {
        title: "Streams, each with a part of the vectors",
        clock: Clock::WholeCall,
        parameter: "streams",
        axis: Axis::Doubling,
        values: &SWEPT_STREAMS,
        lines: &[
            ("ordinary memory".to_owned(), false),
            ("page-locked memory".to_owned(), true),
        ],
    };
    climb.sweep(plan, |climb, &is_pinned, streams| {
        let (a, b, out): (_, _, &mut [f64]) = match is_pinned {
            true => (pinned.a, pinned.b, &mut pinned.out),
            false => (ordinary.a, ordinary.b, &mut ordinary.out),
        };
        out.fill(f64::NAN);
        let mut parts = parts(device, out.len(), streams as usize)?;
        let add = || Ok(add_on_streams(&mut parts, a, b, out)?);
        let time = climb.time(Clock::WholeCall, add)?;
        check(out)?;
        Ok(Some(time))
    })
}

/// The parts of so many elements; the last ones may be shorter, or be none.
fn parts(device: &Device, n: usize, streams: usize) -> Result<Vec<Part>> {
    let length = n.div_ceil(streams);
    let starts = (0..n).step_by(length);
    let parts = starts.map(|start| {
        let length = length.min(n - start);
        let stream = device.stream()?;
        let on_stream = device.on(&stream)?;
        Ok(Part {
            a: on_stream.alloc(length)?,
            b: on_stream.alloc(length)?,
            out: on_stream.alloc(length)?,
            stream,
        })
    });
    parts.collect()
}

/// Gives each stream its work, and waits for all only when the last one has it.
fn add_on_streams(
    parts: &mut [Part],
    a: &[i32],
    b: &[i32],
    out: &mut [f64],
) -> gridstride::Result<()> {
    let Some((part, other_parts)) = parts.split_first_mut() else {
        return Ok(());
    };
    let length = part.out.len();
    let (a, rest_of_a) = a.split_at(length);
    let (b, rest_of_b) = b.split_at(length);
    let (out, rest_of_out) = out.split_at_mut(length);
    let Part {
        stream,
        a: device_a,
        b: device_b,
        out: device_out,
    } = part;
    stream.scope(|scope| {
        scope.upload(a, device_a)?;
        scope.upload(b, device_b)?;
        let arguments = (device_a.slice(), device_b.slice(), device_out.slice_mut());
        let config = LaunchConfig::for_len(length, THREADS);
        // SAFETY: all have the same length, and the scope waits for the stream before they can go.
        unsafe {
            scope
                .stream()
                .launch(&KERNELS, &vector_add, config, arguments)
        }?;
        scope.download(device_out, out)?;
        add_on_streams(other_parts, rest_of_a, rest_of_b, rest_of_out)
    })
}
