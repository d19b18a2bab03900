//! cust, linked with this crate, on the machine as it is: with or without a driver.

use cust::{CudaFlags, error::CudaError, memory::DeviceBuffer};

#[test]
fn cust_says_whether_there_is_a_gpu() {
    match (cuda_driver::load_status(), cust::init(CudaFlags::empty())) {
        (Err(reason), result) => {
            assert_eq!(result, Err(CudaError::NoDevice));
            assert_eq!(cuda_driver::last_error(), Some(100));
            assert_eq!(cuda_driver::driver_version(), None);
            assert!(
                reason.to_string().contains("libcuda.so.1") || cfg!(windows),
                "{reason}"
            );
            assert!(cuda_driver::error_text(100).ends_with(&reason.to_string()));
        }
        (Ok(()), Ok(())) => {
            let (major, minor) = cuda_driver::driver_version().expect("a driver has a version");
            assert!(major >= 11 && minor < 10, "{major}.{minor}");
            if cust::device::Device::num_devices().unwrap() > 0 {
                data_makes_the_round_trip();
            }
        }
        // A driver without a GPU, or one that does not match the kernel's.
        (Ok(()), Err(error)) => assert!(cuda_driver::last_error().is_some(), "{error}"),
    }
}

fn data_makes_the_round_trip() {
    let _context = cust::quick_init().unwrap();
    let data: Vec<u32> = (0..1000).collect();
    let copy = DeviceBuffer::from_slice(&data)
        .unwrap()
        .as_host_vec()
        .unwrap();
    assert_eq!(copy, data);
}

/// cust panics while it displays an error if `cuGetErrorString` fails.
#[test]
fn every_error_displays() {
    use CudaError::*;
    for error in [InvalidValue, NoDevice, NotFound, NotSupported, UnknownError] {
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn text_names_the_code() {
    assert!(cuda_driver::error_text(1).starts_with("CUDA_ERROR_INVALID_VALUE (1)"));
    assert!(cuda_driver::error_text(4_000_000_000).starts_with("CUDA error 4000000000"));
}

/// The program must start without a driver: the loader must not be told to look for one.
#[cfg(target_os = "linux")]
#[test]
fn this_program_does_not_need_libcuda() {
    let libraries = elf::needed(&std::fs::read("/proc/self/exe").unwrap());
    assert!(
        libraries.iter().any(|name| name.starts_with("libc.")),
        "{libraries:?}"
    );
    assert!(
        !libraries.iter().any(|name| name.starts_with("libcuda")),
        "{libraries:?}"
    );
}

/// As much of ELF (64 bits, little-endian) as the test above reads.
#[cfg(target_os = "linux")]
mod elf {
    const DYNAMIC: usize = 2;
    const LOAD: usize = 1;
    const NEEDED: usize = 1;
    const STRING_TABLE: usize = 5;

    fn number(bytes: &[u8], at: usize, width: usize) -> usize {
        bytes[at..at + width]
            .iter()
            .rev()
            .fold(0, |value, &byte| value << 8 | usize::from(byte))
    }

    /// The libraries that the loader brings in before the program starts.
    pub fn needed(file: &[u8]) -> Vec<String> {
        assert_eq!(file[..6], *b"\x7fELF\x02\x01");
        let (start, size, count) = (
            number(file, 32, 8),
            number(file, 54, 2),
            number(file, 56, 2),
        );
        let segments = || (0..count).map(|i| &file[start + i * size..]);
        // Offset in the file, address in memory, size in the file.
        let place = |s: &[u8]| (number(s, 8, 8), number(s, 16, 8), number(s, 32, 8));

        let dynamic = segments()
            .find(|s| number(s, 0, 4) == DYNAMIC)
            .expect("a dynamic segment");
        let (offset, _, length) = place(dynamic);
        let entries: Vec<_> = file[offset..offset + length]
            .chunks_exact(16)
            .map(|entry| (number(entry, 0, 8), number(entry, 8, 8)))
            .collect();

        let address = entries
            .iter()
            .find(|entry| entry.0 == STRING_TABLE)
            .unwrap()
            .1;
        let strings = segments()
            .filter(|s| number(s, 0, 4) == LOAD)
            .map(place)
            .find(|&(_, start, length)| (start..start + length).contains(&address))
            .map(|(offset, start, _)| offset + address - start)
            .expect("the strings are in a loaded segment");

        let needed = entries.iter().filter(|entry| entry.0 == NEEDED);
        needed
            .map(|entry| {
                let name = file[strings + entry.1..]
                    .split(|&byte| byte == 0)
                    .next()
                    .unwrap();
                String::from_utf8_lossy(name).into_owned()
            })
            .collect()
    }
}
