//! Buffers in memory that something else owns, on every available device.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use gridstride::device::{Buffer, DeviceArray, DeviceView, Element};
use gridstride::matmul::MatMul;
use gridstride::{Device, Error};
use ndarray::{Ix2, array};

use crate::common::devices;

/// Owns a buffer, and tells that it is dropped.
struct Owner<T: Element> {
    buffer: Buffer<T>,
    is_dropped: Arc<AtomicBool>,
}

impl<T: Element> Drop for Owner<T> {
    fn drop(&mut self) {
        self.is_dropped.store(true, SeqCst);
    }
}

/// Returns a buffer in the memory of another one, and whether that is dropped.
fn foreign<T: Element>(device: &Device, elements: &[T]) -> (Buffer<T>, Arc<AtomicBool>) {
    let buffer = device.buffer_from(elements).unwrap();
    let is_dropped = Arc::new(AtomicBool::new(false));
    let owner = Owner {
        buffer,
        is_dropped: is_dropped.clone(),
    };
    let address = owner.buffer.as_ptr().cast_mut();
    // SAFETY: the owner keeps the elements, on whose stream the new buffer's work is ordered.
    let buffer = unsafe { Buffer::from_raw(device, address, elements.len(), owner) };
    (buffer.unwrap(), is_dropped)
}

#[track_caller]
fn assert_says(error: &Error, text: &str) {
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn calls_read_and_write_foreign_memory() {
    for device in devices() {
        let (a, a_is_dropped) = foreign(&device, &[1.0f64, 2.0, 3.0, 4.0]);
        let (c, c_is_dropped) = foreign(&device, &[0.0f64; 4]);
        let transposed = DeviceView::new(&a, 0, Ix2(2, 2), Ix2(1, 2)).unwrap();
        let mut c = DeviceArray::from_buffer(c, Ix2(2, 2)).unwrap();
        MatMul::new()
            .matmul_device_into(transposed, transposed.t(), &mut c)
            .unwrap();
        assert_eq!(c.download().unwrap(), array![[10.0, 14.0], [14.0, 20.0]]);
        assert!(!a_is_dropped.load(SeqCst) && !c_is_dropped.load(SeqCst));
        drop((a, c));
        device.synchronize().unwrap();
        assert!(
            a_is_dropped.load(SeqCst) && c_is_dropped.load(SeqCst),
            "{device}"
        );
    }
}

#[test]
fn owners_are_dropped_after_the_work_of_their_stream() {
    for device in devices() {
        let on_stream = device.on(&device.stream().unwrap()).unwrap();
        let (buffer, is_dropped) = foreign(&device, &[7u32; 1000]);
        let buffer = buffer.on(&on_stream).unwrap();
        assert_eq!(buffer.to_vec().unwrap(), [7; 1000]);
        drop(buffer);
        device.synchronize_all().unwrap();
        assert!(is_dropped.load(SeqCst), "{device}");
    }
}

#[test]
fn no_elements_need_no_address() {
    for device in devices() {
        let address = std::ptr::null_mut::<f32>();
        // SAFETY: there are no elements.
        let empty = unsafe { Buffer::from_raw(&device, address, 0, ()) }.unwrap();
        assert_eq!(empty.to_vec().unwrap(), []);
    }
}

#[test]
fn no_limit_counts_foreign_memory() {
    for device in devices() {
        let (buffer, _) = foreign(&device, &[0u64; 100]);
        let limited = device.with_memory_limit(100);
        let (address, owner) = (buffer.as_ptr().cast_mut(), buffer);
        // SAFETY: the owner keeps the elements, and is on the same stream.
        let buffer = unsafe { Buffer::from_raw(&limited, address, 100, owner) }.unwrap();
        assert_eq!(buffer.len(), 100);
        assert_eq!(limited.memory_used(), Some(0));
    }
}

#[test]
fn addresses_are_checked() {
    for device in devices() {
        let address = std::ptr::without_provenance_mut::<f64>(4);
        // SAFETY: the address is refused.
        let error = unsafe { Buffer::from_raw(&device, address, 1, ()) }.unwrap_err();
        assert_says(&error, "no address of f64");
        let address = std::ptr::null_mut::<f64>();
        // SAFETY: the address is refused.
        let error = unsafe { Buffer::from_raw(&device, address, 1, ()) }.unwrap_err();
        assert_says(&error, "no address of f64");
    }
}

#[cfg(feature = "cuda")]
#[test]
fn gpus_refuse_memory_of_the_host() {
    for device in Device::gpus() {
        let mut elements = [0.0f64; 4];
        // SAFETY: the address is refused.
        let buffer = unsafe { Buffer::from_raw(&device, elements.as_mut_ptr(), 4, ()) };
        assert_says(&buffer.unwrap_err(), "does not know the address");
    }
}

#[test]
fn views_of_buffers_are_within_them() {
    for device in devices() {
        let buffer = device.buffer_from(&[0, 1, 2, 3, 4, 5]).unwrap();
        let view = |start, shape, strides| DeviceView::new(&buffer, start, shape, strides);
        let rows = view(1, Ix2(2, 2), Ix2(3, 1)).unwrap();
        assert_eq!(rows.download().unwrap(), array![[1, 2], [4, 5]]);
        assert!(view(6, Ix2(0, 3), Ix2(9, 9)).is_ok());
        for (start, shape, strides) in [
            (2, Ix2(2, 2), Ix2(3, 1)),
            (6, Ix2(1, 1), Ix2(1, 1)),
            (0, Ix2(2, 2), Ix2(usize::MAX, 1)),
            (0, Ix2(usize::MAX, 2), Ix2(0, 0)),
        ] {
            let error = view(start, shape, strides).unwrap_err();
            assert_says(&error, "is not within the buffer's 6 elements");
        }
    }
}
