//! The device and stream of a call on arrays in the memory of a device.

use gridstride::Device;
use gridstride::device::DeviceKind;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::stream::{RawStream, make_wait, wait_for};
use crate::call::call;
use crate::error::OrRaise;

/// The device and stream of a call on arrays in the memory of a device.
pub struct Place {
    pub operation: &'static str,
    /// The device as the caller gave it.
    pub base: Device,
    /// Orders work on the stream, if the device is a GPU.
    pub device: Device,
    pub stream: Option<RawStream>,
    /// Streams of arguments, which wait for the call when this is dropped: later work on the
    /// arguments comes after the call.
    others: Vec<usize>,
}

impl Drop for Place {
    fn drop(&mut self) {
        for &handle in &self.others {
            // SAFETY: the handle is that of an argument's stream, which exists during the call.
            if unsafe { make_wait(&self.device, handle) }.is_err() {
                // If this fails too, the context is lost, and its work with it.
                let _ = self.device.synchronize();
            }
        }
    }
}

impl Place {
    /// Takes the device of a call, and its argument `stream`.
    pub fn new(
        py: Python<'_>,
        operation: &'static str,
        device: &Device,
        stream: Option<RawStream>,
    ) -> PyResult<Place> {
        let DeviceKind::Cuda { .. } = device.kind() else {
            if stream.is_some() {
                return Err(PyValueError::new_err(format!(
                    "{operation}: there is a stream, but {device} has none"
                )));
            }
            return Ok(Place {
                operation,
                base: device.clone(),
                device: device.clone(),
                stream,
                others: Vec::new(),
            });
        };
        let stream = stream.unwrap_or_else(RawStream::legacy);
        Ok(Place {
            operation,
            base: device.clone(),
            device: stream.order(device).or_raise(py, operation)?,
            stream: Some(stream),
            others: Vec::new(),
        })
    }

    /// Runs `work` as [`call`] does.
    pub fn call<T: Send + 'static>(
        &self,
        py: Python<'_>,
        operations: f64,
        work: impl FnOnce() -> gridstride::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let operations = match self.device.kind() {
            // A GPU does about a thousand times as many in the same time.
            DeviceKind::Cuda { .. } => operations / 1e3,
            _ => operations,
        };
        // After Ctrl-C, the stream outlives the work and its result.
        let stream = self.stream.clone();
        let work = move || Ok((work()?, stream));
        call(py, self.operation, operations, work).map(|(result, _)| result)
    }

    /// Orders the call after the present work of an argument's stream, and that stream's later work
    /// after the call.
    ///
    /// # Safety
    /// The handle is that of a stream of this place's GPU, which exists during the call.
    pub unsafe fn order_with(&mut self, py: Python<'_>, handle: usize) -> PyResult<()> {
        if self.stream.as_ref().is_some_and(|own| !own.is(handle)) {
            // SAFETY: the handle is that of a stream of this place's GPU, which exists during the
            // call, by the contract of this function.
            unsafe { wait_for(&self.device, handle) }.or_raise(py, self.operation)?;
            self.others.push(handle);
        }
        Ok(())
    }
}
