//! The streams of a GPU that order calls: CUDA's legacy default stream, or one of another library.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::sync::{Arc, Mutex, PoisonError};

use dlpark::ffi::DLDevice;
use dlpark::python::consumer::stream::cuda;
use dlpark::python::{DlpackStream, StreamArg};
use gridstride::device::{DeviceKind, Stream};
use gridstride::{Device, Result};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;

/// CUDA's legacy default stream, under the two handles that it has.
const LEGACY: [usize; 2] = [0, 1];

/// The default stream of each thread. Memory is freed on any thread, where it is another stream.
const PER_THREAD: usize = 2;

/// A stream of CUDA, and what keeps it.
#[derive(Clone)]
pub struct RawStream {
    /// 0 for the legacy default stream.
    handle: usize,
    _owner: Option<Arc<Py<PyAny>>>,
}

impl RawStream {
    /// CUDA's legacy default stream, with which the streams of other libraries are ordered unless
    /// they were made otherwise.
    pub fn legacy() -> RawStream {
        RawStream {
            handle: 0,
            _owner: None,
        }
    }

    /// Takes a handle, or a stream of PyTorch, CuPy, Numba or cuda.core.
    ///
    /// # Errors
    /// TypeError for anything else, ValueError for the default stream of a thread.
    pub fn of(operation: &str, object: &Bound<'_, PyAny>) -> PyResult<RawStream> {
        let Some(handle) = handle_of(object)? else {
            let type_name = object.get_type().name()?;
            let message = format!(
                "{operation}: stream is a {type_name}, but has to be a handle, or a stream of torch, cupy or numba"
            );
            return Err(PyTypeError::new_err(message));
        };
        if handle == PER_THREAD {
            let message = format!(
                "{operation}: stream is the default stream of a thread, but results outlive it: pass another stream"
            );
            return Err(PyValueError::new_err(message));
        }
        Ok(RawStream {
            handle: if LEGACY.contains(&handle) { 0 } else { handle },
            _owner: Some(Arc::new(object.clone().unbind())),
        })
    }

    /// Whether this is the stream with a handle.
    pub fn is(&self, handle: usize) -> bool {
        self.handle == handle || self.handle == 0 && LEGACY.contains(&handle)
    }

    /// The handle in the CUDA array interface, where 0 is ambiguous.
    pub fn handle_in_interface(&self) -> usize {
        self.handle.max(1)
    }

    /// Returns a handle to the GPU `device` whose work is ordered on this stream.
    pub fn order(&self, device: &Device) -> Result<Device> {
        if self.handle == 0
            && let DeviceKind::Cuda { ordinal } = device.kind()
        {
            let stream = legacy_of(ordinal, device)?;
            return device.on(&stream);
        }
        // SAFETY: the caller of a Python function passes a stream that exists as long as its object,
        // which this value keeps, or, for a handle, as long as the results: the documentation asks
        // for it.
        let stream = unsafe { Stream::from_raw(device, without_provenance_mut(self.handle))? };
        device.on(&stream)
    }
}

// SAFETY: the handle is that of a live stream, which exists as long as its object, or as the
// documentation asks of a caller, of CUDA.
unsafe impl DlpackStream for RawStream {
    fn as_python_arg(&self, _: Python<'_>, _: DLDevice) -> PyResult<StreamArg> {
        Ok(cuda(without_provenance_mut(self.handle)))
    }

    unsafe fn wait_for_producer(&self, _: DLDevice, producer: *mut c_void) -> PyResult<bool> {
        Ok(self.is(producer.addr()))
    }
}

/// Makes later work of `device`, a handle to a GPU, wait for the present work of another stream.
///
/// # Safety
/// The handle is that of a stream of the GPU's primary context.
pub unsafe fn wait_for(device: &Device, handle: usize) -> Result<()> {
    // SAFETY: the handle is that of a stream of the GPU's primary context, by the contract of this
    // function; the value is dropped before this returns.
    let stream = unsafe { Stream::from_raw(device, without_provenance_mut(handle))? };
    let event = device.event()?;
    stream.record(&event)?;
    device.wait(&event)
}

/// Makes another stream wait for the present work of `device`, a handle to a GPU.
///
/// # Safety
/// As of [`wait_for`].
pub unsafe fn make_wait(device: &Device, handle: usize) -> Result<()> {
    // SAFETY: the handle is that of a stream of the GPU's primary context, by the contract of this
    // function; the value is dropped before this returns.
    let stream = unsafe { Stream::from_raw(device, without_provenance_mut(handle))? };
    let event = device.event()?;
    device.record(&event)?;
    stream.wait(&event)
}

/// Returns the legacy default stream of GPU number `ordinal`. It is kept, and the GPU stays open,
/// since making it takes as long as a call.
fn legacy_of(ordinal: usize, device: &Device) -> Result<Arc<Stream>> {
    static STREAMS: Mutex<BTreeMap<usize, Arc<Stream>>> = Mutex::new(BTreeMap::new());
    let mut streams = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(stream) = streams.get(&ordinal) {
        return Ok(stream.clone());
    }
    // SAFETY: the legacy default stream exists as long as the context.
    let stream = Arc::new(unsafe { Stream::from_raw(device, without_provenance_mut(0))? });
    streams.insert(ordinal, stream.clone());
    Ok(stream)
}

fn handle_of(object: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    let py = object.py();
    if let Ok(handle) = object.extract() {
        return Ok(Some(handle));
    }
    // The protocol of cuda.core: a version, and the handle.
    if let Some(method) = object.getattr_opt(intern!(py, "__cuda_stream__"))? {
        let (_, handle) = method.call0()?.extract::<(usize, usize)>()?;
        return Ok(Some(handle));
    }
    // torch, cupy, and numba, whose handle is one of ctypes.
    for name in [intern!(py, "cuda_stream"), intern!(py, "ptr")] {
        if let Some(handle) = object.getattr_opt(name)? {
            return handle.extract().map(Some);
        }
    }
    let Some(handle) = object.getattr_opt(intern!(py, "handle"))? else {
        return Ok(None);
    };
    match handle.getattr_opt(intern!(py, "value"))? {
        // ctypes has None for null.
        Some(value) if value.is_none() => Ok(Some(0)),
        Some(value) => value.extract().map(Some),
        None => handle.extract().map(Some),
    }
}
