//! The atomic floats of each scope.

use super::*;
use cuda_std_tests_kernels::atomic_floats::*;

macro_rules! atomic_floats {
    ($($name:ident $type:ident: $($methods:ident $sums:ident)*;)*) => {$(
        #[test]
        fn $name() {
            let values: [$type; 5] = [1.5, 0.25, -2.0, 3.75, 100.0];
            let bits = |operation: fn(u64, u64) -> u64, a: $type, b: $type| {
                $type::from_bits(operation(a.to_bits().into(), b.to_bits().into()).try_into().unwrap())
            };
            let [add, sub, and, or, xor] = values;
            let anded = bits(|a, b| a & b, 2.0 * add - sub, and);
            let ored = bits(|a, b| a | b, anded, or);
            let expected = [7.0, add, 2.0 * add, 2.0 * add - sub, anded, ored, bits(|a, b| a ^ b, ored, xor), add];
            // Positive multiples of 1/2 with a sum below 2²²: exact in any order.
            let block = 96;
            let numbers = random(50, block * blocks() as usize);
            let numbers: Vec<$type> = numbers.iter().map(|v| (v % 4096) as $type).collect();
            let sums: Vec<$type> = numbers.chunks(block).map(|block| 0.5 * block.iter().sum::<$type>()).collect();
            for device in with_kernels() {
                $(
                    for order in 0..5 {
                        let mut cell = device.buffer_from(&[7.0 as $type]).unwrap();
                        let mut out = device.zeros::<$type>(8).unwrap();
                        let address = cell.slice_mut().as_mut_ptr().cast_const().cast();
                        let arguments = (address, order, values, out.slice_mut());
                        // SAFETY: a float, and eight elements.
                        unsafe { launch_of(&COMMON, &device, &$methods, LaunchConfig::new(1, 1), arguments) };
                        assert_eq!(out.to_vec().unwrap(), expected, "{device}, order {order}");
                        assert_eq!(cell.to_vec().unwrap(), [expected[6]], "{device}");
                    }
                    let input = device.buffer_from(&numbers).unwrap();
                    let mut cells = device.zeros::<$type>(blocks() as usize).unwrap();
                    let cells_there = cells.slice_mut();
                    // SAFETY: atomic floats have the layout of floats, and the buffer outlives the
                    // launch.
                    let slice = unsafe {
                        cuda_std::DeviceSlice::from_raw_parts(cells_there.as_mut_ptr().cast_const().cast(), cells_there.len())
                    };
                    let config = LaunchConfig::new(blocks(), block as u32);
                    // SAFETY: an element per thread, and a sum per block.
                    unsafe { launch_of(&COMMON, &device, &$sums, config, (input.slice(), slice)) };
                    assert_eq!(cells.to_vec().unwrap(), sums, "{device} {}", stringify!($sums));
                )*
            }
        }
    )*};
}

atomic_floats! {
    floats_of_32_bits f32: methods_of_atomic_f32 sums_in_atomic_f32 methods_of_block_atomic_f32 sums_in_block_atomic_f32
        methods_of_system_atomic_f32 sums_in_system_atomic_f32;
    floats_of_64_bits f64: methods_of_atomic_f64 sums_in_atomic_f64 methods_of_block_atomic_f64 sums_in_block_atomic_f64
        methods_of_system_atomic_f64 sums_in_system_atomic_f64;
}
