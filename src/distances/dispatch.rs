//! The version for a device: the CPU's or the kernels.

use ndarray::{Array2, Ix2};

use super::partition::Tile;
use super::{Metric, Real, cpu, input};
use crate::device::{DeviceArray, DeviceKind, zeroed_lazily};
use crate::error::During;
use crate::spread::spread;
use crate::{Device, Error, Result};

#[cfg(feature = "kernels")]
use super::gpu;

/// Writes distances between rows in the host's memory, with all of the devices.
pub fn host<T: Real>(
    operation: &'static str,
    metric: Metric,
    devices: &[Device],
    whole: Tile<T>,
) -> Result<()> {
    let (a, b) = (whole.a, whole.b);
    let work = |device: &Device, tile: &mut Tile<T>| match device.kind() {
        DeviceKind::Cpu => cpu::compute(operation, metric, tile),
        #[cfg(feature = "kernels")]
        _ => gpu::compute(operation, metric, device, tile),
        #[cfg(not(feature = "kernels"))]
        _ => unreachable!("this build has the CPU alone"),
    };
    let done = spread(devices, operation, whole, work);
    if let Err(Error::InvalidInput { .. }) = done {
        // Name the row as counted among all rows, not among those of a part.
        input::largest(operation, "a", a)?;
        b.map_or(Ok(0.0), |b| input::largest(operation, "b", b))?;
    }
    done.map(|_| ())
}

/// Writes distances between rows in a device's memory.
pub fn resident<T: Real>(
    operation: &'static str,
    metric: Metric,
    a: &DeviceArray<T, Ix2>,
    b: Option<&DeviceArray<T, Ix2>>,
    out: &mut DeviceArray<f64, Ix2>,
) -> Result<()> {
    #[cfg(feature = "kernels")]
    if a.device().kind() != DeviceKind::Cpu {
        return gpu::compute_resident(operation, metric, a, b, out).during(operation);
    }
    let on_cpu = || {
        let (a, b) = (a.download()?, b.map(DeviceArray::download).transpose()?);
        let mut distances = host_array(out.shape()[0], out.shape()[1])?;
        let mut tile = Tile {
            a: a.view(),
            b: b.as_ref().map(|b| b.view()),
            out: distances.view_mut(),
        };
        cpu::compute(operation, metric, &mut tile)?;
        let distances = distances.as_slice().expect("a new array");
        out.buffer_mut().copy_from(distances)
    };
    on_cpu().during(operation)
}

/// Returns an array of the host whose pages are made when they are written to.
pub fn host_array(rows: usize, columns: usize) -> Result<Array2<f64>> {
    let distances = zeroed_lazily(rows.saturating_mul(columns))?;
    Ok(Array2::from_shape_vec((rows, columns), distances).expect("a distance for each pair"))
}
