//! Arrays that a call uploads without waiting for the device.

use super::handle::Backend;
use super::{Buffer, Device, Element, cuda, lock};
use crate::Result;
use crate::sync::Mutex;

/// Uploads arrays of a call to its device, while the device does earlier work of the call: on a GPU
/// through page-locked memory.
pub(crate) struct Uploads {
    device: Device,
    /// `None` if copies to the device have finished when they return.
    later: Option<Mutex<cuda::Uploads>>,
}

impl Device {
    /// Returns what uploads the arrays of a call. It locks memory for the first that needs it.
    pub(crate) fn uploads(&self) -> Uploads {
        Uploads {
            device: self.clone(),
            later: match &self.backend {
                Backend::Cpu | Backend::Simulator(_) => None,
                Backend::Cuda(gpu) => Some(Mutex::new(cuda::Uploads::new(gpu))),
            },
        }
    }
}

impl Uploads {
    /// Allocates a buffer and copies `source` into it. A GPU may do this later, in the order of the
    /// stream.
    pub fn buffer_from<T: Element>(&self, source: &[T]) -> Result<Buffer<T>> {
        let mut buffer = self.device.alloc(source.len())?;
        match &self.later {
            None => buffer.copy_from(source)?,
            Some(uploads) => buffer.copy_from_later(source, &mut lock(uploads))?,
        }
        Ok(buffer)
    }
}
