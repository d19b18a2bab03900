//! Graphs of the driver, captured from a stream.

use super::primary::Primary;
use super::stream::Stream;
use crate::Result;
use cust::sys::{self, cudaError_enum};
use std::ptr::null_mut;
use std::sync::Arc;

/// A stream whose work the driver records.
///
/// No other thread knows the stream, so that nobody else's work is recorded.
pub struct Recording {
    stream: Arc<Stream>,
}

impl Recording {
    pub fn begin(primary: &Arc<Primary>) -> Result<Recording> {
        let stream = Stream::new(primary)?;
        // In other modes the driver refuses to load modules until the capture ends.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream lives.
        let begin = || unsafe { sys::cuStreamBeginCapture_v2(stream.raw(), mode) };
        primary.call("beginning to capture a graph", begin)?;
        primary.begin_capture();
        let stream = Arc::new(stream);
        Ok(Recording { stream })
    }

    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// Ends the recording, and makes the graph ready for launches.
    pub fn end(self) -> Result<Graph> {
        let primary = self.stream.primary();
        let mut graph = Recorded(null_mut());
        // The stream's capture ends again when `self` is dropped, which does nothing then.
        // SAFETY: the stream is captured since `begin`, and one handle is written.
        let end = || unsafe { sys::cuStreamEndCapture(self.stream.raw(), &mut graph.0) };
        primary.call("capturing a graph", end)?;
        let mut raw = null_mut();
        // SAFETY: the graph was just captured, and one handle is written.
        let instantiate = || unsafe { sys::cuGraphInstantiateWithFlags(&mut raw, graph.0, 0) };
        primary.call("instantiating a graph", instantiate)?;
        Ok(Graph {
            raw,
            last_kernel: self.stream.last_kernel(),
            primary: primary.clone(),
        })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let primary = self.stream.primary();
        primary.end_capture();
        if let Ok(_bound) = primary.bind() {
            let mut graph = Recorded(null_mut());
            // SAFETY: the stream lives, and one handle is written, if the stream is captured.
            unsafe { sys::cuStreamEndCapture(self.stream.raw(), &mut graph.0) };
        }
    }
}

/// A graph of the driver that is destroyed with its owner; null if the capture failed.
struct Recorded(sys::CUgraph);

impl Drop for Recorded {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: captured once and destroyed once. Executable graphs do not need it.
            unsafe { sys::cuGraphDestroy(self.0) };
        }
    }
}

/// A graph that is ready for launches.
pub struct Graph {
    raw: sys::CUgraphExec,
    /// For messages, if the graph has kernels.
    last_kernel: Option<&'static str>,
    primary: Arc<Primary>,
}

// SAFETY: the driver's graphs may be used from any thread, by one at a time: see `launch`.
unsafe impl Send for Graph {}
// SAFETY: as above.
unsafe impl Sync for Graph {}

impl Graph {
    /// Starts the recorded work. The driver wants no two launches of a graph at the same moment.
    ///
    /// # Safety
    /// The memory that the work uses is allocated until the stream has done the work.
    pub unsafe fn launch(&mut self, stream: &Stream) -> Result<()> {
        if let Some(kernel) = self.last_kernel {
            stream.set_last_kernel(kernel);
        }
        // SAFETY: graph and stream live; the rest is passed on to the caller.
        let launch = || unsafe { sys::cuGraphLaunch(self.raw, stream.raw()) };
        self.primary.call("launching a graph", launch)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if let Ok(_bound) = self.primary.bind() {
            // SAFETY: instantiated once and destroyed once. The driver finishes launches first.
            let result = unsafe { sys::cuGraphExecDestroy(self.raw) };
            debug_assert_eq!(result, cudaError_enum::CUDA_SUCCESS);
        }
    }
}
