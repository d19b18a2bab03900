//! What buffers hold.

/// A type that a buffer can hold: plain data, for which every bit pattern is a value. All integers and floats are;
/// custom `#[repr(C)]` structs become so by deriving `bytemuck::Pod`.
pub trait Element: bytemuck::Pod + Send + Sync {}
impl<T: bytemuck::Pod + Send + Sync> Element for T {}
