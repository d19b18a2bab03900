//! The search among few boxes: a launch, and a wait for its result.

use box_overlap_kernels::{self as kernels, FEW_THREADS, Sets};
use gridstride_runtime::Result;
use gridstride_runtime::device::{Buffer, DeviceView, LaunchConfig};

use super::counting::{Counted, Rows, require_boxes};
use super::kernels::HasKernels;
use crate::MODULE;
use crate::input::DeviceProblem;
use crate::workspace::Least;

/// The pairs of all rows, or only room for them.
pub(super) struct Few {
    indices: Buffer<u32>,
}

impl Few {
    /// Finds all pairs, and writes them if there are no more than usual.
    pub fn count<T: HasKernels>(
        problem: &DeviceProblem<T>,
        sets: Sets<T>,
        counts: &mut Buffer<u32>,
    ) -> Result<(Few, Counted<T>)> {
        let device = problem.device();
        let Least {
            mut offsets,
            mut indices,
            mut status,
        } = Least::allocate(device, sets.rows1 as usize, sets.rows2 as usize)?;
        let arguments = kernels::Few {
            sets,
            counts: counts.slice_mut(),
            offsets: offsets.slice_mut(),
            indices: indices.slice_mut(),
            status: status.slice_mut(),
        };
        let config = LaunchConfig::new(1, FEW_THREADS);
        // SAFETY: the sets are as small as `tuning::are_few` says, and the results have an element
        // for each row, and one for the end. The buffers are on this device and freed after the
        // kernel has run.
        unsafe { device.launch(&MODULE, T::KERNELS.few, config, (arguments,))? };
        let [pairs, faults @ ..] = status.first::<{ kernels::FEW_STATUS }>()?;
        // 0 stands for none.
        require_boxes(
            problem,
            faults.map(|row| (row != 0).then_some(!row as usize)),
        )?;
        let counted = Counted {
            device: device.clone(),
            sets,
            counters: status,
            rows: Rows { offsets, pairs },
        };
        Ok((Few { indices }, counted))
    }

    /// Writes the pairs if there was no room for them.
    fn complete<T: HasKernels>(&mut self, search: &mut Counted<T>) -> Result<()> {
        let (device, pairs) = (&search.device, search.rows.pairs as usize);
        if pairs <= self.indices.len() {
            return Ok(());
        }
        self.indices = device.alloc(pairs)?;
        let arguments = kernels::Few {
            sets: search.sets,
            counts: device.alloc(0)?.slice_mut(),
            offsets: device.alloc(0)?.slice_mut(),
            indices: self.indices.slice_mut(),
            status: search.counters.slice_mut(),
        };
        let config = LaunchConfig::new(1, FEW_THREADS);
        // SAFETY: the sets are as small as `tuning::are_few` says, `indices` has room for all
        // pairs, and the kernel leaves out empty counts and offsets. The boxes are still allocated,
        // and the buffers freed after the kernel has run.
        unsafe { device.launch(&MODULE, T::KERNELS.few, config, (arguments,)) }
    }

    /// Returns the indices of all pairs.
    pub fn all<T: HasKernels>(mut self, search: &mut Counted<T>) -> Result<Buffer<u32>> {
        self.complete(search)?;
        Ok(self.indices.truncated(search.rows.pairs as usize))
    }

    /// Returns the indices of the pairs from number `first` on.
    pub fn download<T: HasKernels>(
        &mut self,
        search: &mut Counted<T>,
        first: usize,
        pairs: usize,
    ) -> Result<Vec<u32>> {
        self.complete(search)?;
        let part = DeviceView::part(&self.indices, first, pairs).download()?;
        Ok(part.into_raw_vec_and_offset().0)
    }
}
