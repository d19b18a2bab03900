//! Atomic operations on global and shared memory.

use super::*;

/// What the cells hold in the end, `initial` being in them and `values` applied with the
/// thread numbers from `first` on; the cell of exchanges and the sum of what left it only
/// together, as cell 6.
macro_rules! integers {
    ($($name:ident, $type:ty, $global:ident, $shared:ident, $value:expr;)*) => {$(
        #[test]
        fn $name() {
            const CELLS: usize = kernels::atomics::CELLS;
            let bits = <$type>::BITS;
            let block = 96;
            let count = block * blocks() as usize;
            let value: fn(u64) -> $type = $value;
            let values: Vec<$type> = random(15, count).into_iter().map(value).collect();
            let initial: [$type; CELLS] = [7, <$type>::MAX, <$type>::MIN, !0, 0, 11, 0, 0, 0];
            let check = |device: &Device, first: usize, values: &[$type], cells: &[$type]| {
                let sum = values.iter().fold(0, |sum: $type, &v| sum.wrapping_add(v));
                let set = (first..first + values.len()).fold(0, |set, i| set | 1 << (i as u32 % bits));
                let expected: [$type; 6] = [
                    sum.wrapping_add(7),
                    values.iter().map(|&v| <$type>::wrapping_sub(100, v)).min().unwrap(),
                    *values.iter().max().unwrap(),
                    !set,
                    set,
                    values.iter().fold(11, |all, v| all ^ v),
                ];
                assert_eq!(cells[..6], expected, "{device}");
                assert!(values.contains(&cells[6]), "{device}");
                assert_eq!(cells[6].wrapping_add(cells[7]), sum, "{device}");
                assert_eq!(cells[8], sum, "{device}");
            };
            // Additions in some order: what one leaves is what one other finds, from 7 on.
            let check_chain = |device: &Device, values: &[$type], found: &[$type]| {
                let mut left: Vec<$type> = values.iter().zip(found).map(|(v, f)| f.wrapping_add(*v)).collect();
                let mut found = found.to_vec();
                let sum = values.iter().fold(7, |sum: $type, &v| sum.wrapping_add(v));
                left.push(7);
                found.push(sum);
                left.sort_unstable();
                found.sort_unstable();
                assert!(left == found, "{device}");
            };
            for device in with_kernels() {
                let config = LaunchConfig::new(blocks(), block as u32);
                let input = device.buffer_from(&values).unwrap();
                let mut found = device.zeros::<$type>(count).unwrap();
                let mut cells = device.buffer_from(&initial).unwrap();
                let arguments = (cells.slice_mut(), input.slice(), found.slice_mut());
                // SAFETY: CELLS cells, and an element per thread.
                unsafe { launch(&device, &kernels::atomics::$global, config, arguments) };
                check(&device, 0, &values, &cells.to_vec().unwrap());
                check_chain(&device, &values, &found.to_vec().unwrap());

                let mut cells = device.buffer_from(&initial.repeat(blocks() as usize)).unwrap();
                let arguments = (cells.slice_mut(), input.slice(), found.slice_mut());
                // SAFETY: CELLS cells per block, and an element per thread.
                unsafe { launch(&device, &kernels::atomics::$shared, config, arguments) };
                let (cells, found) = (cells.to_vec().unwrap(), found.to_vec().unwrap());
                for (i, values) in values.chunks(block).enumerate() {
                    check(&device, block * i, values, &cells[CELLS * i..][..CELLS]);
                    check_chain(&device, values, &found[block * i..][..block]);
                }
            }
        }
    )*};
}

integers! {
    integers_of_u32, u32, atomics_global_u32, atomics_shared_u32, |bits| bits as u32;
    integers_of_i32, i32, atomics_global_i32, atomics_shared_i32, |bits| bits as i32;
    integers_of_u64, u64, atomics_global_u64, atomics_shared_u64, |bits| bits;
    integers_of_i64, i64, atomics_global_i64, atomics_shared_i64, |bits| bits as i64;
}

macro_rules! floats {
    ($($name:ident, $type:ty, $global:ident, $shared:ident;)*) => {$(
        #[test]
        fn $name() {
            let block = 96;
            let count = block * blocks() as usize;
            // Positive multiples of 1/4 with a sum below 2²²: exact in any order.
            let values: Vec<$type> = random(16, count).iter().map(|bits| (bits % 4096 + 1) as $type / 4.0).collect();
            let check = |device: &Device, values: &[$type], found: &[$type], sum: $type| {
                assert_eq!(sum, values.iter().sum::<$type>() + 0.5, "{device}");
                let mut found = found.to_vec();
                let mut left: Vec<$type> = values.iter().zip(&found).map(|(v, f)| f + v).collect();
                left.push(0.5);
                found.push(sum);
                left.sort_by(<$type>::total_cmp);
                found.sort_by(<$type>::total_cmp);
                assert!(left == found, "{device}");
            };
            for device in with_kernels() {
                let config = LaunchConfig::new(blocks(), block as u32);
                let input = device.buffer_from(&values).unwrap();
                let mut found = device.zeros::<$type>(count).unwrap();
                let mut sum = device.buffer_from::<$type>(&[0.5]).unwrap();
                let arguments = (sum.slice_mut(), input.slice(), found.slice_mut());
                // SAFETY: an element, and one per thread.
                unsafe { launch(&device, &kernels::atomics::$global, config, arguments) };
                check(&device, &values, &found.to_vec().unwrap(), sum.to_vec().unwrap()[0]);

                let mut sums = device.buffer_from::<$type>(&vec![0.5; blocks() as usize]).unwrap();
                let arguments = (sums.slice_mut(), input.slice(), found.slice_mut());
                // SAFETY: an element per block, and one per thread.
                unsafe { launch(&device, &kernels::atomics::$shared, config, arguments) };
                let (sums, found) = (sums.to_vec().unwrap(), found.to_vec().unwrap());
                for (i, values) in values.chunks(block).enumerate() {
                    check(&device, values, &found[block * i..][..block], sums[i]);
                }
            }
        }
    )*};
}

floats! {
    additions_of_f32, f32, add_global_f32, add_shared_f32;
    additions_of_f64, f64, add_global_f64, add_shared_f64;
}

macro_rules! relays {
    ($($name:ident, $type:ty, $first:expr;)*) => {$(
        /// Blocks wait for what others store.
        #[test]
        fn $name() {
            let first: $type = $first;
            for device in with_kernels() {
                let count = 8 * blocks();
                let mut ticket = device.zeros::<u32>(1).unwrap();
                let mut places = vec![0; count as usize + 1];
                places[0] = first;
                let mut places = device.buffer_from(&places).unwrap();
                let arguments = (ticket.slice_mut(), places.slice_mut());
                // SAFETY: a place for each block and one more, all but the first 0.
                unsafe { launch(&device, &kernels::atomics::$name, LaunchConfig::new(count, 64), arguments) };
                let expected: Vec<$type> = (0..=count as $type).map(|place| first + 3 * place).collect();
                assert_eq!(places.to_vec().unwrap(), expected, "{device}");
            }
        }
    )*};
}

relays! {
    relay_u32, u32, 1;
    relay_i32, i32, 1 - (1 << 30);
    relay_u64, u64, 1 << 40 | 1;
    relay_i64, i64, -(1 << 40) - 1;
}
