//! The types of a kernel's parameters.

use core::marker::PhantomData;

/// A type that can be a kernel's parameter: passed by value, with the same layout on the host and
/// on the GPU.
///
/// Derive it for structs:
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// Arguments of [`add`]. By name, they cannot be swapped.
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, DeviceParam)]
/// pub struct Add {
///     /// The left operands.
///     pub left: DeviceSlice<f32>,
///     /// The right operands.
///     pub right: DeviceSlice<f32>,
///     /// Their sums.
///     pub sums: DeviceSliceMut<f32>,
/// }
///
/// /// # Safety
/// /// All slices have the same length.
/// #[kernel]
/// pub unsafe fn add(Add { left, right, sums }: Add) {
///     for i in thread::grid_stride(sums.len()) {
///         // SAFETY: `i` is below the lengths, and the launch gives each `i` to one thread.
///         unsafe { sums.set(i, left.at(i) + right.at(i)) };
///     }
/// }
/// # fn main() { assert_eq!(add.name(), "add"); }
/// ```
///
/// The compiler refuses a struct without `#[repr(C)]`, and names a field that cannot be passed:
///
/// ```compile_fail,E0277
/// # use cuda_std::prelude::*;
/// #[repr(C)]
/// #[derive(Clone, Copy, DeviceParam)]
/// struct Named {
///     name: &'static str,
/// }
/// ```
/// ```compile_fail
/// # use cuda_std::prelude::*;
/// #[derive(Clone, Copy, DeviceParam)]
/// struct Pair {
///     first: u32,
///     second: u64,
/// }
/// ```
///
/// # Safety
/// The type must be `#[repr(C)]` or a primitive and hold no references, and its pointers must be
/// addresses of the device. Parameters go to the device only, and nothing is read back as this type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel's parameter, nor a field of one",
    label = "not a `DeviceParam`",
    note = "parameters are numbers, pointers, device slices, and `#[repr(C)]` structs with \
            `#[derive(DeviceParam)]`"
)]
pub unsafe trait DeviceParam: Copy + 'static {
    /// Calls `visit` with the addresses of the device's memory that are in the value, as far as its
    /// type tells them from numbers.
    #[doc(hidden)]
    #[cfg(not(target_arch = "nvptx64"))]
    fn visit_addresses(&self, _visit: &mut dyn FnMut(usize)) {}
}

/// Used by `#[kernel]` at the type of a parameter that is passed by value: compiles if such a
/// parameter can be passed.
#[doc(hidden)]
pub const fn assert_parameter<T: Copy>() {
    // rustc's code generator panics at these.
    assert!(
        align_of::<T>() <= 16,
        "a kernel's parameter cannot be aligned to more than 16 bytes: lower the `align` of the \
         type, or pass a pointer to a value in a buffer"
    );
}

macro_rules! params {
    ($($type:ty)*) => {$(
        // SAFETY: a primitive has one layout on both sides, and every value of it is one on the device.
        unsafe impl DeviceParam for $type {}
    )*};
}
params! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char }

#[cfg(feature = "half")]
params! { half::f16 half::bf16 }

// With its feature `cuda`, glam's vectors have the alignment of CUDA's, on the host too. Only
// `Mat2` and `Affine2` have another one there, that of SIMD registers.
#[cfg(feature = "glam")]
params! {
    glam::Vec2 glam::Vec3 glam::Vec3A glam::Vec4 glam::Quat glam::Mat3 glam::Mat3A glam::Mat4 glam::Affine3A
    glam::DVec2 glam::DVec3 glam::DVec4 glam::DQuat glam::DMat2 glam::DMat3 glam::DMat4 glam::DAffine2 glam::DAffine3
    glam::IVec2 glam::IVec3 glam::IVec4 glam::UVec2 glam::UVec3 glam::UVec4
    glam::I64Vec2 glam::I64Vec3 glam::I64Vec4 glam::U64Vec2 glam::U64Vec3 glam::U64Vec4
    glam::USizeVec2 glam::USizeVec3 glam::USizeVec4
}
// SAFETY: a pointer is 64 bits wide on both sides.
unsafe impl<T: 'static> DeviceParam for *const T {
    #[cfg(not(target_arch = "nvptx64"))]
    fn visit_addresses(&self, visit: &mut dyn FnMut(usize)) {
        visit(*self as usize);
    }
}
// SAFETY: a pointer is 64 bits wide on both sides.
unsafe impl<T: 'static> DeviceParam for *mut T {
    #[cfg(not(target_arch = "nvptx64"))]
    fn visit_addresses(&self, visit: &mut dyn FnMut(usize)) {
        visit(*self as usize);
    }
}
// SAFETY: elements of one layout, without gaps.
unsafe impl<T: DeviceParam, const N: usize> DeviceParam for [T; N] {
    #[cfg(not(target_arch = "nvptx64"))]
    fn visit_addresses(&self, visit: &mut dyn FnMut(usize)) {
        self.iter().for_each(|one| one.visit_addresses(visit));
    }
}
// SAFETY: it has no data.
unsafe impl<T: ?Sized + 'static> DeviceParam for PhantomData<T> {}
