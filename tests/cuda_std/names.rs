//! Names that are keywords, or that the attributes use themselves; types from macros, with
//! lifetimes and by paths.

use super::*;
use cuda_std::host::ConstantStatic;
use cuda_std_tests_kernels::names::{self, NAMED, Row, first, r#loop, r#type};
use std::marker::PhantomData;

/// One thread.
fn one() -> LaunchConfig {
    LaunchConfig::new(1, 1)
}

#[test]
fn keywords_are_names() {
    assert_eq!(names::r#match.name(), "match");
    for device in with_kernels() {
        let input = device.buffer_from(&[3_u32, 4]).unwrap();
        let mut out = device.zeros::<u32>(1).unwrap();
        let arguments = (input.slice(), 10, out.slice_mut());
        // SAFETY: an element.
        unsafe { launch_of(&COMMON, &device, &names::r#match, one(), arguments) };
        assert_eq!(out.to_vec().unwrap(), [17], "{device}");
    }
}

#[test]
fn names_of_the_expansion_are_free() {
    for device in with_kernels() {
        let a = device.buffer_from(&[1_u32, 2, 3]).unwrap();
        let b = device.buffer_from(&[10_u32, 20]).unwrap();
        let mut out = device.zeros::<u32>(4).unwrap();
        let arguments = (
            a.slice(),
            100,
            b.slice(),
            200,
            b.slice().as_ptr(),
            out.slice_mut(),
        );
        // SAFETY: four elements, and one behind the pointer.
        unsafe { launch_of(&COMMON, &device, &names::thread, one(), arguments) };
        assert_eq!(out.to_vec().unwrap(), [3, 106, 2, 240], "{device}");

        let arguments = (out.slice_mut(), b.slice().as_ptr());
        // SAFETY: there is a place for the sum, and a number behind the pointer.
        unsafe {
            launch_of(
                &COMMON,
                &device,
                &names::statics::add_statics,
                one(),
                arguments,
            )
        };
        let sum = 1 + 20 + 300 + 4000 + 50_000 + 600_000 + 10;
        assert_eq!(out.to_vec().unwrap(), [sum, 106, 2, 240], "{device}");
    }
}

#[test]
fn types_may_come_from_macros() {
    for device in with_kernels() {
        let values = device.buffer_from(&[1.5_f32, 2.5, -1.0]).unwrap();
        let mut out = device.zeros::<f32>(1).unwrap();
        let arguments = (
            0.25,
            values.slice(),
            values.slice(),
            values.slice().as_ptr().cast(),
            out.slice_mut(),
        );
        // SAFETY: an element, and two behind the pointer.
        unsafe { launch_of(&COMMON, &device, &names::sum_f32, one(), arguments) };
        assert_eq!(out.to_vec().unwrap(), [10.25], "{device}");

        let values = device.buffer_from(&[1_i64 << 40, -3]).unwrap();
        let mut out = device.zeros::<i64>(1).unwrap();
        let arguments = (
            7,
            values.slice(),
            values.slice(),
            values.slice().as_ptr().cast(),
            out.slice_mut().as_mut_ptr().cast(),
        );
        // SAFETY: an element, and two behind the pointer.
        unsafe { launch_of(&COMMON, &device, &names::sum_i64, one(), arguments) };
        assert_eq!(out.to_vec().unwrap(), [(3 << 40) - 2], "{device}");
    }
}

#[test]
fn elements_may_have_lifetimes() {
    for device in with_kernels() {
        let values = device.buffer_from(&[1_u32, 2, 3, 4, 5]).unwrap();
        // The bytes of three rows, the last of which is passed alone.
        let rows = device.buffer_from(&[[0_u32, 2], [1, 5], [2, 3]]).unwrap();
        let mut sums = device.zeros::<[u32; 2]>(3).unwrap();
        let pointer: *const Row<'static> = rows.slice().as_ptr().cast();
        // SAFETY: two numbers are the layout of a row, whose other field has no bytes.
        let (two, last) = unsafe { (DeviceSlice::from_raw_parts(pointer, 2), pointer.add(2)) };
        let arguments = (values.slice(), two, two, last, sums.slice_mut());
        // SAFETY: the rows are within the values.
        unsafe { launch_of(&COMMON, &device, &names::rows, one(), arguments) };
        assert_eq!(
            sums.to_vec().unwrap(),
            [[3, 6], [14, 6], [3, 6]],
            "{device}"
        );
    }
    let row = Row {
        start: 0,
        end: 0,
        values: PhantomData,
    };
    assert_eq!(size_of_val(&row), size_of::<[u32; 2]>());
}

#[test]
fn constants_of_one_name_are_told_apart() {
    for device in with_kernels() {
        let mut out = device.zeros::<[u32; 5]>(1).unwrap();
        let mut read = || {
            let arguments = (out.slice_mut().as_mut_ptr(),);
            // SAFETY: five elements, and this test alone sets the constants.
            unsafe { launch_of(&COMMON, &device, &names::read_constants, one(), arguments) };
            out.to_vec().unwrap()[0]
        };
        assert_eq!(read(), [10, 11, 12, 13, 14], "{device}");
        // SAFETY: the launch has finished.
        unsafe {
            let set = |constant: *const u32, value: u32| {
                device.set_constant(&COMMON, constant, &value).unwrap()
            };
            set(&raw const r#type::CONSTANT, 22);
            assert_eq!(read(), [10, 11, 22, 13, 14], "{device}");
            let pair = &raw const first::CONSTANT;
            device.set_constant(&COMMON, pair, &[20, 21]).unwrap();
            set(&raw const r#loop, 23);
            set(&raw const NAMED, 24);
            assert_eq!(read(), [20, 21, 22, 23, 24], "{device}");
            // The simulators of a process share their constants.
            set(&raw const r#type::CONSTANT, 12);
            device.set_constant(&COMMON, pair, &[10, 11]).unwrap();
            set(&raw const r#loop, 13);
            set(&raw const NAMED, 14);
        }
    }
}

#[test]
fn constants_have_the_names_of_the_ptx() {
    let name = |constant: *const u32| {
        let constant = ConstantStatic::find(constant).unwrap();
        (constant.name(), constant.qualified_name())
    };
    let module = "cuda_std_tests_kernels$names";
    assert_eq!(
        name(&raw const r#type::CONSTANT),
        ("CONSTANT", format!("{module}$type$CONSTANT"))
    );
    assert_eq!(name(&raw const r#loop), ("loop", format!("{module}$loop")));
    assert_eq!(name(&raw const NAMED).0, "GIVEN_NAME");
}

#[test]
fn plain_statics_may_be_shared() {
    for device in with_kernels() {
        let mut out = device.zeros::<u32>(3).unwrap();
        let (config, arguments) = (LaunchConfig::new(3, 40), (out.slice_mut(),));
        // SAFETY: an element per block.
        unsafe { launch_of(&COMMON, &device, &names::shared_count, config, arguments) };
        let sum = 40 * 39 / 2;
        assert_eq!(out.to_vec().unwrap(), [sum, sum + 1, sum + 2], "{device}");
    }
}
