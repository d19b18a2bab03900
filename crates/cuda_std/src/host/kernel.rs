//! The typed description of a kernel, and the shape of a launch.

use crate::DeviceParam;
use core::ffi::c_void;
use core::fmt;

/// A size or an index in up to three dimensions; `x` varies fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim3 {
    /// The fastest dimension.
    pub x: u32,
    /// The second dimension, 1 for a one-dimensional size.
    pub y: u32,
    /// The slowest dimension, 1 for a one- or two-dimensional size.
    pub z: u32,
}

impl Dim3 {
    /// The product of the three.
    pub fn count(self) -> u64 {
        // Saturating: a wrong shape must be reported, not wrapped into a right one.
        (u64::from(self.x) * u64::from(self.y)).saturating_mul(u64::from(self.z))
    }
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Self { x, y: 1, z: 1 }
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Self {
        Self { x, y, z: 1 }
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self { x, y, z }
    }
}

impl fmt::Display for Dim3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {}, {})", self.x, self.y, self.z)
    }
}

/// The shape of a launch: plain data, checked when it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks in the grid.
    pub grid: Dim3,
    /// Threads in a block.
    pub block: Dim3,
    /// Bytes of dynamic shared memory for each block.
    pub shared_bytes: u32,
}

impl LaunchConfig {
    /// A launch of `grid` blocks of `block` threads without dynamic shared memory.
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        Self {
            grid: grid.into(),
            block: block.into(),
            shared_bytes: 0,
        }
    }

    /// The same with `bytes` of dynamic shared memory for each block.
    pub fn with_shared_bytes(self, bytes: u32) -> Self {
        Self {
            shared_bytes: bytes,
            ..self
        }
    }

    /// Blocks of `block` threads that cover `len` items, one a thread, at least one block.
    ///
    /// Only for one dimension; a grid ends at 2³¹ − 1 blocks, and kernels that iterate with
    /// [`grid_stride`](crate::thread::grid_stride) are right even then.
    pub fn for_len(len: usize, block: u32) -> Self {
        let blocks = len
            .div_ceil(block.max(1) as usize)
            .clamp(1, i32::MAX as usize);
        Self::new(blocks as u32, block)
    }
}

/// The bound of the blocks that a kernel can run in, from `#[kernel(block = …)]`,
/// `#[kernel(block = …, cluster = …)]` or `#[kernel(max_block = …)]`. The same bound stands in the PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockBound {
    /// Any block that the device can run.
    Any,
    /// Exactly this shape.
    Exactly(Dim3),
    /// At most this many threads.
    AtMost(u32),
    /// Exactly this shape, in clusters of as many blocks that follow each other along x.
    Cluster {
        /// The shape of a block.
        block: Dim3,
        /// Blocks of a cluster.
        blocks: u32,
    },
}

/// A kernel: its name in the PTX, its package, its bound on blocks, and the same source compiled for
/// the CPU.
///
/// `#[kernel]` makes one for each kernel function, under the function's name. `A` is the tuple of
/// the parameter types.
pub struct Kernel<A> {
    name: &'static str,
    /// `None` if the crate was compiled without cargo.
    package: Option<&'static str>,
    bound: BlockBound,
    /// The parameters that are slices in Rust, a bit each: two parameters of the entry.
    slices: u32,
    /// Runs a thread on the CPU. Builds without the simulator have none, so that no machine code is
    /// generated for the sources of kernels.
    thread: Option<unsafe fn(A)>,
}

impl BlockBound {
    /// The blocks of a cluster, 1 for kernels without clusters.
    pub fn cluster(self) -> u32 {
        match self {
            BlockBound::Cluster { blocks, .. } => blocks,
            _ => 1,
        }
    }
}

impl<A> Kernel<A> {
    /// Used by `#[kernel]`, which checks that every parameter is `Copy`.
    ///
    /// # Panics
    /// At compile time, if the parameters are larger than any GPU takes.
    #[doc(hidden)]
    pub const fn new(
        name: &'static str,
        package: Option<&'static str>,
        bound: BlockBound,
        slices: u32,
        thread: unsafe fn(A),
    ) -> Self {
        assert!(
            size_of::<A>() <= MAX_PARAMETER_BYTES,
            "the parameters of a kernel have at most 32764 bytes together: pass a pointer to a \
             value in a buffer"
        );
        Self {
            name,
            package,
            bound,
            slices,
            thread: if cfg!(feature = "simulator") {
                Some(thread)
            } else {
                None
            },
        }
    }
}

impl<A: Copy> Kernel<A> {
    /// The entry's name in the PTX.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The package of the kernel's crate, whose PTX has the entry; `None` if the crate was compiled
    /// without cargo.
    pub fn package(&self) -> Option<&'static str> {
        self.package
    }

    /// The bound on the shape of its blocks.
    pub fn bound(&self) -> BlockBound {
        self.bound
    }

    /// Runs the kernel as one thread, on the lane that the caller has [`enter`](super::enter)ed.
    ///
    /// # Panics
    /// Without the feature `simulator`, which the crate simt enables.
    ///
    /// # Safety
    /// The kernel's own contract: pointers valid, lengths right, the block's shape as it expects.
    pub unsafe fn run_thread(&self, args: A) {
        let thread = self.thread.expect(
            "cuda_std has its feature `simulator`, without which kernels run on GPUs alone",
        );
        // SAFETY: pointers, lengths and the block's shape are as the kernel expects.
        unsafe { thread(args) }
    }

    /// Calls `f` with the address of each parameter of the entry, in order: the form that the
    /// driver takes. A slice is two parameters, the address of its elements and their number.
    pub fn with_addresses<Output>(
        &self,
        args: A,
        f: impl FnOnce(&mut [*mut c_void]) -> Output,
    ) -> Output
    where
        A: KernelArgs,
    {
        args.with_addresses(|arguments| {
            let (mut parameters, count) = entry_parameters(arguments, self.slices);
            f(&mut parameters[..count])
        })
    }
}

/// Returns the addresses of the entry's parameters, and their number, for those of a launch's
/// arguments.
fn entry_parameters(
    arguments: &[*mut c_void],
    slices: u32,
) -> ([*mut c_void; 2 * MAX_PARAMETERS], usize) {
    let mut parameters = [core::ptr::null_mut(); 2 * MAX_PARAMETERS];
    let mut count = 0;
    for (i, &argument) in arguments.iter().enumerate() {
        parameters[count] = argument;
        count += 1;
        if slices >> i & 1 == 1 {
            // The length lies behind the address.
            parameters[count] = argument.wrapping_byte_add(size_of::<usize>());
            count += 1;
        }
    }
    (parameters, count)
}

/// The arguments of a generic kernel for which there is a kernel: those in the list of `#[kernel(instances(…))]`.
///
/// A generic function that launches `reduce::<T, N>()` has the condition `reduce<T, N>: Instance`.
#[diagnostic::on_unimplemented(
    message = "this generic kernel has no instance for these arguments",
    note = "add the arguments to its `#[kernel(instances(…))]`"
)]
pub trait Instance {
    /// The tuple of the kernel's parameter types.
    type Arguments: Copy + 'static;

    /// The kernel.
    fn kernel() -> &'static Kernel<Self::Arguments>;
}

impl<A> Clone for Kernel<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Kernel<A> {}

impl<A> fmt::Debug for Kernel<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel")
            .field("name", &self.name)
            .field("package", &self.package)
            .field("bound", &self.bound)
            .finish_non_exhaustive()
    }
}

/// Bytes of parameters from PTX 8.1 on. Before, it is 4352, which cuda_builder checks: it knows the
/// version. (PTX ISA, "Kernel Function Parameter Attributes".)
const MAX_PARAMETER_BYTES: usize = 32_764;

/// The most parameters of a kernel.
const MAX_PARAMETERS: usize = 24;

/// A tuple of kernel arguments.
pub trait KernelArgs: Copy + 'static {
    /// Calls `f` with the address of each argument, in order.
    fn with_addresses<Output>(self, f: impl FnOnce(&mut [*mut c_void]) -> Output) -> Output;

    /// Calls `visit` with the addresses of the device's memory that are in the arguments, as far as
    /// their types tell them from numbers.
    #[doc(hidden)]
    fn visit_memory(&self, visit: &mut dyn FnMut(usize));
}

macro_rules! args {
    ($($name:ident)*) => {
        impl<$($name: DeviceParam),*> KernelArgs for ($($name,)*) {
            #[allow(non_snake_case, unused_mut)]
            fn with_addresses<Output>(self, f: impl FnOnce(&mut [*mut c_void]) -> Output) -> Output {
                // The driver would take the address of what follows for such a parameter's.
                $(const { assert!(size_of::<$name>() > 0, "a kernel's parameter has a size") };)*
                let ($(mut $name,)*) = self;
                f(&mut [$((&raw mut $name).cast::<c_void>()),*])
            }

            #[allow(non_snake_case, unused_variables)]
            fn visit_memory(&self, visit: &mut dyn FnMut(usize)) {
                let ($($name,)*) = self;
                $($name.visit_addresses(visit);)*
            }
        }
    };
}

macro_rules! args_up_to {
    ($($name:ident)*) => { args_up_to!(@ [] $($name)*); };
    (@ [$($done:ident)*] $next:ident $($rest:ident)*) => {
        args!($($done)*);
        args_up_to!(@ [$($done)* $next] $($rest)*);
    };
    (@ [$($done:ident)*]) => { args!($($done)*); };
}
args_up_to!(A B C D E F G H I J K L M N O P Q R S T U V W X);
