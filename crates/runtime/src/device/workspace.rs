//! Buffers that are allocated together.

/// Declares a struct of buffers and their lengths, for the allocations and their bytes.
///
/// `struct Sorting(rows: usize) { keys: u64 = rows, counts: u32 = 256 * rows.div_ceil(2048) }` has
/// the functions `Sorting::allocate(&device, rows)?` and `Sorting::bytes(rows)`. The struct may
/// have a type parameter with a bound, as in `struct Sums<T: Number>(rows: usize)`.
#[doc(hidden)]
#[macro_export]
macro_rules! workspace {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident $(<$type:ident: $bound:path>)? ($($size:ident: $of:ty),* $(,)?) {
            $($(#[$note:meta])* $buffer:ident: $element:ty = $length:expr,)*
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $name $(<$type: $bound>)? {
            $($(#[$note])* pub $buffer: $crate::device::Buffer<$element>,)*
        }

        impl $(<$type: $bound>)? $name $(<$type>)? {
            /// Returns the bytes of all buffers.
            $visibility fn bytes($($size: $of),*) -> u64 {
                [$($crate::partition::bytes_of($length, size_of::<$element>())),*]
                    .into_iter()
                    .fold(0, u64::saturating_add)
            }

            /// Allocates all buffers, in the order of the fields.
            $visibility fn allocate(
                device: &$crate::Device,
                $($size: $of),*
            ) -> $crate::Result<Self> {
                Ok($name { $($buffer: device.alloc($length)?),* })
            }
        }
    };
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use crate::Device;
    use crate::device::Element;

    workspace! {
        struct Buffers<T: Element>(rows: usize, width: usize) {
            numbers: T = rows * width,
            sums: u64 = rows + 1,
        }
    }

    #[test]
    fn bytes_are_those_that_are_allocated() {
        let bytes = Buffers::<f32>::bytes(10, 3);
        assert_eq!(bytes, 4 * 30 + 8 * 11);
        let device = Device::simulator().unwrap();
        let buffers = Buffers::<f32>::allocate(&device.with_memory_limit(bytes), 10, 3).unwrap();
        assert_eq!((buffers.numbers.len(), buffers.sums.len()), (30, 11));
        assert!(Buffers::<f32>::allocate(&device.with_memory_limit(bytes - 1), 10, 3).is_err());
    }
}
