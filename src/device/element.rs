//! The types of elements in a device's memory.

/// A type that a buffer can hold: plain data, for which every bit pattern is a value. All integers
/// and floats are elements, and so are custom `#[repr(C)]` structs that derive `bytemuck::Pod`.
pub trait Element: bytemuck::Pod + Send + Sync {}
impl<T: bytemuck::Pod + Send + Sync> Element for T {}
