//! Products on GPUs and in the simulator.

mod cast;
mod factors;
mod kernels;
mod pack;
mod skinny;
mod tuning;

use cuda_std::DeviceSliceMut;
use matmul_kernels::{Factor, Pattern, Product, Tile};
use ndarray::{ArrayView3, ArrayViewMut3};
use num_traits::{One, Zero};

pub(super) use self::cast::cast;
use self::factors::{OnDevice, Side, factor, fits};
pub use self::kernels::HasKernels;
use self::kernels::{HasSumKernels, Tiles, add_parts};
use self::pack::Packed;
use self::tuning::{Cut, TileSizes};
use super::shapes::{DeviceMatrices, Sizes};
use super::{Instructions, MATMUL, MatMul, Precision};
use crate::device::{Buffer, LaunchConfig, assign};
use crate::{Device, Error, Result, modules};

const MODULE: &crate::device::Module = &modules::MATMUL;

/// Matrices of a batch that a launch takes at most: below the limit of a grid, and so many that the next one's C begins
/// at a multiple of 16 bytes.
const MAX_BATCH: usize = 65_532;
const _: () = assert!(MAX_BATCH.is_multiple_of(4));

/// The product of matrices on the host: all of `whole`, or a part of it, by the kernel for the whole.
pub(super) fn on_host<T: HasKernels<Sum: HasSumKernels>>(
    with: MatMul,
    device: &Device,
    whole: Sizes,
    alpha: T::Sum,
    (a, b): (ArrayView3<T>, ArrayView3<T>),
    beta: T::Sum,
    mut c: ArrayViewMut3<T::Sum>,
) -> Result<()> {
    let (batch, m, n) = c.dim();
    let sizes = Sizes {
        batch,
        m,
        n,
        k: a.dim().2,
    };
    require_countable(sizes)?;
    if sizes.k == 0 || alpha.is_zero() {
        // A and B are not read, and so nothing has to go to the device.
        c.mapv_inplace(|c| {
            if beta.is_zero() {
                T::Sum::zero()
            } else {
                beta * c
            }
        });
        return Ok(());
    }
    let a = OnDevice::upload(device, a)?;
    let b = OnDevice::upload(device, b)?;
    let mut result = if beta.is_zero() {
        device.alloc(c.len())?
    } else {
        device.upload(&c)?.into_buffer()
    };
    on_device(
        with,
        alpha,
        (a.matrices(), b.matrices()),
        beta,
        &mut result,
        (sizes, whole),
    )?;
    match c.as_slice_mut() {
        Some(c) => result.copy_to(c),
        None => {
            let result = result.to_vec()?;
            let result = ArrayView3::from_shape(c.dim(), &result).expect("as many as C has");
            assign(c, &result);
            Ok(())
        }
    }
}

/// The product of matrices in the memory of C's device, by the kernel for the `whole` of which it is a part.
pub(super) fn on_device<T: HasKernels<Sum: HasSumKernels>>(
    with: MatMul,
    alpha: T::Sum,
    (a, b): (DeviceMatrices<T>, DeviceMatrices<T>),
    beta: T::Sum,
    c: &mut Buffer<T::Sum>,
    (sizes, whole): (Sizes, Sizes),
) -> Result<()> {
    let Sizes { batch, m, n, .. } = sizes;
    if batch == 0 || m == 0 || n == 0 {
        return Ok(());
    }
    require_countable(sizes)?;
    let (a, b) = (factor(&a, Side::Left), factor(&b, Side::Right));
    let device = c.device().clone();
    let mut first = 0;
    while first < batch {
        let here = Sizes {
            batch: (batch - first).min(MAX_BATCH),
            ..sizes
        };
        let of_batch = |factor: Factor<T::Bits>| Factor {
            start: factor.start + first as i64 * factor.stride_batch,
            ..factor
        };
        let (start, elements) = (first * m * n, here.batch * m * n);
        // SAFETY: that part of C.
        let c = unsafe {
            let c = c.slice_mut();
            DeviceSliceMut::from_raw_parts(c.as_mut_ptr().wrapping_add(start), elements)
        };
        let job = Job::<T> {
            device: &device,
            with,
            a: of_batch(a),
            b: of_batch(b),
            c,
            sizes: here,
            whole,
            alpha,
            beta,
        };
        // SAFETY: the factors are within their buffers, and C's part is that of these matrices.
        unsafe { job.run()? };
        first += here.batch;
    }
    Ok(())
}

/// That kernels, which count rows, columns and k in 32 bits, can count these.
fn require_countable(sizes: Sizes) -> Result<()> {
    for (name, size) in [("m", sizes.m), ("n", sizes.n), ("k", sizes.k)] {
        if size > i32::MAX as usize {
            let message = format!("{name} is {size}; kernels count to {}", i32::MAX);
            return Err(Error::input(MATMUL, message));
        }
    }
    Ok(())
}

/// What one launch, or a few that follow each other, compute.
pub struct Job<'a, T: HasKernels> {
    device: &'a Device,
    with: MatMul,
    a: Factor<T::Bits>,
    b: Factor<T::Bits>,
    c: DeviceSliceMut<T::Sum>,
    sizes: Sizes,
    /// What the kernel is chosen for, so that results do not depend on the parts that a product is computed in.
    whole: Sizes,
    alpha: T::Sum,
    beta: T::Sum,
}

/// A kernel, how k is cut for it, and which factors are packed first.
struct Choice<T: HasKernels> {
    tile: &'static Tile<T::Bits, T::Sum>,
    cut: Cut,
    packs_a: bool,
    packs_b: bool,
}

impl<T: HasKernels> Clone for Job<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: HasKernels> Copy for Job<'_, T> {}

impl<T: HasKernels<Sum: HasSumKernels>> Job<'_, T> {
    /// # Safety
    /// The factors and C are of the device and have these sizes, and nothing else uses C.
    unsafe fn run(&self) -> Result<()> {
        let asked = self.with.instructions;
        let capability = self.device.compute_capability();
        let instructions = tuning::instructions(asked, capability).ok_or_else(|| {
            let (major, minor) = capability;
            Error::Unavailable {
                device: self.device.to_string(),
                reason: format!(
                    "its compute capability {major}.{minor} lacks the instructions {asked:?}"
                ),
            }
        })?;
        if self.sizes.k == 0 || self.alpha.is_zero() {
            let none = self.device.alloc(0)?;
            // Not alpha, which times no sum may be NaN.
            let factors = (T::Sum::zero(), self.beta);
            // SAFETY: no parts; the rest is passed on to the caller.
            return unsafe { add_parts(self.device, &none, 0, self.c, factors) };
        }
        // What is asked for has to be it; otherwise whatever has room on the device.
        let others: &[Instructions] = match (asked, instructions) {
            (Instructions::Auto, Instructions::WarpGroup) => {
                &[Instructions::Warp, Instructions::Fma]
            }
            (Instructions::Auto, Instructions::Warp) => &[Instructions::Fma],
            _ => &[],
        };
        for &instructions in [instructions].iter().chain(others) {
            // SAFETY: passed on to the caller.
            if unsafe { self.run_by(instructions)? } {
                return Ok(());
            }
        }
        Err(self.no_kernel())
    }

    /// Computes the job by these instructions; `false` if the device has no room for the kernels.
    ///
    /// # Safety
    /// As of [`run`](Self::run).
    unsafe fn run_by(mut self, instructions: Instructions) -> Result<bool> {
        let Sizes { batch, m, n, k } = self.sizes;
        let is_skinny = || skinny::is_skinny(self.device, self.whole.m, self.whole.n);
        if instructions == Instructions::Fma {
            // There is no tf32 among them.
            self.with.precision = Precision::Full;
        }
        if T::has_skinny(self.with.precision) && is_skinny() {
            // SAFETY: passed on to the caller.
            unsafe { T::run_skinny(&self)? };
            return Ok(true);
        }
        let tiles = T::tiles(self.with.precision, instructions);
        if !tiles.is_empty() {
            let Some(choice) = self.choose(tiles, instructions) else {
                return Ok(false);
            };
            // SAFETY: passed on to the caller.
            unsafe { self.pack_and_launch(&choice)? };
            return Ok(true);
        }
        // SAFETY: the factors are there.
        let (a, b) = unsafe {
            (
                T::widen(self.device, self.a, (batch, m, k))?,
                T::widen(self.device, self.b, (batch, n, k))?,
            )
        };
        let (Some(a), Some(b)) = (a, b) else {
            return Ok(false);
        };
        let wide = Job::<T::Sum> {
            device: self.device,
            with: self.with,
            a: a.factor(),
            b: b.factor(),
            c: self.c,
            sizes: self.sizes,
            whole: self.whole,
            alpha: self.alpha,
            beta: self.beta,
        };
        // SAFETY: passed on to the caller. Copies are freed after the kernels have run.
        unsafe { wide.run_by(instructions) }
    }

    fn no_kernel(&self) -> Error {
        Error::Unavailable {
            device: self.device.to_string(),
            reason: "no kernel multiplies matrices of this type and these strides".into(),
        }
    }

    /// The kernel that is expected to be the fastest, with the packing that it asks for.
    fn choose(&self, tiles: &[Tiles<T>], instructions: Instructions) -> Option<Choice<T>> {
        let Sizes { batch, m, n, k } = self.whole;
        let processors = self.device.processors();
        let (size, precision) = (size_of::<T>(), self.with.precision);
        let room = self.device.shared_memory_per_block().unwrap_or(0);
        let mut best: Option<Choice<T>> = None;
        let all = tiles.iter().copied().flatten();
        for tile in all.filter(|tile| tile.shared_bytes <= room) {
            let packs_a = !fits(&self.a, m, k, tile.a);
            let packs_b = !fits(&self.b, n, k, tile.b);
            let can_pack = |pattern| {
                T::CAN_PACK && matches!(pattern, Pattern::PiecesOfK | Pattern::ElementsOfK)
            };
            if packs_a && !can_pack(tile.a) || packs_b && !can_pack(tile.b) {
                continue;
            }
            let rate =
                tuning::rate(size, precision, instructions, tile.columns).reading(tile.a, tile.b);
            let tile_sizes = TileSizes {
                rows: tile.rows,
                columns: tile.columns,
                depth: tile.depth,
            };
            let mut cut = tuning::cut(
                self.whole,
                tile_sizes,
                rate,
                processors,
                size_of::<T::Sum>(),
            );
            for (packs, factor, outer) in [(packs_a, &self.a, m), (packs_b, &self.b, n)] {
                if packs {
                    let copies = if factor.stride_batch == 0 { 1 } else { batch };
                    cut = cut.after_packing(copies * outer * k * size);
                }
            }
            if best
                .as_ref()
                .is_none_or(|best| cut.is_faster_than(&best.cut))
            {
                best = Some(Choice {
                    tile,
                    cut,
                    packs_a,
                    packs_b,
                });
            }
        }
        best
    }

    /// # Safety
    /// As of [`run`](Self::run).
    unsafe fn pack_and_launch(&self, choice: &Choice<T>) -> Result<()> {
        let Sizes { batch, m, n, k } = self.sizes;
        let (mut a, mut b) = (None, None);
        // SAFETY: the factors are there.
        unsafe {
            if choice.packs_a {
                a = T::pack(self.device, self.a, (batch, m, k))?;
            }
            if choice.packs_b {
                b = T::pack(self.device, self.b, (batch, n, k))?;
            }
        }
        let factors = (
            a.as_ref().map_or(self.a, Packed::factor),
            b.as_ref().map_or(self.b, Packed::factor),
        );
        // SAFETY: passed on to the caller. Copies are freed after the kernels have run.
        unsafe { self.launch(choice, factors) }
    }

    /// # Safety
    /// As of [`run`](Self::run); the factors, or their copies, fit the kernel's patterns.
    unsafe fn launch(
        &self,
        choice: &Choice<T>,
        (a, b): (Factor<T::Bits>, Factor<T::Bits>),
    ) -> Result<()> {
        let (Cut { k_part, parts, .. }, tile) = (choice.cut, choice.tile);
        let Sizes { batch, m, n, k } = self.sizes;
        let tiles = m.div_ceil(tile.rows as usize) * n.div_ceil(tile.columns as usize);
        let tiles = u32::try_from(tiles).map_err(|_| {
            let message = format!("a result of {m}×{n} has more tiles than a grid can have blocks");
            Error::input(MATMUL, message)
        })?;
        let config = LaunchConfig::new((tiles, parts as u32, batch as u32), tile.threads)
            .with_shared_bytes(tile.shared_bytes);
        let launch = |c, alpha, beta| {
            let product = Product {
                a,
                b,
                c,
                m: m as u32,
                n: n as u32,
                k: k as u32,
                k_part: k_part as u32,
                alpha,
                beta,
            };
            // SAFETY: passed on to the caller.
            unsafe { self.device.launch(MODULE, tile.kernel, config, (product,)) }
        };
        // SAFETY: passed on to the caller.
        unsafe { self.in_parts(parts, launch) }
    }

    /// Computes the job by a kernel that sums so many parts of k, which then are added if there are several. `launch`
    /// gets C, or memory for the parts, each as large as C, with the alpha and beta that the kernel is to use.
    ///
    /// # Safety
    /// As of [`run`](Self::run); the kernel writes to what it gets.
    unsafe fn in_parts(
        &self,
        parts: usize,
        launch: impl FnOnce(DeviceSliceMut<T::Sum>, T::Sum, T::Sum) -> Result<()>,
    ) -> Result<()> {
        if parts == 1 {
            return launch(self.c, self.alpha, self.beta);
        }
        let mut sums = self.device.alloc(parts * self.c.len())?;
        launch(sums.slice_mut(), T::Sum::one(), T::Sum::zero())?;
        let factors = (self.alpha, self.beta);
        // SAFETY: passed on to the caller; the parts are freed after the kernels have run.
        unsafe { add_parts(self.device, &sums, parts, self.c, factors) }
    }
}
