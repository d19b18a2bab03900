//! Arrays that a call uploads without waiting for the device.

use super::handle::Backend;
use super::{Buffer, Device, Element, cuda, lock};
use crate::Result;
use crate::sync::Mutex;

/// Copies the arrays of a call to its device. The host goes on, while a GPU does earlier work of
/// the call and then copies from page-locked memory.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Arrays around the limits of slots and blocks arrive, also from blocks that are used again.
    #[test]
    #[cfg_attr(miri, ignore = "too many bytes for an interpreter")]
    fn arrays_of_all_lengths_arrive() {
        let gpu = Device::cuda(0);
        assert!(gpu.is_ok() || std::env::var_os("GRIDSTRIDE_REQUIRE_CUDA").is_none());
        for device in [Ok(Device::cpu()), gpu].into_iter().flatten() {
            for _ in 0..2 {
                let uploads = device.uploads();
                let mut uploaded = Vec::new();
                for (seed, kib) in (0..).zip([0, 1, 2, 5000, 7000, 10_000, 16_384, 16_385, 3, 9000])
                {
                    for length in [kib << 8, (kib << 8) + 1] {
                        // Changed after the call, as a caller may do.
                        let mut source = vec![seed; length];
                        uploaded.push((seed, length, uploads.buffer_from(&source).unwrap()));
                        source.fill(u32::MAX);
                    }
                }
                for (seed, length, buffer) in uploaded {
                    let found = buffer.to_vec().unwrap();
                    assert!(
                        found == vec![seed; length],
                        "{length} times {seed} on {device}"
                    );
                }
            }
        }
    }
}
