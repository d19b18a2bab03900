//! The capture of a graph, which a thread does at a time.
//!
//! While a thread captures the work of a handle, all that the thread starts on the handle's stream
//! is recorded: by the driver on a stream of its own, or for the simulator in a list. Other threads
//! and other streams do not notice. Memory is allocated and freed at once.

use super::cuda::{self, Gpu};
use super::gate::Working;
use super::handle::Backend;
use super::memory::Memory;
use super::present::{self, is_present};
use super::{Device, allocations};
use crate::{Error, Result};
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

pub const CAPTURE: &str = "capture of a graph";

/// Work that is recorded, and what it uses.
pub struct Capture {
    /// The handle whose work is recorded.
    device: Device,
    pub recorder: Recorder,
    pub kept: Kept,
    /// The first error of work that cannot be recorded. The capture then fails even if its work
    /// goes on: the record has a gap.
    pub refused: Option<Error>,
}

/// The recorder of a capture.
pub enum Recorder {
    Simulator(Vec<RecordedWork>),
    Cuda(cuda::Recording),
}

/// Memory and streams that recorded work uses.
#[derive(Default)]
pub struct Kept {
    /// By address.
    memory: HashMap<usize, Arc<Memory>>,
    /// Copies of the host's bytes, which are uploaded again and again.
    sources: Vec<Arc<dyn Any + Send + Sync>>,
    /// Handles whose streams the work has to be ordered with.
    pub others: Vec<Device>,
}

/// Work of the simulator.
pub struct RecordedWork(Box<dyn Fn() -> Result<()>>);

// SAFETY: a step has numbers, and addresses of memory that its graph keeps. Kernels and copies run
// on any thread.
unsafe impl Send for RecordedWork {}
// SAFETY: nothing runs a step through a shared reference: graphs run their steps by `&mut self`.
unsafe impl Sync for RecordedWork {}

impl Kept {
    pub fn has_sources(&self) -> bool {
        !self.sources.is_empty()
    }
}

impl RecordedWork {
    pub fn run(&self) -> Result<()> {
        (self.0)()
    }
}

/// Ends this thread's capture when it is dropped.
pub struct Capturing(());

impl Capturing {
    /// Makes this thread record the work of `device`.
    pub fn begin(device: &Device) -> Result<Capturing> {
        if is_present() {
            let message = "this thread already captures a graph: end that capture first";
            return Err(Error::input(CAPTURE, message));
        }
        let recorder = match &device.backend {
            Backend::Cpu => return Err(no_graphs(device)),
            Backend::Simulator(_) => Recorder::Simulator(vec![]),
            Backend::Cuda(gpu) => Recorder::Cuda(gpu.record()?),
        };
        let capture = Capture {
            device: device.clone(),
            recorder,
            kept: Kept::default(),
            refused: None,
        };
        present::begin(capture);
        Ok(Capturing(()))
    }

    /// Ends the capture, and returns what was recorded.
    pub fn end(self) -> Capture {
        let capture = present::end().and_then(|capture| capture.downcast().ok());
        *capture.expect("a capture lasts until this guard is gone")
    }
}

/// The error for devices without graphs.
fn no_graphs(device: &Device) -> Error {
    Error::Unavailable {
        device: device.to_string(),
        reason: "the CPU records no graphs: make the calls themselves, or use \
                 Device::simulator() or a GPU"
            .into(),
    }
}

impl Drop for Capturing {
    fn drop(&mut self) {
        drop(present::end());
    }
}

/// Calls `f` with the present capture, if there is one.
fn with_present<R>(f: impl FnOnce(&mut Capture) -> R) -> Option<R> {
    present::with(|capture| capture.downcast_mut().map(f)).flatten()
}

/// Calls `f` with the present capture if it records the work of `device`.
fn recording<R>(device: &Device, f: impl FnOnce(&mut Capture) -> R) -> Option<R> {
    let result = with_present(|capture| capture.device.shares_stream(device).then(|| f(capture)));
    result.flatten()
}

/// Whether this thread records the work of `device`.
pub fn records(device: &Device) -> bool {
    recording(device, |_| ()).is_some()
}

/// Fails if this thread records the work of `device`: the operation waits for work, or its effects
/// are not the stream's alone.
#[doc(hidden)]
pub fn refuse(device: &Device, operation: &str) -> Result<()> {
    let error = || {
        let message = format!(
            "{operation} cannot be recorded, since recorded work runs later: call this before or \
             after the capture"
        );
        Error::input(CAPTURE, message)
    };
    let refused = recording(device, |capture| {
        capture.refused.get_or_insert_with(error);
    });
    refused.map_or(Ok(()), |()| Err(error()))
}

/// Calls `work` with the handle that is to do the work of `gpu`: the handle itself, or the one by
/// which this thread records its work.
pub fn on<R>(gpu: &Gpu, work: impl FnOnce(&Gpu) -> R) -> R {
    let recorder = with_present(
        |capture| match (&capture.device.backend, &capture.recorder) {
            (Backend::Cuda(captured), Recorder::Cuda(recording)) => captured
                .shares_stream(gpu)
                .then(|| gpu.recorded_by(recording)),
            _ => None,
        },
    );
    work(recorder.flatten().as_ref().unwrap_or(gpu))
}

/// Runs work of the host's memory, or records it if this thread records the work of `device`.
pub fn run(device: &Device, work: impl Fn() -> Result<()> + 'static) -> Result<()> {
    if records(device) {
        record(device, RecordedWork(Box::new(work)));
        return Ok(());
    }
    apart_from_graphs(device, work)
}

/// Adds a step to the present capture.
fn record(device: &Device, step: RecordedWork) {
    recording(device, |capture| {
        if let Recorder::Simulator(steps) = &mut capture.recorder {
            steps.push(step);
        }
    });
}

/// Runs work of the host's memory while no other thread launches a graph of the same simulator.
pub fn apart_from_graphs<R>(device: &Device, work: impl FnOnce() -> R) -> R {
    let _working = working(device);
    work()
}

/// Keeps other threads from launching a graph of the same simulator.
fn working(device: &Device) -> Option<Working<'_>> {
    match &device.backend {
        Backend::Simulator(simulator) => Some(simulator.gate().work()),
        Backend::Cpu | Backend::Cuda(_) => None,
    }
}

/// Keeps memory until the present capture's graph is dropped.
pub fn keep_memory(memory: &Arc<Memory>) {
    with_present(|capture| {
        let address = Arc::as_ptr(memory) as usize;
        let kept = capture.kept.memory.entry(address);
        kept.or_insert_with(|| memory.clone());
    });
}

/// Keeps the buffers at an address until the present capture's graph is dropped. Slices of buffers
/// that were made before the capture do not keep them.
pub fn keep_address(address: usize) {
    for memory in allocations::memory_at(address) {
        if let Ok(memory) = memory.downcast() {
            keep_memory(&memory);
        }
    }
}

/// Keeps a copy of the host's bytes until the present capture's graph is dropped.
pub fn keep(source: Arc<dyn Any + Send + Sync>) {
    with_present(|capture| capture.kept.sources.push(source));
}

/// Orders all launches of the graph with the work of `others`; `false` if this thread does not
/// record the work of `device`.
pub fn order_with(device: &Device, others: &[&Device]) -> bool {
    let order = |capture: &mut Capture| {
        for other in others {
            let known = |known: &Device| known.shares_stream(other);
            if !capture.device.shares_stream(other) && !capture.kept.others.iter().any(known) {
                capture.kept.others.push((*other).clone());
            }
        }
    };
    recording(device, order).is_some()
}
