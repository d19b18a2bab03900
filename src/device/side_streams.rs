//! Several streams for the work of one call.

use super::capture;
use super::handle::Backend;
use super::{Device, Element};
use crate::Result;

/// Streams for the work of one call, beside the stream of the call's handle.
///
/// Dropping them waits for their work. Declare them after the buffers of the work, so that an error
/// or a panic frees the buffers, and returns borrowed memory to the caller, only after the work.
pub(crate) struct SideStreams {
    handles: Vec<Device>,
}

impl Device {
    /// Returns `count` streams whose work begins after the present work of this handle's stream, such
    /// as the allocation of buffers. On the CPU and in the simulator, whose calls finish before they
    /// return, they are the handle's stream.
    pub(crate) fn side_streams(&self, count: usize) -> Result<SideStreams> {
        let mut streams = SideStreams { handles: vec![] };
        for _ in 0..count {
            streams.handles.push(match &self.backend {
                Backend::Cpu | Backend::Simulator(_) => self.clone(),
                Backend::Cuda(gpu) => {
                    let side = gpu.on_side_stream()?;
                    side.stream().wait_for(gpu.stream())?;
                    self.with_backend(Backend::Cuda(side))
                }
            });
        }
        Ok(streams)
    }

    /// Whether copies from and to these elements run beside kernels of other streams: on a GPU, if
    /// they are page-locked, and unless this thread records the handle's work in a graph.
    pub(crate) fn copies_beside_kernels<T: Element>(&self, elements: &[T]) -> bool {
        match &self.backend {
            Backend::Cpu | Backend::Simulator(_) => false,
            Backend::Cuda(gpu) => {
                !capture::records(self) && gpu.is_locked(bytemuck::cast_slice(elements))
            }
        }
    }
}

impl SideStreams {
    /// Returns a handle on stream `index`.
    pub fn on(&self, index: usize) -> &Device {
        &self.handles[index]
    }

    /// Waits for the work of all streams.
    pub fn synchronize(&self) -> Result<()> {
        let results: Vec<_> = self.handles.iter().map(Device::synchronize).collect();
        results.into_iter().collect()
    }
}

impl Drop for SideStreams {
    fn drop(&mut self) {
        for handle in &self.handles {
            if let Backend::Cuda(gpu) = &handle.backend {
                // If waiting fails, the context is lost, and its work with it.
                let _ = gpu.stream().synchronize();
                gpu.keep_side_stream();
            }
        }
    }
}
