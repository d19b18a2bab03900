//! Slices of global memory.

use super::*;

#[test]
fn reads_find_every_element_and_the_end() {
    for device in with_kernels() {
        for (len, block) in [(0_usize, 1), (1, 2), (63, 64), (100, 128)] {
            let input = random_u32(25, len);
            let values = device.buffer_from(&input).unwrap();
            let empty = device.buffer_from::<u32>(&[]).unwrap();
            let mut out = device
                .zeros::<[u64; kernels::slices::READS]>(block)
                .unwrap();
            let arguments = (values.slice(), empty.slice(), out.slice_mut());
            let config = LaunchConfig::new(1, block as u32);
            // SAFETY: an element per thread, more than `len`.
            unsafe { launch(&device, &kernels::slices::read_slice, config, arguments) };
            for (i, found) in out.to_vec().unwrap().into_iter().enumerate() {
                let value = input.get(i).copied().map_or(0, u64::from);
                let within = |len: usize| if i < len { value } else { u64::MAX };
                let expected = [
                    value,
                    value,
                    within(len),
                    within(len / 2),
                    u64::MAX,
                    u64::from(i < len),
                    len as u64,
                    u64::from(len == 0),
                    0,
                    1,
                ];
                assert_eq!(found, expected, "{device}, element {i} of {len}");
            }
        }
    }
}

#[test]
fn writes_reach_every_element() {
    for device in with_kernels() {
        for len in [1, 64, 1000] {
            let input: Vec<u32> = random_u32(26, len).iter().map(|v| v % 1000).collect();
            let mut data = device.buffer_from(&input).unwrap();
            let mut empty = device.zeros::<u32>(0).unwrap();
            let mut lengths = device.zeros::<u64>(4).unwrap();
            let arguments = (data.slice_mut(), empty.slice_mut(), lengths.slice_mut());
            let config = LaunchConfig::for_len(len, 128);
            // SAFETY: not empty, empty, and four elements.
            unsafe { launch(&device, &kernels::slices::write_slice, config, arguments) };
            let expected: Vec<u32> = input.iter().map(|v| 3 * (2 * v + 1001)).collect();
            assert_eq!(data.to_vec().unwrap(), expected, "{device}");
            assert_eq!(lengths.to_vec().unwrap(), [len as u64, 0, 0, 1], "{device}");
        }
    }
}

#[test]
fn elements_have_their_width() {
    let draws = random(27, 128);
    let bytes: Vec<i8> = draws.iter().map(|&draw| draw as i8).collect();
    let shorts: Vec<u16> = draws.iter().map(|&draw| (draw >> 8) as u16).collect();
    let doubles: Vec<f64> = draws.iter().map(|&draw| draw as i64 as f64 * 1.1).collect();
    for device in with_kernels() {
        let byte_in = device.buffer_from(&bytes).unwrap();
        let short_in = device.buffer_from(&shorts).unwrap();
        let double_in = device.buffer_from(&doubles).unwrap();
        let mut short_out = device.zeros::<i16>(128).unwrap();
        let mut byte_out = device.zeros::<u8>(128).unwrap();
        let mut single_out = device.zeros::<f32>(128).unwrap();
        let arguments = (
            byte_in.slice(),
            short_in.slice(),
            double_in.slice(),
            short_out.slice_mut(),
            byte_out.slice_mut(),
            single_out.slice_mut(),
        );
        let config = LaunchConfig::new(2, 64);
        // SAFETY: an element per thread.
        unsafe { launch(&device, &kernels::slices::element_widths, config, arguments) };
        let expected: Vec<i16> = bytes.iter().map(|&v| 3 * i16::from(v)).collect();
        assert_eq!(short_out.to_vec().unwrap(), expected, "{device}");
        let expected: Vec<u8> = shorts.iter().map(|&v| (v >> 4) as u8).collect();
        assert_eq!(byte_out.to_vec().unwrap(), expected, "{device}");
        let expected: Vec<f32> = doubles.iter().map(|&v| v as f32).collect();
        assert_eq!(single_out.to_vec().unwrap(), expected, "{device}");
    }
}
