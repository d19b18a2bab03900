//! The messages, and their digests on the CPU.

use std::time::{Duration, Instant};

use rayon::prelude::*;
use sha2::{Digest, Sha256};

/// Bytes of a message: not a multiple of SHA-256's blocks of 64 bytes.
pub const LENGTH: usize = 1000;

/// Returns messages, one behind the other. No two are equal.
pub fn messages(count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count * LENGTH];
    for (number, message) in bytes.chunks_exact_mut(LENGTH).enumerate() {
        message.fill(number as u8);
        message[..8].copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

/// Returns the digests that the same crate computes on all cores of the CPU, and the median time of
/// `repeats` runs.
pub fn on_the_cpu(messages: &[u8], repeats: usize) -> (Vec<[u8; 32]>, Duration) {
    let mut times = Vec::new();
    let mut digests = Vec::new();
    for _ in 0..repeats {
        let start = Instant::now();
        messages
            .par_chunks_exact(LENGTH)
            .map(|message| Sha256::digest(message).into())
            .collect_into_vec(&mut digests);
        times.push(start.elapsed());
    }
    (digests, median(times))
}

/// Returns the median of times.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Prints how fast the messages were hashed.
pub fn print(what: &str, messages: &[u8], time: Duration) {
    let rate = messages.len() as f64 / time.as_secs_f64() / 1e9;
    println!(
        "  {what}: {:.3} ms, {rate:.3} GB/s",
        time.as_secs_f64() * 1e3
    );
}
