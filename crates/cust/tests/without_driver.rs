//! cust on the machine as it is: with or without a driver.

use std::ptr::null_mut;

use cust::sys::{self, CUresult};
use cust::{CudaFlags, device::Device, driver, error::CudaError};

#[test]
fn cust_says_whether_there_is_a_gpu() {
    match (driver::load_status(), cust::init(CudaFlags::empty())) {
        (Err(reason), result) => {
            assert_eq!(result, Err(CudaError::NoDevice));
            assert_eq!(driver::last_error(), Some(100));
            assert_eq!(driver::driver_version(), None);
            assert!(
                reason.to_string().contains("libcuda.so.1") || cfg!(windows),
                "{reason}"
            );
            assert!(driver::error_text(100).ends_with(&reason.to_string()));
        }
        (Ok(()), Ok(())) => {
            let (major, minor) = driver::driver_version().expect("a driver has a version");
            assert!(major >= 11 && minor < 10, "{major}.{minor}");
            if Device::num_devices().unwrap() > 0 {
                data_makes_the_round_trip();
            }
        }
        // A driver without a GPU, or one that does not match the kernel's.
        (Ok(()), Err(error)) => assert!(driver::last_error().is_some(), "{error}"),
    }
}

fn data_makes_the_round_trip() {
    let device = Device::get_device(0).unwrap();
    let data: Vec<u32> = (0..1000).collect();
    let mut copy = vec![0u32; data.len()];
    let bytes = size_of_val(&data[..]);
    let (mut context, mut address) = (null_mut(), 0);
    // SAFETY: the context is current while memory is used, and both arrays have `bytes` bytes.
    let results = unsafe {
        [
            sys::cuDevicePrimaryCtxRetain(&mut context, device.as_raw()),
            sys::cuCtxPushCurrent_v2(context),
            sys::cuMemAlloc_v2(&mut address, bytes),
            sys::cuMemcpyHtoDAsync_v2(address, data.as_ptr().cast(), bytes, null_mut()),
            sys::cuMemcpyDtoHAsync_v2(copy.as_mut_ptr().cast(), address, bytes, null_mut()),
            sys::cuStreamSynchronize(null_mut()),
            sys::cuMemFree_v2(address),
            sys::cuCtxPopCurrent_v2(&mut context),
            sys::cuDevicePrimaryCtxRelease_v2(device.as_raw()),
        ]
    };
    assert_eq!(results, [CUresult::CUDA_SUCCESS; 9]);
    assert_eq!(copy, data);
}

#[test]
fn every_error_displays() {
    use CudaError::*;
    for error in [InvalidValue, NoDevice, NotFound, NotSupported, UnknownError] {
        assert!(!error.to_string().is_empty());
    }
}
