//! Text from kernels, and assertions.
//!
//! On a GPU the driver collects the text in a buffer of 1 MiB (`CU_LIMIT_PRINTF_FIFO_SIZE`) and
//! prints it when the host waits for the device. In the simulator it goes to the host's standard
//! output at once.
//!
//! # What a failed kernel reports
//!
//! On a GPU, [`assert!`](crate::assert), [`assert_eq!`](crate::assert_eq) and
//! [`assert_ne!`](crate::assert_ne) of this crate print their message, file, line, block and thread.
//! A module that imports them by name, `use cuda_std::{assert, assert_eq};`, uses them in place of
//! `core`'s. The [`prelude`](crate::prelude) cannot do this: Rust refuses macros of a `*` import
//! with the names of `core`'s as ambiguous.
//!
//! All other panics only end the launch with a trap: an index out of range, an overflow, `unwrap`
//! and `panic!`, and the assertions of `core`, which a kernel calls without such an import.
//! cuda_builder compiles them without messages and code that formats these, which would otherwise
//! be in every kernel with an index. The simulator reports every panic with message, line, kernel,
//! block and thread.

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    pub(crate) fn vprintf(format: *const u8, arguments: *const core::ffi::c_void) -> i32;

    fn __assertfail(
        message: *const u8,
        file: *const u8,
        line: u32,
        function: *const u8,
        character_size: usize,
    );
}

/// Prints text.
#[cfg(feature = "alloc")]
#[doc(hidden)]
pub fn print(arguments: core::fmt::Arguments) {
    #[cfg(target_arch = "nvptx64")]
    {
        let text = with_end(arguments);
        let pointer = text.as_ptr();
        // SAFETY: the format takes one pointer, to a text that ends with 0 and lives until the call
        // has copied it.
        unsafe { vprintf(c"%s".as_ptr().cast(), (&raw const pointer).cast()) };
    }
    #[cfg(not(target_arch = "nvptx64"))]
    std::print!("{arguments}");
}

/// Ends the launch with a message, the place, and the thread. In a constant, ends the compilation.
#[cfg(all(feature = "alloc", target_arch = "nvptx64"))]
#[doc(hidden)]
pub const fn fail(arguments: core::fmt::Arguments, file: &str, line: u32) -> ! {
    const fn in_constant(arguments: core::fmt::Arguments, _file: &str, _line: u32) -> ! {
        core::panicking::panic_fmt(arguments)
    }
    core::intrinsics::const_eval_select((arguments, file, line), in_constant, fail_in_kernel)
}

/// As [`fail`], with a message that no constant can format.
#[cfg(all(feature = "alloc", target_arch = "nvptx64"))]
#[doc(hidden)]
pub const fn fail_with_text(message: &str, file: &str, line: u32) -> ! {
    const fn in_constant(message: &str, _file: &str, _line: u32) -> ! {
        core::panic!("{}", message)
    }
    fn in_kernel(message: &str, file: &str, line: u32) -> ! {
        fail_in_kernel(format_args!("{message}"), file, line)
    }
    core::intrinsics::const_eval_select((message, file, line), in_constant, in_kernel)
}

#[cfg(all(feature = "alloc", target_arch = "nvptx64"))]
fn fail_in_kernel(arguments: core::fmt::Arguments, file: &str, line: u32) -> ! {
    let (message, file) = (with_end(arguments), with_end(format_args!("{file}")));
    // SAFETY: texts that end with 0.
    unsafe {
        __assertfail(
            message.as_ptr(),
            file.as_ptr(),
            line,
            c"".as_ptr().cast(),
            1,
        );
        core::arch::nvptx::trap()
    }
}

#[cfg(all(feature = "alloc", target_arch = "nvptx64"))]
fn with_end(arguments: core::fmt::Arguments) -> alloc::vec::Vec<u8> {
    let mut text = alloc::fmt::format(arguments).into_bytes();
    text.push(0);
    text
}

/// Prints text from a kernel.
///
/// ```
/// # use cuda_std::prelude::*;
/// #[kernel]
/// pub unsafe fn hello(greeting: u32) {
///     if thread::first() {
///         cuda_std::print!("hello {greeting} ");
///         println!("from {} threads", thread::block_dim_x());
///     }
/// }
/// # fn main() {}
/// ```
#[cfg(feature = "alloc")]
#[macro_export]
macro_rules! print {
    ($($arguments:tt)*) => {
        $crate::io::print(::core::format_args!($($arguments)*))
    };
}

/// Prints text and the end of a line from a kernel; see [`print!`](crate::print).
#[cfg(feature = "alloc")]
#[macro_export]
macro_rules! println {
    () => {
        $crate::print!("\n")
    };
    ($($arguments:tt)+) => {
        $crate::print!("{}\n", ::core::format_args!($($arguments)+))
    };
}

/// Ends the launch unless the condition holds, with a message that names file, line, block and
/// thread.
///
/// The driver prints it to the standard error output, and the launch fails with
/// `CUDA_ERROR_ASSERT`; in the simulator the launch returns an error. In a constant it ends the
/// compilation, as `core`'s does.
#[cfg(all(feature = "alloc", target_arch = "nvptx64"))]
#[macro_export]
macro_rules! assert {
    ($condition:expr $(,)?) => {
        if !$condition {
            $crate::io::fail_with_text(
                ::core::concat!("assertion failed: ", ::core::stringify!($condition)),
                ::core::file!(),
                ::core::line!(),
            );
        }
    };
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            $crate::io::fail(::core::format_args!($($message)+), ::core::file!(), ::core::line!());
        }
    };
}

/// Ends the launch unless the condition holds, with a message that names file, line, block and
/// thread.
///
/// The driver prints it to the standard error output, and the launch fails with
/// `CUDA_ERROR_ASSERT`; in the simulator the launch returns an error. In a constant it ends the
/// compilation, as `core`'s does.
///
/// ```
/// use cuda_std::assert;
/// use cuda_std::prelude::*;
///
/// #[kernel]
/// pub fn check(values: &[f32]) {
///     for i in thread::grid_stride(values.len()) {
///         assert!(values[i] >= 0.0, "{} at {i} is negative", values[i]);
///     }
/// }
/// # fn main() {}
/// ```
#[cfg(all(feature = "alloc", not(target_arch = "nvptx64")))]
#[macro_export]
macro_rules! assert {
    // The simulator names the place.
    ($($arguments:tt)+) => {
        ::core::assert!($($arguments)+)
    };
}

#[cfg(feature = "alloc")]
#[doc(hidden)]
#[macro_export]
macro_rules! assert_compared {
    ($left:expr, $right:expr, $operator:tt) => {
        $crate::assert_compared!(@with $left, $right, $operator, "")
    };
    ($left:expr, $right:expr, $operator:tt, $($message:tt)+) => {
        $crate::assert_compared!(
            @with $left, $right, $operator, ": {}", ::core::format_args!($($message)+)
        )
    };
    (@with $left:expr, $right:expr, $operator:tt, $($message:tt)+) => {
        match (&$left, &$right) {
            (left, right) => $crate::assert!(
                *left $operator *right,
                "assertion failed: {} {} {}{}\n  left: {left:?}\n right: {right:?}",
                ::core::stringify!($left),
                ::core::stringify!($operator),
                ::core::stringify!($right),
                ::core::format_args!($($message)+),
            ),
        }
    };
}

/// Ends the launch unless both are equal; see [`assert!`](crate::assert).
#[cfg(feature = "alloc")]
#[macro_export]
macro_rules! assert_eq {
    ($left:expr, $right:expr $(, $($($message:tt)+)?)?) => {
        $crate::assert_compared!($left, $right, == $($(, $($message)+)?)?)
    };
}

/// Ends the launch if both are equal; see [`assert!`](crate::assert).
#[cfg(feature = "alloc")]
#[macro_export]
macro_rules! assert_ne {
    ($left:expr, $right:expr $(, $($($message:tt)+)?)?) => {
        $crate::assert_compared!($left, $right, != $($(, $($message)+)?)?)
    };
}
