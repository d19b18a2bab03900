//! The pairs of sequences of a call, and the checks of their numbers and lengths.

use gridstride_runtime::device::Buffer;
use gridstride_runtime::{Error, Result};
use gridstride_sequences::{DeviceSequences, SequencesView};

/// Pairs of sequences in the host's memory, and the places for their distances.
pub struct HostPairs<'a> {
    /// The public operation, for errors.
    pub operation: &'static str,
    /// The largest distance of interest.
    pub limit: u32,
    pub a: SequencesView<'a>,
    pub b: SequencesView<'a>,
    pub out: &'a mut [u32],
}

/// Pairs of sequences in a device's memory, and the places for their distances.
pub struct DevicePairs<'a> {
    /// The public operation, for errors.
    pub operation: &'static str,
    /// The largest distance of interest.
    pub limit: u32,
    pub a: &'a DeviceSequences,
    pub b: &'a DeviceSequences,
    pub out: &'a mut Buffer<u32>,
}

impl<'a> DevicePairs<'a> {
    /// Returns the sequences of a CPU, which are in the host's memory, with a place for distances.
    pub fn download<'b>(&self, out: &'b mut [u32]) -> Result<HostPairs<'b>>
    where
        'a: 'b,
    {
        let (a, b) = (self.a.download(), self.b.download());
        HostPairs::new(self.operation, self.limit, a, b, out)
    }

    /// Checks the lengths of sequences that kernels read.
    pub fn require_kernels(&self) -> Result<()> {
        require_lengths(self.operation, "a", self.a.buffers().lengths())?;
        require_lengths(self.operation, "b", self.b.buffers().lengths())
    }
}

impl<'a> HostPairs<'a> {
    /// Takes as many sequences as there are places, and refuses sequences that are too long.
    pub fn new(
        operation: &'static str,
        limit: u32,
        a: SequencesView<'a>,
        b: SequencesView<'a>,
        out: &'a mut [u32],
    ) -> Result<Self> {
        require_lengths(operation, "a", a.slices().map(|codes| codes.len() as u64))?;
        require_lengths(operation, "b", b.slices().map(|codes| codes.len() as u64))?;
        Ok(HostPairs {
            operation,
            limit,
            a,
            b,
            out,
        })
    }

    /// Returns the least number above all codes.
    pub fn bound(&self) -> usize {
        let bound_of = |view: SequencesView| {
            let largest = view.largest_code();
            largest.map_or(0, |largest| usize::from(largest.code) + 1)
        };
        bound_of(self.a).max(bound_of(self.b))
    }

    /// Returns the entries of D of a pair.
    pub fn entries(&self, pair: usize) -> u64 {
        (self.a.length(pair) as u64 + 1) * (self.b.length(pair) as u64 + 1)
    }

    /// Splits before a pair.
    pub fn split_at(self, pair: usize) -> (Self, Self) {
        let (out, behind) = self.out.split_at_mut(pair);
        let count = self.a.len();
        let behind = HostPairs {
            a: self.a.range(pair..count),
            b: self.b.range(pair..count),
            out: behind,
            ..self
        };
        let before = HostPairs {
            a: self.a.range(0..pair),
            b: self.b.range(0..pair),
            out,
            ..self
        };
        (before, behind)
    }
}

/// Checks that each sequence of `a` has a partner, and that pairs have numbers of 32 bits.
pub fn require_pairs(operation: &'static str, a: usize, b: usize) -> Result<()> {
    if a == b && u32::try_from(a).is_err() {
        let message = format!("{a} pairs are more than {}: split them", u32::MAX);
        return Err(Error::input(operation, message));
    }
    if a == b {
        return Ok(());
    }
    let message = format!(
        "a has {a} sequences and b has {b}: each sequence of a is compared with the sequence of b \
         that has the same index"
    );
    Err(Error::Shape { operation, message })
}

/// Checks that `out` has a place for each distance.
pub fn require_out(operation: &'static str, pairs: usize, out: usize) -> Result<()> {
    if pairs == out {
        return Ok(());
    }
    let message = format!("there are {pairs} distances, but out has {out} elements");
    Err(Error::Shape { operation, message })
}

/// Checks that distances are below `u32::MAX`.
fn require_lengths(
    operation: &'static str,
    name: &str,
    mut lengths: impl Iterator<Item = u64>,
) -> Result<()> {
    let Some(index) = lengths.position(|length| length >= u64::from(u32::MAX)) else {
        return Ok(());
    };
    let message = format!(
        "sequence {index} of {name} has more than {} letters: split it",
        u32::MAX - 1
    );
    Err(Error::input_at(operation, "sequences", index, message))
}
