//! The kernels that a pass launches for its output, whatever the types of state and result.

use cuda_std::DeviceParam;
use gridstride_runtime::device::LaunchConfig;
use gridstride_runtime::{Device, Result};
use time_series_kernels::{
    Columns, Pieces, State, Sums, Value, join_shared_bytes, reduce_shared_bytes,
};

use super::kernels::{HasKernels, HasPasses, Joins, Passes, Reduce};
use crate::MODULE;
use crate::custom::{AnyPieces, KernelArguments, TileFilter};
use crate::states::with_smallest_state;

/// The output of a pass, with room for each bucket.
pub enum Output<'a, V: 'static> {
    /// Columns of statistics, from a state that has all of them. `true` for statistics of
    /// differences.
    Statistics(State, bool, Columns),
    /// A column of the numbers of points, by a kernel.
    Counts(&'static Reduce<V, Sums>, Columns),
    /// The results of a user-defined aggregate, by a function that launches its kernels.
    Custom(Sizes, &'a LaunchCustom<'a, V>),
}

/// Launches a kernel of a user-defined aggregate with the results as last argument.
pub type LaunchCustom<'a, V> = dyn Fn(LaunchConfig, KernelArguments<V>) -> Result<()> + 'a;

/// The sizes that a pass depends on.
#[derive(Clone, Copy)]
pub struct Sizes {
    /// The bytes of a state.
    pub state: usize,
    /// The shared memory of a block of each kernel.
    pub reduce_shared: u32,
    pub join_shared: u32,
    /// Whether there are kernels for short buckets.
    pub has_short: bool,
}

impl Sizes {
    pub fn of<V: Value, S>(has_short: bool) -> Sizes {
        Sizes {
            state: size_of::<S>(),
            reduce_shared: reduce_shared_bytes::<V, S>(),
            join_shared: join_shared_bytes::<S>(),
            has_short,
        }
    }
}

impl<V: HasKernels> Output<'_, V> {
    pub fn sizes(&self) -> Sizes {
        match self {
            &Output::Statistics(state, of_differences, _) => with_smallest_state!(state, S => {
                Sizes::of::<V, S>(passes::<V, S>(of_differences).short.is_some())
            }),
            Output::Counts(..) => Sizes::of::<V, Sums>(false),
            Output::Custom(sizes, _) => *sizes,
        }
    }

    /// # Safety
    /// The contract of the kernel, with memory for states of the size of [`sizes`](Self::sizes).
    pub unsafe fn launch(
        &self,
        device: &Device,
        config: LaunchConfig,
        arguments: KernelArguments<V>,
    ) -> Result<()> {
        // SAFETY: the caller has memory for the states, and keeps the kernel's contract.
        unsafe {
            match self {
                &Output::Statistics(state, of_differences, columns) => {
                    with_smallest_state!(state, S => {
                        let passes = passes::<V, S>(of_differences);
                        let joins = <V as HasPasses<S>>::JOINS;
                        launch(device, passes, joins, config, arguments, columns)
                    })
                }
                &Output::Counts(kernel, columns) => {
                    let passes = Passes {
                        all: kernel,
                        short: None,
                    };
                    let joins = <V as HasPasses<Sums>>::JOINS;
                    launch(device, passes, joins, config, arguments, columns)
                }
                Output::Custom(_, launch) => launch(config, arguments),
            }
        }
    }
}

fn passes<V: HasPasses<S>, S: 'static>(of_differences: bool) -> Passes<V, S> {
    match of_differences {
        true => V::DIFFERENCES,
        false => V::VALUES,
    }
}

/// Launches a kernel of the library.
///
/// # Safety
/// The contract of the kernel, with memory for states of type `S`.
unsafe fn launch<V: HasKernels, S: Copy + 'static>(
    device: &Device,
    passes: Passes<V, S>,
    joins: Joins<S>,
    config: LaunchConfig,
    arguments: KernelArguments<V>,
    columns: Columns,
) -> Result<()>
where
    Pieces<S>: DeviceParam,
{
    // SAFETY: the caller has memory for the states, and keeps the kernel's contract.
    unsafe {
        match arguments {
            KernelArguments::Reduce(filter, points, reports, buckets, pieces) => {
                let kernel = match filter {
                    TileFilter::Short => passes.short.unwrap_or(passes.all),
                    TileFilter::All | TileFilter::LeftOut => passes.all,
                };
                let arguments = (points, reports, buckets, pieces.of(), columns);
                device.launch(&MODULE, kernel, config, arguments)
            }
            KernelArguments::Join(filter, units, pieces) => {
                let kernel = match filter {
                    TileFilter::Short => joins.short,
                    TileFilter::All | TileFilter::LeftOut => joins.all,
                };
                let arguments = (units, AnyPieces::join(pieces), columns);
                device.launch(&MODULE, kernel, config, arguments)
            }
        }
    }
}
