//! The trait without the derive macro of its name: `cust` has another macro.

use core::marker::PhantomData;
use core::mem::{MaybeUninit, offset_of};
use core::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize, NonZeroU8,
    NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize, Wrapping,
};

/// A type whose values may be copied to a device byte by byte, and back.
///
/// ```
/// use cust_core::DeviceCopy;
///
/// #[repr(C)]
/// #[derive(Clone, Copy, DeviceCopy)]
/// struct Ray {
///     origin: [f32; 3],
///     direction: [f32; 3],
///     is_shadow: bool,
/// }
///
/// let mut bytes = [0; size_of::<Ray>()];
/// assert!(Ray::is_value(&bytes));
/// bytes[24] = 2;
/// assert!(!Ray::is_value(&bytes));
/// ```
///
/// All fields must have the trait:
///
/// ```compile_fail,E0277
/// # use cust_core::DeviceCopy;
/// #[derive(Clone, Copy, DeviceCopy)]
/// struct Named {
///     name: &'static str,
/// }
/// ```
///
/// # Safety
///
/// The type holds no references to memory that the device cannot access, and has the same layout on
/// both sides. Every pattern of initialised bytes is a value of the type, unless
/// [`is_value`](Self::is_value) refuses those that are none.
#[diagnostic::on_unimplemented(
    message = "values of `{Self}` cannot be copied to a device",
    label = "not `DeviceCopy`",
    note = "add `#[derive(Clone, Copy, DeviceCopy)]` to a struct whose fields are `DeviceCopy`"
)]
pub unsafe trait DeviceCopy: Copy {
    /// Whether `bytes`, as many as the type has, are a value of the type. The default is `true`. A
    /// type with a `bool`, a `char` or an enum overrides it, as the derive macro does:
    ///
    /// ```
    /// use cust_core::DeviceCopy;
    ///
    /// #[derive(Clone, Copy)]
    /// #[repr(u8)]
    /// enum Axis {
    ///     X,
    ///     Y,
    /// }
    ///
    /// // SAFETY: one byte on both sides, of which 0 and 1 are values.
    /// unsafe impl DeviceCopy for Axis {
    ///     fn is_value(bytes: &[u8]) -> bool {
    ///         bytes[0] <= Axis::Y as u8
    ///     }
    /// }
    /// assert!(Axis::is_value(&[Axis::X as u8]) && !Axis::is_value(&[2]));
    /// ```
    ///
    /// `Module::get_global` of cust takes the type of a variable from its caller, so copies from
    /// variables check this. Copies from buffers do not: a kernel that writes to a buffer of this
    /// type is launched by an unsafe function.
    fn is_value(bytes: &[u8]) -> bool {
        let _ = bytes;
        true
    }
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        // SAFETY: numbers have one layout on both sides, and all bytes are numbers.
        unsafe impl DeviceCopy for $type {}
    )*};
}
numbers! { () u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 }

#[cfg(feature = "half")]
numbers! { half::f16 half::bf16 }

// With its feature `cuda`, glam's vectors have the alignment of CUDA's, on the host too.
#[cfg(feature = "glam")]
numbers! {
    glam::Vec2 glam::Vec3 glam::Vec3A glam::Vec4 glam::Quat glam::Mat3 glam::Mat3A glam::Mat4 glam::Affine3A
    glam::DVec2 glam::DVec3 glam::DVec4 glam::DQuat glam::DMat2 glam::DMat3 glam::DMat4 glam::DAffine2 glam::DAffine3
    glam::I8Vec2 glam::I8Vec3 glam::I8Vec4 glam::U8Vec2 glam::U8Vec3 glam::U8Vec4
    glam::I16Vec2 glam::I16Vec3 glam::I16Vec4 glam::U16Vec2 glam::U16Vec3 glam::U16Vec4
    glam::IVec2 glam::IVec3 glam::IVec4 glam::UVec2 glam::UVec3 glam::UVec4
    glam::I64Vec2 glam::I64Vec3 glam::I64Vec4 glam::U64Vec2 glam::U64Vec3 glam::U64Vec4
    glam::USizeVec2 glam::USizeVec3 glam::USizeVec4
}

macro_rules! not_zero {
    ($($type:ty)*) => {$(
        // SAFETY: numbers have one layout on both sides, and 0 is refused.
        unsafe impl DeviceCopy for $type {
            fn is_value(bytes: &[u8]) -> bool {
                bytes.iter().any(|&byte| byte != 0)
            }
        }
    )*};
}
not_zero! {
    NonZeroU8 NonZeroU16 NonZeroU32 NonZeroU64 NonZeroU128 NonZeroUsize
    NonZeroI8 NonZeroI16 NonZeroI32 NonZeroI64 NonZeroI128 NonZeroIsize
}

// SAFETY: one byte on both sides, which is checked.
unsafe impl DeviceCopy for bool {
    fn is_value(bytes: &[u8]) -> bool {
        matches!(bytes, [0 | 1])
    }
}
// SAFETY: a u32 on both sides, which is checked.
unsafe impl DeviceCopy for char {
    fn is_value(bytes: &[u8]) -> bool {
        bytes
            .try_into()
            .is_ok_and(|bytes| char::from_u32(u32::from_ne_bytes(bytes)).is_some())
    }
}
// SAFETY: 64 bits on both sides, which may be any number. Only unsafe code follows a pointer.
unsafe impl<T> DeviceCopy for *const T {}
// SAFETY: 64 bits on both sides, which may be any number. Only unsafe code follows a pointer.
unsafe impl<T> DeviceCopy for *mut T {}
// SAFETY: elements of one layout, without gaps, each of which is checked.
unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for [T; N] {
    fn is_value(bytes: &[u8]) -> bool {
        // Elements without bytes make an array without bytes, which has no chunks.
        match size_of::<T>() {
            0 => N == 0 || T::is_value(bytes),
            size => bytes.chunks_exact(size).all(T::is_value),
        }
    }
}
// SAFETY: it has no data.
unsafe impl<T: ?Sized> DeviceCopy for PhantomData<T> {}
// SAFETY: the layout of T, and its bytes may be any.
unsafe impl<T: DeviceCopy> DeviceCopy for MaybeUninit<T> {}
// SAFETY: the layout and the values of T.
unsafe impl<T: DeviceCopy> DeviceCopy for Wrapping<T> {
    fn is_value(bytes: &[u8]) -> bool {
        T::is_value(bytes)
    }
}
// SAFETY: the same compiler's layout on both sides, as for a struct that derives the trait. Where
// the variant is stored is unspecified, so no bytes are accepted.
unsafe impl<T: DeviceCopy> DeviceCopy for Option<T> {
    fn is_value(_: &[u8]) -> bool {
        false
    }
}
// SAFETY: as for Option.
unsafe impl<T: DeviceCopy, E: DeviceCopy> DeviceCopy for Result<T, E> {
    fn is_value(_: &[u8]) -> bool {
        false
    }
}

macro_rules! tuples {
    ($(($($type:ident $index:tt),*))*) => {$(
        // SAFETY: the layout is that of a struct that derives the trait, and each field is checked.
        unsafe impl<$($type: DeviceCopy),*> DeviceCopy for ($($type,)*) {
            fn is_value(bytes: &[u8]) -> bool {
                true $(&& $type::is_value(&bytes[offset_of!(Self, $index)..][..size_of::<$type>()]))*
            }
        }
    )*};
}
tuples! {
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
}
