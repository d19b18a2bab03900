//! Graphs of the driver, captured from a stream.

use super::primary::Primary;
use super::stream::Stream;
use crate::Result;
use cust::sys;
use std::ptr::null_mut;
use std::sync::Arc;

/// A stream whose work the driver records.
///
/// No other thread knows the stream, so that nobody else's work is recorded.
pub struct Recording {
    stream: Arc<Stream>,
    has_ended: bool,
}

impl Recording {
    pub fn begin(primary: &Arc<Primary>) -> Result<Recording> {
        let stream = Stream::new(primary)?;
        // In other modes the driver refuses to load modules until the capture ends.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream lives.
        let begin = || unsafe { sys::cuStreamBeginCapture_v2(stream.raw(), mode) }.to_result();
        primary.begin_capture();
        if let Err(error) = primary.call("beginning to capture a graph", begin) {
            primary.end_capture();
            return Err(error);
        }
        Ok(Recording {
            stream: Arc::new(stream),
            has_ended: false,
        })
    }

    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// Ends the recording, and makes the graph ready for launches.
    pub fn end(mut self) -> Result<Graph> {
        let primary = self.stream.primary();
        let _bound = primary.bind()?;
        let mut graph = Recorded(null_mut());
        // SAFETY: the stream is captured since `begin`, and one handle is written.
        let result =
            unsafe { sys::cuStreamEndCapture(self.stream.raw(), &mut graph.0) }.to_result();
        self.has_ended = true;
        primary.check(result, "capturing a graph")?;
        let mut raw = null_mut();
        // SAFETY: the graph was just captured, and one handle is written.
        let result = unsafe { sys::cuGraphInstantiateWithFlags(&mut raw, graph.0, 0) }.to_result();
        primary.check(result, "instantiating a graph")?;
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
        if !self.has_ended
            && let Ok(_bound) = primary.bind()
        {
            let mut graph = Recorded(null_mut());
            // SAFETY: the stream is captured since `begin`, and one handle is written.
            unsafe { sys::cuStreamEndCapture(self.stream.raw(), &mut graph.0) };
        }
        primary.end_capture();
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
// SAFETY: a shared reference reads only the handle; a launch takes `&mut self`.
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
        // SAFETY: graph and stream live; the memory that the work uses stays allocated by the
        // contract of this function.
        let launch = || unsafe { sys::cuGraphLaunch(self.raw, stream.raw()) }.to_result();
        self.primary.call("launching a graph", launch)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if let Ok(_bound) = self.primary.bind() {
            // SAFETY: instantiated once and destroyed once. The driver finishes launches first.
            unsafe { sys::cuGraphExecDestroy(self.raw) };
        }
    }
}
