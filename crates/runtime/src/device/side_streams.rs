//! Several streams for the work of one call.

use super::capture;
use super::handle::Backend;
use super::{Device, Element};
use crate::Result;

/// Streams for the work of one call, beside the stream of the call's handle.
///
/// Dropping them waits for their work and for that of the handle's stream. Declare them after the
/// buffers of the work, so that an error or a panic frees the buffers, and returns borrowed memory
/// to the caller, only after the work.
#[doc(hidden)]
pub struct SideStreams {
    device: Device,
    handles: Vec<Device>,
    /// Whether the host has waited for all work.
    is_idle: bool,
}

impl Device {
    /// Returns no streams: see [`SideStreams::open`].
    #[doc(hidden)]
    pub fn side_streams(&self) -> SideStreams {
        SideStreams {
            device: self.clone(),
            handles: vec![],
            is_idle: false,
        }
    }

    /// Whether copies from and to these elements run beside kernels of other streams: on a GPU, if
    /// they are page-locked, and unless this thread records the handle's work in a graph.
    #[doc(hidden)]
    pub fn copies_beside_kernels<T: Element>(&self, elements: &[T]) -> bool {
        match &self.backend {
            Backend::Cpu | Backend::Simulator(_) => false,
            Backend::Cuda(gpu) => {
                !capture::records(self) && gpu.is_locked(bytemuck::cast_slice(elements))
            }
        }
    }
}

impl SideStreams {
    /// Adds `count` streams whose work begins after the present work of the handle's stream, such as
    /// the allocation of buffers. On the CPU and in the simulator, whose calls finish before they
    /// return, they are the handle's stream.
    pub fn open(&mut self, count: usize) -> Result<()> {
        for _ in 0..count {
            let handle = match &self.device.backend {
                Backend::Cpu | Backend::Simulator(_) => self.device.clone(),
                Backend::Cuda(gpu) => {
                    let side = gpu.on_side_stream()?;
                    side.stream().wait_for(gpu.stream())?;
                    self.device.with_backend(Backend::Cuda(side))
                }
            };
            self.handles.push(handle);
        }
        Ok(())
    }

    /// Returns a handle on the stream that was opened after `index` others.
    pub fn on(&self, index: usize) -> &Device {
        &self.handles[index]
    }

    /// Waits for the work of all streams and of the handle's, which get no more.
    pub fn finish(&mut self) -> Result<()> {
        let all = self.handles.iter().chain([&self.device]);
        let results: Vec<_> = all.map(Device::synchronize).collect();
        results.into_iter().collect::<Result<()>>()?;
        self.is_idle = true;
        Ok(())
    }
}

impl Drop for SideStreams {
    fn drop(&mut self) {
        if !self.is_idle {
            // If waiting fails, the context is lost, and its work with it.
            let _ = self.finish();
        }
        for handle in &self.handles {
            if let Backend::Cuda(gpu) = &handle.backend {
                gpu.keep_side_stream();
            }
        }
    }
}
