//! Vectors of glam and numbers of half.

use cuda_std::glam::{
    self, Affine3A, DVec2, DVec3, DVec4, IVec2, IVec3, IVec4, Mat3, Mat3A, Mat4, Quat, UVec2,
    UVec3, UVec4, Vec2, Vec3, Vec3A, Vec4,
};
use cuda_std::prelude::*;
use cuda_std::{bf16, f16};

/// How many types [`layouts`] is about.
pub const LAYOUTS: usize = 27;

/// Size and alignment of glam's types and half's.
pub fn sizes() -> [[u32; 2]; LAYOUTS] {
    macro_rules! sizes {
        ($($type:ty)*) => { [$([size_of::<$type>() as u32, align_of::<$type>() as u32]),*] };
    }
    sizes! {
        Vec2 Vec3 Vec3A Vec4 Quat Mat3 Mat3A Mat4 Affine3A DVec2 DVec3 DVec4 glam::DQuat glam::DMat2 glam::DMat3
        glam::DMat4 glam::DAffine2 glam::DAffine3 IVec2 IVec3 IVec4 UVec2 UVec3 UVec4 f16 bf16 Nested
    }
}

/// Vectors between numbers, so that a layout of their own would show.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Nested {
    /// Padding follows.
    pub byte: u8,
    /// Aligned to 16.
    pub four: Vec4,
    /// Aligned to 4.
    pub three: Vec3,
    /// Aligned to 8.
    pub two: Vec2,
    /// Aligned to 16.
    pub aligned: Vec3A,
    /// Aligned to 16.
    pub doubles: DVec2,
    /// Aligned to 2.
    pub half: f16,
}

/// Writes [`sizes`] as the device has them.
///
/// # Safety
/// `out` has an element.
#[kernel(block = 1)]
pub unsafe fn layouts(out: DeviceSliceMut<[[u32; 2]; LAYOUTS]>) {
    // SAFETY: an element.
    unsafe { out.set(0, sizes()) };
}

/// Transforms points, in a struct of vectors and by value.
///
/// # Safety
/// `out` is as long as `points`.
#[kernel]
pub unsafe fn transforms(
    points: &[Vec3],
    nested: Nested,
    matrix: Mat4,
    offset: DVec3,
    out: DeviceSliceMut<[f32; 8]>,
) {
    for i in thread::grid_stride(points.len()) {
        let point = points[i];
        let moved = matrix.transform_point3(point) + offset.as_vec3();
        let other = nested.four.truncate() * nested.byte as f32 + nested.three.cross(point);
        let scale =
            nested.two.dot(nested.doubles.as_vec2()) + nested.aligned.z + nested.half.to_f32();
        let results = [
            moved.x,
            moved.y,
            moved.z,
            other.x,
            other.y,
            other.z,
            scale,
            point.length_squared(),
        ];
        // SAFETY: below the length.
        unsafe { out.set(i, results) };
    }
}

/// Conversions of half precision, and sums in it.
///
/// # Safety
/// All are as long as `input`.
#[kernel]
pub unsafe fn halves(
    input: &[f32],
    others: &[f16],
    out: DeviceSliceMut<[u16; 4]>,
    wide: DeviceSliceMut<[f32; 2]>,
) {
    for i in thread::grid_stride(input.len()) {
        let (half, brain) = (f16::from_f32(input[i]), bf16::from_f32(input[i]));
        // SAFETY: below the lengths.
        unsafe {
            let sums = [half + others[i], half * others[i]];
            out.set(
                i,
                [
                    half.to_bits(),
                    brain.to_bits(),
                    sums[0].to_bits(),
                    sums[1].to_bits(),
                ],
            );
            wide.set(i, [others[i].to_f32(), brain.to_f32()]);
        }
    }
}

/// Numbers of half precision by value.
///
/// # Safety
/// `out` has an element.
#[kernel(block = 1)]
pub unsafe fn half_parameters(a: f16, b: bf16, c: f16, out: DeviceSliceMut<[u32; 3]>) {
    let bits = [a.to_bits(), b.to_bits(), c.to_bits()];
    // SAFETY: an element.
    unsafe { out.set(0, bits.map(u32::from)) };
}
