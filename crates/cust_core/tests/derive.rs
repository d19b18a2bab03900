//! What the derive macro implements, and which bytes `is_value` accepts.

use core::marker::PhantomData;
use core::mem::offset_of;
use core::num::NonZeroU16;

use cust_core::DeviceCopy;

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Mixed {
    tag: u8,
    letter: char,
    pair: (bool, u32),
    axis: Axis,
}

#[repr(i16)]
#[derive(Clone, Copy, DeviceCopy)]
enum Axis {
    X = -1,
    Y = 300,
}

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Generic<'a, T: PartialEq, const N: usize>([T; N], PhantomData<&'a T>);

/// A condition of itself, if conditions stood on the impl.
#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct List {
    next: *const List,
}

#[derive(Clone, Copy, DeviceCopy)]
struct Nothing;

#[derive(Clone, Copy, DeviceCopy)]
#[expect(dead_code, reason = "only its type is used")]
enum Shape {
    Circle(f32),
    Square { side: f32 },
}

#[derive(Clone, Copy, DeviceCopy)]
#[expect(dead_code, reason = "only its type is used")]
enum WithoutRepr {
    A,
    B,
}

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
union Bits {
    number: f32,
    bits: u32,
}

/// A static whose name the macro must not take for its own variable's.
mod names {
    #[expect(non_upper_case_globals, reason = "so is a kernel's, on the host")]
    #[expect(dead_code, reason = "only its name matters")]
    static bytes: u8 = 0;

    #[repr(C)]
    #[derive(Clone, Copy, cust_core::DeviceCopy)]
    pub struct Beside(pub u8);
}

#[derive(Clone, Copy, DeviceCopy)]
enum Never {}

/// Zeros, a valid `axis` aside.
fn mixed() -> [u8; size_of::<Mixed>()] {
    let mut bytes = [0; size_of::<Mixed>()];
    bytes[offset_of!(Mixed, axis)..][..2].copy_from_slice(&300_i16.to_ne_bytes());
    bytes
}

#[test]
fn each_field_is_checked() {
    assert!(Mixed::is_value(&mixed()));
    let bool_at = offset_of!(Mixed, pair) + offset_of!((bool, u32), 0);
    for (place, byte, is_value) in [
        (offset_of!(Mixed, tag), 255, true),
        // Padding may be anything.
        (offset_of!(Mixed, tag) + 1, 255, true),
        (offset_of!(Mixed, letter) + 3, 255, false),
        (bool_at, 1, true),
        (bool_at, 2, false),
        (offset_of!(Mixed, axis), 0, false),
    ] {
        let mut bytes = mixed();
        bytes[place] = byte;
        assert_eq!(Mixed::is_value(&bytes), is_value, "byte {place} is {byte}");
    }
}

#[test]
fn a_variant_is_known_by_its_number() {
    for number in [-1, 0, 1, 44, 255, 300, i16::MAX] {
        let is_value = matches!(number, -1 | 300);
        assert_eq!(Axis::is_value(&number.to_ne_bytes()), is_value, "{number}");
    }
}

#[test]
fn bytes_of_an_unspecified_layout_are_refused() {
    assert!(!Shape::is_value(&[0; size_of::<Shape>()]));
    assert!(!WithoutRepr::is_value(&[0]));
    assert!(!Option::<u32>::is_value(&[0; 8]));
}

#[test]
fn other_types() {
    assert!(Generic::<bool, 2>::is_value(&[0, 1]));
    assert!(!Generic::<bool, 2>::is_value(&[0, 2]));
    assert!(List::is_value(&[255; 8]));
    assert!(Nothing::is_value(&[]) && <[Nothing; 2]>::is_value(&[]));
    assert!(!Never::is_value(&[]) && !<[Never; 1]>::is_value(&[]));
    assert!(<[Never; 0]>::is_value(&[]));
    assert!(Bits::is_value(&[255; 4]));
    assert!(names::Beside::is_value(&[names::Beside(1).0]));
    assert!(NonZeroU16::is_value(&[0, 1]) && !NonZeroU16::is_value(&[0, 0]));
}
