//! Atomic operations with an order and a scope.

use super::*;
use cuda_std_tests_kernels::ordered_atomics::*;

macro_rules! operations {
    ($($name:ident $type:ident [$($operation:expr),*]: $($kernel:ident)*;)*) => {$(
        #[test]
        fn $name() {
            let operations: &[fn($type, $type) -> $type] = &[$($operation),*];
            let count = operations.len() + 2;
            for (initial, value) in [(7, 12), (-3, 5), (100, -100)].map(|(a, b)| (a as i8 as $type, b as i8 as $type)) {
                let mut expected: Vec<$type> = operations.iter().map(|operation| operation(initial, value)).collect();
                expected.extend([value, if initial == value { value } else { initial }]);
                for device in with_kernels() {
                    for order in 0..5 {
                        $(
                            let mut cells = device.buffer_from(&vec![initial; count]).unwrap();
                            let mut out = device.zeros::<$type>(count).unwrap();
                            let arguments = (cells.slice_mut(), order, value, out.slice_mut());
                            // SAFETY: an element per operation.
                            unsafe { launch_of(&COMMON, &device, &$kernel, LaunchConfig::new(1, 1), arguments) };
                            let name = stringify!($kernel);
                            assert_eq!(cells.to_vec().unwrap(), expected, "{device}: {name}");
                            assert_eq!(out.to_vec().unwrap(), vec![initial; count], "{device}: {name}");
                        )*
                    }
                }
            }
        }
    )*};
}

macro_rules! of_integers {
    ($($name:ident $type:ident: $($kernel:ident)*;)*) => {
        operations! {$(
            $name $type [
                |a, b| a & b, |a, b| a | b, |a, b| a ^ b, $type::wrapping_add, $type::wrapping_sub, Ord::min, Ord::max, |_, b| b
            ]: $($kernel)*;
        )*}
    };
}

of_integers! {
    operations_on_u32 u32: ordered_u32_block ordered_u32_device ordered_u32_system;
    operations_on_u64 u64: ordered_u64_block ordered_u64_device ordered_u64_system;
    operations_on_i32 i32: ordered_i32_block ordered_i32_device ordered_i32_system;
    operations_on_i64 i64: ordered_i64_block ordered_i64_device ordered_i64_system;
}

macro_rules! bits {
    ($type:ident $operator:tt) => { |a, b| $type::from_bits(a.to_bits() $operator b.to_bits()) };
}

operations! {
    operations_on_f32 f32 [bits!(f32 &), bits!(f32 |), bits!(f32 ^), |a, b| a + b, |a, b| a - b, |_, b| b]:
        ordered_f32_block ordered_f32_device ordered_f32_system;
    operations_on_f64 f64 [bits!(f64 &), bits!(f64 |), bits!(f64 ^), |a, b| a + b, |a, b| a - b, |_, b| b]:
        ordered_f64_block ordered_f64_device ordered_f64_system;
}

macro_rules! transfers {
    ($($name:ident $type:ident: $($kernel:ident)*, $blocks:expr;)*) => {$(
        #[test]
        fn $name() {
            // Of the scope of a block, only one block.
            let count: usize = $blocks;
            let first = |value: $type| {
                let mut all = vec![0; count + 1];
                all[0] = value;
                all
            };
            let expected: Vec<$type> = (0..=count as $type).map(|i| 9 + i * i.saturating_sub(1) / 2).collect();
            for device in with_kernels() {
                for order in [0, 3, 4] {
                    $(
                        let mut numbers = device.buffer_from(&first(9)).unwrap();
                        let mut words = device.buffer_from(&first(1)).unwrap();
                        let mut started = device.zeros::<u32>(1).unwrap();
                        let arguments = (order, numbers.slice_mut(), words.slice_mut(), started.slice_mut());
                        let config = LaunchConfig::new(count as u32, 1);
                        // SAFETY: an element per block and one more.
                        unsafe { launch_of(&COMMON, &device, &$kernel, config, arguments) };
                        assert_eq!(numbers.to_vec().unwrap(), expected, "{device}: {} {order}", stringify!($kernel));
                    )*
                }
            }
        }
    )*};
}

transfers! {
    words_of_32_bits_pass_numbers_on u32: transfers_32_device transfers_32_system, if small() { 5 } else { 100 };
    words_of_64_bits_pass_numbers_on u64: transfers_64_device transfers_64_system, if small() { 5 } else { 100 };
    words_of_32_bits_in_a_block u32: transfers_32_block, 1;
    words_of_64_bits_in_a_block u64: transfers_64_block, 1;
}
