//! The types of elements in a device's memory.

/// A type that a buffer can hold: plain data, for which every bit pattern is a value. All integers
/// and floats are elements, and so are custom `#[repr(C)]` structs that derive `bytemuck::Pod`.
///
/// ```
/// use bytemuck::{Pod, Zeroable};
/// use gridstride::Device;
///
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
/// struct Point {
///     x: f32,
///     y: f32,
/// }
///
/// let points = [Point { x: 1.0, y: 2.0 }];
/// assert_eq!(Device::cpu().buffer_from(&points)?.to_vec()?, points);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a buffer cannot hold elements of type `{Self}`",
    label = "not an `Element`",
    note = "elements are numbers, arrays of them, and `#[repr(C)]` structs that derive `Clone`, \
            `Copy`, `bytemuck::Pod` and `bytemuck::Zeroable`",
    note = "the derive macros need bytemuck's feature `derive`; a `bool`, an enum or padding \
            between fields is no plain data: use a `u8` or `u32`, and add fields in place of padding"
)]
pub trait Element: bytemuck::Pod + Send + Sync {}
// Else the compiler reports the traits that this impl asks for, in place of the message above.
#[diagnostic::do_not_recommend]
impl<T: bytemuck::Pod + Send + Sync> Element for T {}
