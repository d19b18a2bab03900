//! The description of a kernel by which the host launches it.

#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::tensor::TensorMap;

/// How a kernel reads a factor: what it asks of the strides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Pattern {
    /// Element by element, with any strides: neighbouring threads take what the strides say is
    /// closer.
    Elements = ELEMENTS,
    /// Element by element, of which the next k are neighbours in memory.
    ElementsOfK = ELEMENTS_OF_K,
    /// Pieces of 16 bytes of k.
    PiecesOfK = PIECES_OF_K,
    /// Pieces of 16 bytes of outer indices.
    PiecesAcross = PIECES_ACROSS,
}

/// [`Pattern::Elements`] as a parameter of a generic function; the others alike.
pub const ELEMENTS: u32 = 0;
/// [`Pattern::ElementsOfK`].
pub const ELEMENTS_OF_K: u32 = 1;
/// [`Pattern::PiecesOfK`].
pub const PIECES_OF_K: u32 = 2;
/// [`Pattern::PiecesAcross`].
pub const PIECES_ACROSS: u32 = 3;

/// A kernel that computes tiles of C, and how it is launched.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub enum Launch<T: 'static, S: 'static> {
    /// A block for each tile, part of k and matrix.
    Block(&'static cuda_std::host::Kernel<(crate::Product<T, S>,)>),
    /// The same with a kernel that writes elements of 16 bits, the type of the factors.
    Rounding {
        /// Writes sums.
        sums: &'static cuda_std::host::Kernel<(crate::Product<T, S>,)>,
        /// Writes rounded sums, of all k.
        rounded: &'static cuda_std::host::Kernel<(crate::Product<T, S, u16>,)>,
    },
    /// As many blocks as run at once, for all tiles, parts of k and matrices.
    Persistent {
        /// Writes sums.
        sums: PersistentKernel<S, S>,
        /// Writes elements of 16 bits, the type of the factors, if they have 16 bits.
        rounded: Option<PersistentKernel<u16, S>>,
    },
}

#[cfg(not(target_arch = "nvptx64"))]
impl<T: cuda_std::DeviceParam, S: cuda_std::DeviceParam> Launch<T, S> {
    /// The name of the kernel that writes sums.
    pub fn name(&self) -> &'static str {
        match self {
            Launch::Block(kernel) | Launch::Rounding { sums: kernel, .. } => kernel.name(),
            Launch::Persistent { sums, .. } => sums.name(),
        }
    }
}

/// A kernel of [`Launch::Persistent`] for a C of elements `C`: its arguments are A, B and the product.
#[cfg(not(target_arch = "nvptx64"))]
pub type PersistentKernel<C, S> =
    &'static cuda_std::host::Kernel<(TensorMap, TensorMap, crate::Persistent<C, S>)>;

/// A kernel that computes tiles of C.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Debug)]
pub struct Tile<T: 'static, S: 'static> {
    /// The kernel.
    pub kernel: Launch<T, S>,
    /// How it reads A.
    pub a: Pattern,
    /// How it reads B.
    pub b: Pattern,
    /// Rows of a tile of C.
    pub rows: u32,
    /// Columns of a tile of C.
    pub columns: u32,
    /// The elements of k that a step takes.
    pub depth: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: u32,
}
