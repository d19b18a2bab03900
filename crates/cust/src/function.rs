//! Kernels, and the shapes of their launches.

use std::marker::PhantomData;

use crate::error::CudaResult;
use crate::sys::{self, CUfunction, CUfunction_attribute};

/// Defines a size in up to three dimensions.
macro_rules! sizes {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub struct $name {
            /// The fastest dimension.
            pub x: u32,
            /// The second dimension.
            pub y: u32,
            /// The slowest dimension.
            pub z: u32,
        }

        impl $name {
            /// Returns a size of one dimension.
            pub fn x(x: u32) -> Self {
                Self { x, y: 1, z: 1 }
            }

            /// Returns a size of two dimensions.
            pub fn xy(x: u32, y: u32) -> Self {
                Self { x, y, z: 1 }
            }

            /// Returns a size of three dimensions.
            pub fn xyz(x: u32, y: u32, z: u32) -> Self {
                Self { x, y, z }
            }

            /// Returns the number of elements as the driver takes it.
            fn product(self) -> i32 {
                let Self { x, y, z } = self;
                let product = x.saturating_mul(y).saturating_mul(z);
                product.try_into().unwrap_or(i32::MAX)
            }
        }

        impl From<u32> for $name {
            fn from(x: u32) -> Self {
                Self::x(x)
            }
        }

        impl From<(u32, u32)> for $name {
            fn from((x, y): (u32, u32)) -> Self {
                Self::xy(x, y)
            }
        }

        impl From<(u32, u32, u32)> for $name {
            fn from((x, y, z): (u32, u32, u32)) -> Self {
                Self::xyz(x, y, z)
            }
        }

        impl From<&Self> for $name {
            fn from(other: &Self) -> Self {
                *other
            }
        }
    )*};
}

sizes! {
    /// The blocks of a grid.
    GridSize
    /// The threads of a block.
    BlockSize
}

attributes! {
    /// A property of a kernel.
    FunctionAttribute: CUfunction_attribute
    /// The most threads of a block, on this device.
    MaxThreadsPerBlock = CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
    /// Bytes of static shared memory.
    SharedMemorySizeBytes = CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
    /// Bytes of constant memory.
    ConstSizeBytes = CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
    /// Bytes of local memory for each thread.
    LocalSizeBytes = CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
    /// The registers of each thread.
    NumRegisters = CU_FUNC_ATTRIBUTE_NUM_REGS,
    /// The architecture of the PTX: 10 · major + minor.
    PtxVersion = CU_FUNC_ATTRIBUTE_PTX_VERSION,
    /// The architecture that the driver has compiled for, as above.
    BinaryVersion = CU_FUNC_ATTRIBUTE_BINARY_VERSION,
    /// Whether the kernel was compiled with ptxas's option `-dlcm=ca`.
    CacheModeCa = CU_FUNC_ATTRIBUTE_CACHE_MODE_CA,
}

/// A kernel of a loaded module.
#[derive(Clone, Copy, Debug)]
pub struct Function<'a> {
    inner: CUfunction,
    module: PhantomData<&'a ()>,
}

// SAFETY: the driver's functions may be used from any thread.
unsafe impl Send for Function<'_> {}
// SAFETY: the driver's calls are thread-safe, so several threads may use one at once.
unsafe impl Sync for Function<'_> {}

impl Function<'_> {
    /// Returns the kernel of a handle.
    ///
    /// # Safety
    ///
    /// The module that [`get_function`](crate::module::Module::get_function) found the kernel in lives as long as
    /// the value.
    pub unsafe fn from_raw(inner: CUfunction) -> Self {
        let module = PhantomData;
        Self { inner, module }
    }

    /// Returns the driver's handle.
    pub fn to_raw(&self) -> CUfunction {
        self.inner
    }

    /// Returns a property of the kernel.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn get_attribute(&self, attribute: FunctionAttribute) -> CudaResult<i32> {
        let mut value = 0;
        // SAFETY: it writes one integer; the function's module lives.
        unsafe { sys::cuFuncGetAttribute(&mut value, attribute.raw(), self.inner) }.to_result()?;
        Ok(value)
    }

    /// Sets the bytes of dynamic shared memory that each block may have at most.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn set_max_dynamic_shared_memory(&self, bytes: u32) -> CudaResult<()> {
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function's module lives.
        unsafe { sys::cuFuncSetAttribute(self.inner, attribute, bytes as i32) }.to_result()
    }

    /// Returns the bytes of dynamic shared memory that each block may have while `blocks` blocks of
    /// `block_size` threads run on a multiprocessor.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn available_dynamic_shared_memory_per_block(
        &self,
        blocks: GridSize,
        block_size: BlockSize,
    ) -> CudaResult<usize> {
        let mut bytes = 0;
        let (blocks, threads) = (blocks.product(), block_size.product());
        // SAFETY: it writes one number; the function's module lives.
        unsafe {
            sys::cuOccupancyAvailableDynamicSMemPerBlock(&mut bytes, self.inner, blocks, threads)
        }
        .to_result()?;
        Ok(bytes)
    }

    /// Returns the number of blocks of `block_size` threads and `dynamic_smem_size` bytes of
    /// dynamic shared memory that a multiprocessor runs at a time.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn max_active_blocks_per_multiprocessor(
        &self,
        block_size: BlockSize,
        dynamic_smem_size: usize,
    ) -> CudaResult<u32> {
        let mut blocks = 0;
        // SAFETY: it writes one integer; the function's module lives.
        let result = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.inner,
                block_size.product(),
                dynamic_smem_size,
            )
        };
        result.to_result()?;
        Ok(blocks as u32)
    }

    /// Returns the least number of blocks that fill the device, and the number of threads in a
    /// block that gives the highest occupancy: at most `block_size_limit`, or any number if that is
    /// 0.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn suggested_launch_configuration(
        &self,
        dynamic_smem_size: usize,
        block_size_limit: BlockSize,
    ) -> CudaResult<(u32, u32)> {
        let (mut grid, mut block) = (0, 0);
        // SAFETY: it writes two integers; the function's module lives.
        let result = unsafe {
            sys::cuOccupancyMaxPotentialBlockSize(
                &mut grid,
                &mut block,
                self.inner,
                None,
                dynamic_smem_size,
                block_size_limit.product(),
            )
        };
        result.to_result()?;
        Ok((grid as u32, block as u32))
    }
}

/// Starts a kernel on a stream, written as in CUDA C++:
/// `kernel<<<grid, block, shared, stream>>>(arguments)`, where `kernel` is a [`Function`] or
/// `module.name`. `grid` and `block` are numbers, pairs or triples, `shared` the bytes of dynamic
/// shared memory.
///
/// A slice of the kernel takes two arguments: its device pointer and its length as a `usize`.
///
/// # Safety
///
/// The arguments have the types of the kernel's parameters, and stay valid until the kernel has
/// finished. See [`Stream::launch`](crate::stream::Stream::launch).
///
/// ```no_run
/// use cust::prelude::*;
///
/// # fn main() -> Result<(), cust::error::CudaError> {
/// # let ptx = "";
/// let _context = cust::quick_init()?;
/// let module = Module::from_ptx(ptx, &[])?;
/// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
/// let values = [1.0f32, 2.0, 3.0].as_dbuf()?;
/// // SAFETY: the kernel takes one slice of f32, which `values` outlives.
/// unsafe {
///     launch!(module.double<<<1, 32, 0, stream>>>(values.as_device_ptr(), values.len()))?;
/// }
/// stream.synchronize()?;
/// println!("{:?}", values.as_host_vec()?);
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! launch {
    ($module:ident . $function:ident <<<$grid:expr, $block:expr, $shared:expr, $stream:ident>>>($($argument:expr),* $(,)?)) => {
        match $module.get_function(stringify!($function)) {
            Ok(function) => $crate::launch!(function<<<$grid, $block, $shared, $stream>>>($($argument),*)),
            Err(error) => Err(error),
        }
    };
    ($function:ident <<<$grid:expr, $block:expr, $shared:expr, $stream:ident>>>($($argument:expr),* $(,)?)) => {
        $stream.launch(&$function, $grid, $block, $shared, &[
            $($crate::function::address(&$argument)),*
        ])
    };
}

/// Returns the address of a kernel's argument. Used by [`launch!`](crate::launch).
#[doc(hidden)]
pub fn address<T: crate::memory::DeviceCopy>(argument: &T) -> *mut std::ffi::c_void {
    std::ptr::from_ref(argument).cast_mut().cast()
}
