//! Factors laid out anew, where that is faster than to read them as they are, or where no kernel does.

use cuda_std::DeviceSliceMut;
use cuda_std::host::Kernel;
use matmul_kernels::{Factor, PACK_THREADS, Packing, pack_blocks};

use super::factor::recast;
use super::kernels::HasKernels;
use super::kernels::MODULE;
use crate::device::{Buffer, Element, LaunchConfig};
use crate::matmul::element::Scalar;
use crate::{Device, Result};

/// How many matrices a factor has, and their sizes: outer indices and k.
pub(super) type FactorSizes = (usize, usize, usize);

/// What the lengths of packed rows are multiples of: 16 bytes of every type.
const ROW_MULTIPLE: usize = 8;

/// A factor whose k are neighbours, and whose rows begin at multiples of 16 bytes.
pub struct Packed<U: Element> {
    buffer: Buffer<U>,
    outer: usize,
    k_padded: usize,
    is_alone: bool,
}

impl<U: Element> Packed<U> {
    /// A copy of the matrices that a factor has, with zeros behind each row. The kernel takes the elements as ones of
    /// `KT` and writes ones of `KU`, types of the same sizes and alignments.
    ///
    /// # Safety
    /// They are in the device's memory.
    unsafe fn new<T: Element, KT: Element, KU: Element>(
        device: &Device,
        kernel: &'static Kernel<(Packing<KT, KU>,)>,
        from: Factor<T>,
        (batch, outer, k): FactorSizes,
    ) -> Result<Packed<U>> {
        const {
            assert!(size_of::<U>() == size_of::<KU>());
        }
        let is_alone = from.stride_batch == 0;
        let batch = if is_alone { 1 } else { batch };
        let k_padded = k.next_multiple_of(ROW_MULTIPLE);
        let mut buffer = device.alloc::<U>(batch * outer * k_padded)?;
        let to = buffer.slice_mut();
        // SAFETY: the same memory, as a type of the same size that takes every pattern of bits.
        let to = unsafe { DeviceSliceMut::from_raw_parts(to.as_mut_ptr().cast(), to.len()) };
        let task = Packing {
            from: recast(from),
            to,
            outer: outer as u32,
            k: k as u32,
            k_padded: k_padded as u32,
        };
        let blocks = pack_blocks(outer as u32, k_padded as u32);
        let config = LaunchConfig::new((blocks, 1, batch as u32), PACK_THREADS);
        // SAFETY: a block for each square; the copy has room, and the rest is the caller's.
        unsafe { device.launch(MODULE, kernel, config, (task,))? };
        Ok(Packed {
            buffer,
            outer,
            k_padded,
            is_alone,
        })
    }

    /// The copy as a factor.
    pub(super) fn factor(&self) -> Factor<U> {
        let matrix = self.outer * self.k_padded;
        Factor {
            elements: self.buffer.slice(),
            start: 0,
            stride: self.k_padded as i64,
            stride_k: 1,
            stride_batch: if self.is_alone { 0 } else { matrix as i64 },
        }
    }
}

/// Copies a factor to rows along k, if there is a kernel for that.
///
/// # Safety
/// The matrices are in the device's memory.
pub(super) unsafe fn pack<T: HasKernels>(
    device: &Device,
    from: Factor<T::Bits>,
    sizes: FactorSizes,
) -> Result<Option<Packed<T::Bits>>> {
    let kernel = T::KERNELS.pack;
    kernel
        // SAFETY: passed on to the caller.
        .map(|kernel| unsafe { Packed::new(device, kernel, from, sizes) })
        .transpose()
}

/// Copies a factor in the type of its sums, if that is another type.
///
/// # Safety
/// The matrices are in the device's memory.
pub(super) unsafe fn widen<T: HasKernels>(
    device: &Device,
    from: Factor<T::Bits>,
    sizes: FactorSizes,
) -> Result<Option<Packed<<T as Scalar>::Sum>>> {
    let kernel = T::KERNELS.widen;
    kernel
        // SAFETY: passed on to the caller.
        .map(|kernel| unsafe { Packed::new(device, kernel, from, sizes) })
        .transpose()
}
