//! The calls: with host arrays and arrays in a device's memory, and with new and existing results.

mod nearest;
mod rows;
mod slide;
mod slide_nearest;

use gridstride_runtime::device::{DeviceArray, zeroed_lazily};
use gridstride_runtime::error::During;
use gridstride_runtime::{DeviceSet, Result};
use ndarray::{Array2, ArrayViewMut2, Dimension, Ix2};

use super::device_output::DeviceNearest;
use super::element::Component;
use super::input::{DevicePairs, HostPairs, Pairing, Pairs, Queries};
use super::options::Distances;
use super::output::{HostPlaces, Nearest, Places};
use super::rows::{DeviceRows, HostRows};

pub use nearest::nearest;
pub use rows::{distances, pairwise};
pub use slide::{slide_distances, slide_paired};
pub use slide_nearest::slide_nearest;

impl Distances {
    /// Returns a call for distances, without a place for them.
    fn pairs<R>(&self, operation: &'static str, a: R, b: Option<R>) -> Pairs<R, ()> {
        Pairs {
            operation,
            metric: self.metric,
            a,
            b,
            pairing: Pairing::All,
            out: (),
            is_new: false,
        }
    }

    /// Returns a call for nearest rows.
    fn queries<R>(&self, operation: &'static str, queries: R, database: R, k: usize) -> Queries<R> {
        Queries {
            operation,
            metric: self.metric,
            queries,
            database,
            k,
            first_query: 0,
            first_row: 0,
        }
    }
}

impl<R: Copy> Pairs<R, ()> {
    /// Compares each of `a` with the one of `b` that has its index.
    fn each(self) -> Self {
        Pairs {
            pairing: Pairing::Each,
            ..self
        }
    }

    fn with_out<Out>(self, out: Out, is_new: bool) -> Pairs<R, Out> {
        self.with(self.a, self.b, out, is_new)
    }
}

impl<T: Component> Pairs<HostRows<'_, T>, ()> {
    fn compute(self, devices: &(impl DeviceSet + ?Sized)) -> Result<Array2<f64>> {
        let (operation, (rows, columns)) = (self.operation, self.shape()?);
        // The pages are allocated when they are written.
        let distances = zeroed_lazily(rows.saturating_mul(columns)).during(operation)?;
        let out = Array2::from_shape_vec((rows, columns), distances);
        let mut out = out.expect("a distance for each pair");
        let pairs: HostPairs<T> = self.with_out(out.view_mut(), true);
        T::host_pairs(devices.devices(), pairs).during(operation)?;
        Ok(out)
    }

    fn compute_into(
        self,
        devices: &(impl DeviceSet + ?Sized),
        out: ArrayViewMut2<f64>,
    ) -> Result<()> {
        self.require_out(out.shape())?;
        let operation = self.operation;
        T::host_pairs(devices.devices(), self.with_out(out, false)).during(operation)
    }
}

impl<T: Component> Pairs<DeviceRows<'_, T>, ()> {
    fn compute(self) -> Result<DeviceArray<f64, Ix2>> {
        let (operation, device) = (self.operation, self.a.device());
        let b = self.b.unwrap_or(self.a);
        device.require_same(b.device(), operation)?;
        let (rows, columns) = self.shape()?;
        let out = device
            .alloc(rows.saturating_mul(columns))
            .during(operation)?;
        let mut out = DeviceArray::from_buffer(out, Ix2(rows, columns))?;
        self.compute_into(&mut out)?;
        Ok(out)
    }

    fn compute_into<D: Dimension>(self, out: &mut DeviceArray<f64, D>) -> Result<()> {
        let (operation, device) = (self.operation, self.a.device());
        let b = self.b.unwrap_or(self.a);
        device.require_same(b.device(), operation)?;
        device.require_same(out.device(), operation)?;
        self.require_out(out.shape())?;
        let _ordered = device.ordered_with(&[b.device(), out.device()])?;
        let pairs: DevicePairs<T> = self.with_out(out.inner_mut(), false);
        T::device_pairs(pairs).during(operation)
    }
}

impl<T: Component> Queries<HostRows<'_, T>> {
    fn search(self, devices: &(impl DeviceSet + ?Sized)) -> Result<Nearest> {
        self.check()?;
        let mut nearest = Nearest::zeros(self.queries.count(), self.k).during(self.operation)?;
        T::host_nearest(devices.devices(), self, nearest.places()).during(self.operation)?;
        Ok(nearest)
    }

    /// Searches as many rows for each query as the places have columns.
    fn search_into(
        self,
        devices: &(impl DeviceSet + ?Sized),
        indices: ArrayViewMut2<u64>,
        distances: ArrayViewMut2<f64>,
    ) -> Result<()> {
        let queries = self.with_columns(indices.shape(), distances.shape())?;
        let places: HostPlaces = Places { indices, distances };
        T::host_nearest(devices.devices(), queries, places).during(self.operation)
    }
}

impl<T: Component> Queries<DeviceRows<'_, T>> {
    fn search(self) -> Result<DeviceNearest> {
        let (operation, device) = (self.operation, self.queries.device());
        device.require_same(self.database.device(), operation)?;
        self.check()?;
        let shape = Ix2(self.queries.count(), self.k);
        let elements = shape[0].saturating_mul(shape[1]);
        let indices = device.alloc(elements).during(operation)?;
        let distances = device.alloc(elements).during(operation)?;
        let mut nearest = DeviceNearest {
            indices: DeviceArray::from_buffer(indices, shape)?,
            distances: DeviceArray::from_buffer(distances, shape)?,
        };
        self.search_into(&mut nearest.indices, &mut nearest.distances)?;
        Ok(nearest)
    }

    /// Searches as many rows for each query as the places have columns.
    fn search_into(
        self,
        indices: &mut DeviceArray<u64, Ix2>,
        distances: &mut DeviceArray<f64, Ix2>,
    ) -> Result<()> {
        let (operation, device) = (self.operation, self.queries.device());
        for other in [self.database.device(), indices.device(), distances.device()] {
            device.require_same(other, operation)?;
        }
        let queries = self.with_columns(indices.shape(), distances.shape())?;
        let others = [self.database.device(), indices.device(), distances.device()];
        let _ordered = device.ordered_with(&others)?;
        let places = Places {
            indices: indices.inner_mut(),
            distances: distances.inner_mut(),
        };
        T::device_nearest(queries, places).during(operation)
    }
}
