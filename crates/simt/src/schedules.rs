//! Compares a kernel's results under several seeds.

use crate::error::SimError;
use crate::simulator::Simulator;

/// The error of a launch under one of several seeds.
#[derive(Debug, thiserror::Error)]
#[error("under seed {seed}: {error}")]
pub struct FailedSeed {
    /// The seed, for `Simulator::with_seed`.
    pub seed: u64,
    /// The error, which the message includes.
    pub error: SimError,
}

/// Two seeds under which a kernel has different results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference<T> {
    /// The seeds, for `Simulator::with_seed`.
    pub seeds: (u64, u64),
    /// The result under each seed.
    pub results: (T, T),
}

/// Calls `run` with a simulator for each seed, and compares the results with the first. Returns the
/// first difference, or `None` if all results are equal. Blocks run one after the other.
///
/// Results differ if the kernel depends on the order of its threads, for example by a missing
/// barrier, or if it reads uninitialised shared memory. Each run must begin with the same inputs.
/// Compare floating-point results by their bits, because NaN never equals NaN.
///
/// # Errors
/// The error of the first run that fails, with its seed.
///
/// ```
/// use cuda_std::host::LaunchConfig;
/// use cuda_std::prelude::*;
///
/// /// Gives each thread its neighbour's index, but forgets the barrier in between.
/// #[kernel(block = 64)]
/// pub unsafe fn neighbour(out: DeviceSliceMut<u32>) {
///     let tile = shared_array![u32; 64];
///     let i = thread::thread_idx_x();
///     // SAFETY: all indices are below 64, but there is a race.
///     unsafe {
///         tile.add(i as usize).write(i);
///         out.set(i as usize, tile.add((i as usize + 1) % 64).read());
///     }
/// }
///
/// let run = |simulator: &simt::Simulator| {
///     let mut out = vec![0; 64];
///     // SAFETY: the slice covers `out`, which nothing else uses during the launch.
///     unsafe {
///         let slice = DeviceSliceMut::from_raw_parts(out.as_mut_ptr(), out.len());
///         simulator.launch(&neighbour, LaunchConfig::new(1, 64), (slice,))?;
///     }
///     Ok(out)
/// };
/// assert!(simt::differing_seeds(0..4, run)?.is_some());
/// # Ok::<(), simt::FailedSeed>(())
/// ```
pub fn differing_seeds<T: PartialEq>(
    seeds: impl IntoIterator<Item = u64>,
    mut run: impl FnMut(&Simulator) -> Result<T, SimError>,
) -> Result<Option<Difference<T>>, FailedSeed> {
    let mut first: Option<(u64, T)> = None;
    for seed in seeds {
        let simulator = Simulator::with_seed(seed);
        let result = run(&simulator).map_err(|error| FailedSeed { seed, error })?;
        match first {
            None => first = Some((seed, result)),
            Some((_, ref expected)) if *expected == result => {}
            Some((first, expected)) => {
                return Ok(Some(Difference {
                    seeds: (first, seed),
                    results: (expected, result),
                }));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_printed_once() {
        let error = SimError::Stacks {
            kernel: "add",
            threads: 32,
            bytes: 4096,
            error: std::io::Error::other("no pages are left"),
        };
        assert!(std::error::Error::source(&error).is_none());
        let error = FailedSeed { seed: 3, error };
        let message =
            "under seed 3: kernel `add`: no memory for 32 stacks of 4096 bytes: no pages are left";
        assert_eq!(error.to_string(), message);
        assert!(std::error::Error::source(&error).is_none());
    }
}
