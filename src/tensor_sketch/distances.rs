//! Distances between sketches.

mod cpu;
mod gpu;
mod tile;
mod tuning;
mod value;

use ndarray::{Array2, ArrayView2, Ix2};

use super::Real;
use crate::device::DeviceKind;
use crate::device::{DeviceArray, collected, zeroed_lazily};
use crate::error::During;
use crate::partition::{self, require_devices};
use crate::{Device, DeviceSet, Error, Result};
use cpu::Rows;
use tile::Tile;
use value::Scale;
pub(super) use value::Value;

const DISTANCES: &str = "distances";
const PAIRWISE: &str = "pairwise";

/// How to measure the distance of two rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// √Σ (a − b)², the Euclidean distance.
    L2,
    /// Σ (a − b)².
    SquaredL2,
}

/// The distances of all rows of `a` to all rows of `b`: N×D, M×D → N×M.
///
/// Views may have any strides. The numbers are `f32` or `f64`, the distances always `f64`: the
/// squares of sketches that were not normalised leave `f32`'s range. A distance beyond `f64`'s range
/// is infinite, one below it subnormal or zero.
///
/// # Accuracy
///
/// Distances are sums of squared differences, without the cancellation of ‖a‖² + ‖b‖² − 2ab, so
/// that those of rows close to each other are as accurate as all others. On the CPU the arithmetic
/// is `f64`, on GPUs and in the simulator that of the numbers. With its unit roundoff u, 2⁻²⁴ for
/// `f32` and 2⁻⁵³ for `f64`, and γ_n = n·u / (1 − n·u), a distance is off by at most
///
/// - γ_{D+4} times itself; for D = 96 and `f32` that is 6·10⁻⁶, and typically it is far less;
/// - besides, in rows of up to 4096 numbers, 10⁻³⁵ times the largest magnitude in `a` and `b`
///   (10⁻³⁰⁰ times for `f64`; for [`Metric::SquaredL2`] the square of that): it only matters where
///   numbers differ by more than 30 orders of magnitude.
///
/// All numbers are scaled by a power of two, so that the largest ones' squares just stay in range.
/// With (1 + δ), |δ| ≤ u, for a rounding, each term d² of a sum then gets at most: one from the
/// scaled numbers, if they are subnormal, two from d, and one from each of D fused multiplications
/// and additions; the terms are not negative, so that the sum has no more than that. The square root
/// halves the error and adds one. What a sum loses where it is subnormal is D times half the
/// smallest number, scaled back.
///
/// Results are the same from run to run, whatever the number of threads; those of two kinds of
/// devices differ within these bounds.
///
/// # Several devices, and little memory
///
/// Over a [set](DeviceSet) of devices, and where a device's memory or its [limit](Device::limit_memory)
/// does not suffice, rows of `a` or `b` are divided. The distances are the same but for what is stated
/// above of rows of very different magnitudes, since numbers are scaled by the largest one of a part.
///
/// # Errors
///
/// - [`Error::Shape`] when the rows of `a` and `b` differ in length.
/// - [`Error::InvalidInput`] for a row that is not finite, and for a set of no devices.
/// - [`Error::Allocation`] if the host's memory does not suffice for the distances, or a device's for
///   that of two rows.
///
/// # Examples
///
/// ```
/// use gridstride::Device;
/// use gridstride::tensor_sketch::{Metric, distances};
/// use ndarray::array;
///
/// let device = Device::auto();
/// let a = array![[0.0, 0.0], [3.0, 0.0]];
/// let b = array![[3.0, 4.0]];
/// let plain = distances(&device, a.view(), b.view(), Metric::L2)?;
/// assert_eq!(plain, array![[5.0], [4.0]]);
/// let squared = distances(&device, a.view(), b.view(), Metric::SquaredL2)?;
/// assert_eq!(squared, array![[25.0], [16.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn distances<T: Real>(
    devices: &(impl DeviceSet + ?Sized),
    a: ArrayView2<T>,
    b: ArrayView2<T>,
    metric: Metric,
) -> Result<Array2<f64>> {
    check_shapes(a.dim(), b.dim())?;
    in_tiles(DISTANCES, devices.devices(), a, Some(b), metric)
}

/// The distances of all rows of `a` to each other: N×D → N×N, symmetric with a zero diagonal.
///
/// Each pair is computed once, and otherwise as by [`distances`], to the same bits; over a
/// [set](DeviceSet) of devices, or where a device's memory does not suffice for all, twice.
///
/// # Errors
///
/// Those of [`distances`] but [`Error::Shape`].
///
/// # Examples
///
/// ```
/// use gridstride::Device;
/// use gridstride::tensor_sketch::{Metric, pairwise};
/// use ndarray::array;
///
/// let sketches = array![[0.0, 0.0], [3.0, 4.0]];
/// let distances = pairwise(&Device::auto(), sketches.view(), Metric::L2)?;
/// assert_eq!(distances, array![[0.0, 5.0], [5.0, 0.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn pairwise<T: Real>(
    devices: &(impl DeviceSet + ?Sized),
    a: ArrayView2<T>,
    metric: Metric,
) -> Result<Array2<f64>> {
    in_tiles(PAIRWISE, devices.devices(), a, None, metric)
}

/// The distances of the rows of `a` to those of `b`, or to each other, by all of the devices.
fn in_tiles<T: Real>(
    operation: &'static str,
    devices: &[Device],
    a: ArrayView2<T>,
    b: Option<ArrayView2<T>>,
    metric: Metric,
) -> Result<Array2<f64>> {
    require_devices(devices, operation)?;
    let shape = (a.nrows(), b.unwrap_or(a).nrows());
    let distances = zeroed_lazily(shape.0.saturating_mul(shape.1)).during(operation)?;
    let mut distances = Array2::from_shape_vec(shape, distances).expect("a distance for each pair");
    let whole = Tile {
        a,
        b,
        out: distances.view_mut(),
    };
    let work = |device: &Device, tile: &mut Tile<T>| tile.compute(operation, device, metric);
    let done = partition::run(devices, operation, whole, work);
    let done = partition::recheck(done, || {
        largest(operation, "a", a)?;
        b.map_or(Ok(()), |b| largest(operation, "b", b).map(|_| ()))
    });
    done.during(operation).map(|_| distances)
}

/// [`distances`] of rows that are in a device's memory already, left there: N×D, M×D → N×M.
///
/// On a GPU it may return before the distances are computed. Downloading them waits; another stream
/// than the device's main one has to wait for an event. `a` and `b` may be the same array.
///
/// # Errors
///
/// Those of [`distances`], and [`Error::DifferentDevices`] when `a` and `b` are on two devices.
///
/// # Examples
///
/// ```
/// use gridstride::Device;
/// use gridstride::tensor_sketch::{Metric, distances_device};
/// use ndarray::array;
///
/// let device = Device::auto();
/// let a = device.upload(&array![[0.0, 0.0], [3.0, 0.0]])?;
/// let b = device.upload(&array![[3.0, 4.0]])?;
/// let distances = distances_device(&a, &b, Metric::L2)?;
/// assert_eq!(distances.download()?, array![[5.0], [4.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn distances_device<T: Real>(
    a: &DeviceArray<T, Ix2>,
    b: &DeviceArray<T, Ix2>,
    metric: Metric,
) -> Result<DeviceArray<f64, Ix2>> {
    let device = a.device();
    device.require_same(b.device(), DISTANCES)?;
    check_shapes((a.shape()[0], a.shape()[1]), (b.shape()[0], b.shape()[1]))?;
    if device.kind() != DeviceKind::Cpu {
        return gpu::distances(DISTANCES, a, b, metric).during(DISTANCES);
    }
    let on_host = || {
        let (a, b) = (a.download()?, b.download()?);
        device.upload(&distances(device, a.view(), b.view(), metric)?)
    };
    on_host().during(DISTANCES)
}

/// [`pairwise`] of rows that are in a device's memory already, left there: N×D → N×N.
///
/// On a GPU it may return before the distances are computed, as [`distances_device`].
///
/// # Errors
///
/// Those of [`pairwise`].
///
/// # Examples
///
/// ```
/// use gridstride::Device;
/// use gridstride::tensor_sketch::{
///     Metric, Sequences, Tables, TensorSketch, pairwise, pairwise_device,
/// };
///
/// let device = Device::auto();
/// let sequences: Sequences = [[0, 1, 2, 3], [3, 2, 3, 2]].iter().collect();
/// let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, 0)?);
/// let sketches = sketcher.sketch_device(&sequences.upload(&device)?)?;
/// let distances = pairwise_device(&sketches, Metric::L2)?.download()?;
/// assert_eq!(distances, pairwise(&device, sketches.download()?.view(), Metric::L2)?);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn pairwise_device<T: Real>(
    a: &DeviceArray<T, Ix2>,
    metric: Metric,
) -> Result<DeviceArray<f64, Ix2>> {
    let device = a.device();
    if device.kind() != DeviceKind::Cpu {
        return gpu::pairwise(PAIRWISE, a, metric).during(PAIRWISE);
    }
    let on_host = || device.upload(&pairwise(device, a.download()?.view(), metric)?);
    on_host().during(PAIRWISE)
}

fn check_shapes(a: (usize, usize), b: (usize, usize)) -> Result<()> {
    if a.1 == b.1 {
        return Ok(());
    }
    let message = format!("a is {a:?} and b is {b:?}: their rows must have the same length");
    Err(Error::Shape {
        operation: DISTANCES,
        message,
    })
}

/// The largest magnitude; refuses a row that is not finite.
fn largest<T: Real>(operation: &'static str, name: &str, view: ArrayView2<T>) -> Result<f64> {
    let mut largest = 0.0f64;
    for (i, row) in view.outer_iter().enumerate() {
        // A sum that is NaN or infinite also tells of numbers that are, and needs no branches.
        let mut sum = 0.0;
        for value in row.iter().map(|&value| value.to_f64().abs()) {
            largest = largest.max(value);
            sum += value * 0.0;
        }
        if sum != 0.0 {
            return Err(not_finite(operation, name, i));
        }
    }
    Ok(largest)
}

fn not_finite(operation: &'static str, name: &str, row: usize) -> Error {
    let message = format!("row {row} of {name} has a value that is NaN or infinite");
    Error::input_at(operation, row, message)
}

/// All numbers, scaled, row after row.
fn scaled<T: Real>(view: ArrayView2<T>, scale: Scale) -> Result<Vec<f64>> {
    let scaled = |&value: &T| value.to_f64() * scale.scale;
    collected(view.iter().map(scaled))
}

fn rows<'a, T>(view: ArrayView2<T>, values: &'a [f64]) -> Rows<'a> {
    Rows {
        values,
        count: view.nrows(),
        dim: view.ncols(),
    }
}

/// What makes a distance of the scaled sum of squares.
fn finish(metric: Metric, Scale { unscale, .. }: Scale) -> impl Fn(f64) -> f64 + Sync {
    move |sum: f64| match metric {
        Metric::L2 => sum.sqrt() * unscale,
        Metric::SquaredL2 => sum * unscale,
    }
}
