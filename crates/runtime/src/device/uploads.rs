//! Arrays that a call uploads without waiting for the device.

use std::ops::Range;

use super::handle::Backend;
use super::{Buffer, Device, Element, copy_bytes, cuda, lock, resize_lazily};
use crate::Result;
use crate::sync::Mutex;

/// Copies the arrays of a call to its device. The host goes on, while a GPU does earlier work of
/// the call and then copies from page-locked memory.
#[doc(hidden)]
pub struct Uploads {
    device: Device,
    /// `None` if copies to the device have finished when they return.
    later: Option<Mutex<cuda::Uploads>>,
}

impl Device {
    /// Returns what uploads the arrays of a call. It locks memory for the first that needs it.
    #[doc(hidden)]
    pub fn uploads(&self) -> Uploads {
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
        let copy = &mut |elements, place: &mut [T]| {
            let (from, to) = (&source[elements], place);
            copy_bytes(bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to));
        };
        match self.start(&mut buffer, copy) {
            Some(started) => started?,
            None => buffer.copy_from(source)?,
        }
        Ok(buffer)
    }

    /// Allocates a buffer of `length` elements. `fill` writes them where the device copies them
    /// from, which saves the copy on the host of [`buffer_from`](Self::buffer_from).
    ///
    /// Calls `fill` for consecutive ranges of the elements, each with a place for the range. `fill`
    /// writes all of the place, whose content is unspecified. If there is no page-locked memory for
    /// the elements, the place is `spare`, whose memory later calls use again.
    pub fn buffer_filled<T: Element>(
        &self,
        length: usize,
        spare: &mut Vec<T>,
        fill: &mut dyn FnMut(Range<usize>, &mut [T]),
    ) -> Result<Buffer<T>> {
        let mut buffer = self.device.alloc(length)?;
        match self.start(&mut buffer, fill) {
            Some(started) => started?,
            None => {
                resize_lazily(spare, length)?;
                fill(0..length, spare);
                buffer.copy_from(spare)?;
            }
        }
        Ok(buffer)
    }

    /// Starts to fill a buffer from page-locked memory, if there is any.
    fn start<T: Element>(
        &self,
        buffer: &mut Buffer<T>,
        fill: &mut dyn FnMut(Range<usize>, &mut [T]),
    ) -> Option<Result<()>> {
        buffer.start_filling(&mut lock(self.later.as_ref()?), fill)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::cpu_and_gpu;

    /// Arrays around the limits of slots and blocks arrive, also from blocks that are used again.
    #[test]
    #[cfg_attr(miri, ignore = "too many bytes for an interpreter")]
    fn arrays_of_all_lengths_arrive() {
        for device in cpu_and_gpu() {
            for _ in 0..2 {
                let uploads = device.uploads();
                let (mut uploaded, mut numbered, mut spare) = (vec![], vec![], vec![]);
                for (seed, kib) in (0..).zip([0, 1, 2, 5000, 7000, 10_000, 16_384, 16_385, 3, 9000])
                {
                    for length in [kib << 8, (kib << 8) + 1] {
                        // Changed after the call, as a caller may do.
                        let mut source = vec![seed; length];
                        uploaded.push((seed, length, uploads.buffer_from(&source).unwrap()));
                        source.fill(u32::MAX);
                        let fill = &mut |elements: Range<usize>, place: &mut [u32]| {
                            assert_eq!(elements.len(), place.len());
                            for (to, number) in place.iter_mut().zip(elements) {
                                *to = seed + number as u32;
                            }
                        };
                        let filled = uploads.buffer_filled(length, &mut spare, fill);
                        numbered.push((seed, length, filled.unwrap()));
                    }
                }
                for (seed, length, buffer) in uploaded {
                    let found = buffer.to_vec().unwrap();
                    assert!(
                        found == vec![seed; length],
                        "{length} times {seed} on {device}"
                    );
                }
                for (seed, length, buffer) in numbered {
                    let found = buffer.to_vec().unwrap();
                    let is_right = found.into_iter().eq((seed..).take(length));
                    assert!(is_right, "{length} numbers from {seed} on {device}");
                }
            }
        }
    }
}
