//! Text from kernels, and assertions.

use cuda_std::prelude::*;

/// Prints a line for the first thread of each block, in two pieces, an empty line, and text that is
/// no format.
#[kernel]
pub fn prints(values: &[f32]) {
    let block = thread::block_idx_x();
    if thread::thread_idx_x() == 0 {
        cuda_std::println!(
            "block {block}: {:?}, {:>6.2}% %d",
            &values[..2],
            values[block as usize]
        );
        if block == 0 {
            cuda_std::print!("no end");
            cuda_std::print!(" of {0}{0}\n", 'x');
            cuda_std::println!();
        }
    }
}

/// Asserts in each way, with values for which all hold but the one of number `broken`.
#[kernel]
pub fn asserts(broken: u32, values: &[u32]) {
    let i = thread::global_index();
    let value = values[i];
    cuda_std::assert!(broken != 0 || value != 5);
    cuda_std::assert!(broken != 1 || value != 5, "{value} at {i} is not allowed");
    cuda_std::assert_eq!(value.min(5 - (broken == 2) as u32), value);
    cuda_std::assert_eq!(
        value.min(5 - (broken == 3) as u32),
        value,
        "of {}",
        "thread"
    );
    cuda_std::assert_ne!(value + (broken == 4) as u32, 6);
    cuda_std::assert_ne!(value + (broken == 5) as u32, 6, "never {}", 6);
}

/// Assertions by the names of `core`'s.
pub mod imported {
    use cuda_std::prelude::*;
    use cuda_std::{assert, assert_eq, assert_ne};

    /// Asserts in each way, also in constants, with values for which all hold but the one of number
    /// `broken`.
    #[kernel]
    pub fn asserts_by_name(broken: u32, values: &[u32]) {
        const { assert!(size_of::<u32>() == 4) };
        const { assert!(size_of::<u64>() == 8, "an address has eight bytes") };
        let i = thread::global_index();
        let value = values[i];
        assert!(broken != 0 || value != 5);
        assert!(broken != 1 || value != 5, "{value} at {i} is no {}", "value");
        assert_eq!(value.min(5 - (broken == 2) as u32), value, "of {i}");
        assert_ne!(value + (broken == 3) as u32, 6);
    }
}

/// Asserts by the macros of `core`, beside the prelude.
#[kernel]
pub fn asserts_of_core(values: &[u32]) {
    let value = values[thread::global_index()];
    assert!(value != 5, "{value} is no value");
    assert_eq!(value.max(1), value);
    assert_ne!(value, 0);
}
