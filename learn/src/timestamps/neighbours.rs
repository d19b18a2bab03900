//! v1 to v4: a fixed number of neighbours a bucket.

use anyhow::Result;
use gridstride::Device;
use gridstride::device::{Buffer, LaunchConfig, Stream};
use ladder_kernels::timestamps::{sum_neighbours, sum_staged_neighbours};

use super::THREADS;
use super::expected::Expected;
use super::times::{Times, WARP};
use crate::climb::Climb;
use crate::{KERNELS, SHARED_BYTES};

/// Streams, and the parts that the points are divided into.
const STREAMS: usize = 4;

/// The kernels that take a fixed number of neighbours.
pub fn climb(
    climb: &mut Climb,
    device: &Device,
    times: &Times,
    values: &[f64],
    expected: &Expected,
) -> Result<()> {
    let (n, points) = (values.len(), times.points);
    let mut sums = vec![0.0; n.div_ceil(points)];
    for (version, is_staged, changed) in [
        (
            "v1",
            false,
            "upload, download, and a thread that sums the neighbours of a bucket; of values alone",
        ),
        (
            "v3",
            true,
            "neighbours through shared memory, read without gaps",
        ),
    ] {
        let mut part = Part::new(device, n, points)?;
        climb.with_copies(
            version,
            changed,
            || {
                part.values.copy_from(values)?;
                let (kernel, config) = part.kernel(is_staged);
                let arguments = part.arguments();
                // SAFETY: a sum and a thread for each bucket, the shared memory that the config
                // gives, and buffers that live until the sums have been read.
                unsafe { device.launch(&KERNELS, kernel, config, arguments) }?;
                Ok(part.sums.copy_to(&mut sums)?)
            },
            |()| Ok(String::new()),
        )?;
        climb.checked(times.remark(expected, &sums))?;
    }
    // Whole buckets for each stream.
    let length = n.div_ceil(STREAMS).next_multiple_of(points);
    let lengths = (0..n).step_by(length).map(|start| length.min(n - start));
    let mut parts = lengths
        .map(|length| {
            let stream = device.stream()?;
            let part = Part::new(&device.on(&stream)?, length, points)?;
            Ok((stream, part))
        })
        .collect::<Result<Vec<_>>>()?;
    let (mut pinned, mut sums) = (device.pinned(n)?, device.pinned(sums.len())?);
    pinned.copy_from_slice(values);
    climb.with_copies(
        "v4",
        "copies and kernels on four streams, from page-locked memory",
        || Ok(sum_on_streams(&mut parts, &pinned, &mut sums)?),
        |()| Ok(String::new()),
    )?;
    climb.checked(times.remark(expected, &sums))
}

/// Values in a device's memory, with room for their sums.
struct Part {
    values: Buffer<f64>,
    sums: Buffer<f64>,
    /// Points of a bucket.
    points: u32,
}

type SumKernel = cuda_std::host::Kernel<SumArguments>;
type SumArguments = (
    u32,
    cuda_std::DeviceSlice<f64>,
    cuda_std::DeviceSliceMut<f64>,
);

impl Part {
    fn new(device: &Device, length: usize, points: usize) -> Result<Part> {
        Ok(Part {
            values: device.alloc(length)?,
            sums: device.alloc(length.div_ceil(points))?,
            points: points as u32,
        })
    }

    fn arguments(&mut self) -> SumArguments {
        (self.points, self.values.slice(), self.sums.slice_mut())
    }

    fn kernel(&self, is_staged: bool) -> (&'static SumKernel, LaunchConfig) {
        let config = |threads| LaunchConfig::for_len(self.sums.len(), threads);
        if !is_staged {
            return (&sum_neighbours, config(THREADS));
        }
        // As many warps as there is shared memory for.
        let of_warp = WARP * self.points * size_of::<f64>() as u32;
        let warps = (SHARED_BYTES / of_warp).clamp(1, THREADS / WARP);
        let config = config(warps * WARP).with_shared_bytes(warps * of_warp);
        (&sum_staged_neighbours, config)
    }
}

/// Gives each stream its work, and waits for all only when the last one has it.
fn sum_on_streams(
    parts: &mut [(Stream, Part)],
    values: &[f64],
    sums: &mut [f64],
) -> gridstride::Result<()> {
    let Some(((stream, part), other_parts)) = parts.split_first_mut() else {
        return Ok(());
    };
    let (values, other_values) = values.split_at(part.values.len());
    let (sums, other_sums) = sums.split_at_mut(part.sums.len());
    stream.scope(|scope| {
        scope.upload(values, &mut part.values)?;
        let (kernel, config) = part.kernel(true);
        let arguments = part.arguments();
        // SAFETY: a sum and a thread for each bucket, the shared memory that the config gives, and
        // the scope waits for the stream before the buffers can go.
        unsafe { scope.stream().launch(&KERNELS, kernel, config, arguments) }?;
        scope.download(&part.sums, sums)?;
        sum_on_streams(other_parts, other_values, other_sums)
    })
}
