//! The fake driver's functions for tests.

use std::env;
use std::ffi::{CStr, c_char, c_int};
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::process::Command;

use libloading::Library;

use crate::in_own_process;

/// Runs `work` over the fake driver in a separate process, whose command `configure` may change: the
/// loader reads its search path when a program starts.
pub fn over_fake_driver<T>(test: T, configure: impl FnOnce(&mut Command), work: impl FnOnce()) {
    let prepare = |command: &mut Command| {
        // Behind the fake driver, what this program needs itself.
        let others = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let paths = [PathBuf::from(env!("OUT_DIR"))].into_iter();
        let paths = env::join_paths(paths.chain(env::split_paths(&others)));
        command.env("LD_LIBRARY_PATH", paths.expect("paths without colons"));
        configure(command);
    };
    in_own_process(test, prepare, work);
}

/// # Safety
/// `T` is the type of the fake driver's function of this name.
unsafe fn function<T: Copy>(name: &CStr) -> T {
    // SAFETY: the fake driver is loaded already, or does nothing when it is. It is never unloaded.
    let library = ManuallyDrop::new(unsafe { Library::new("libcuda.so.1") }.expect("a driver"));
    // SAFETY: `T` is the function's type by the contract of this function.
    *unsafe { library.get(name) }.expect("a function of the fake driver")
}

/// Defines functions that call those of `driver.rs` whose names begin with `fake_driver`.
macro_rules! control {
    ($($name:ident = $of_driver:literal($($parameter:ident: $type:ty),*) $(-> $result:ty)?;)*) => {$(
        pub fn $name($($parameter: $type),*) $(-> $result)? {
            type Function = extern "C" fn($($type),*) $(-> $result)?;
            // SAFETY: the function in `driver.rs` is of this type.
            let function: Function = unsafe { function($of_driver) };
            function($($parameter),*)
        }
    )*};
}

control! {
    fail = c"fake_driver_fail"(start: u64, end: u64, code: c_int);
    clear = c"fake_driver_clear"();
    forget = c"fake_driver_forget"();
    failed_name = c"fake_driver_failed"() -> *const c_char;
    left_name = c"fake_driver_left"() -> *const c_char;
    contexts = c"fake_driver_contexts"() -> i64;
    seen_text = c"fake_driver_seen"() -> *const c_char;
}

/// Returns the name of the last call that failed on purpose, if one did.
pub fn failed() -> Option<&'static str> {
    Some(text(failed_name())).filter(|name| !name.is_empty())
}

/// Returns the name of a function that made something that exists.
pub fn left() -> Option<&'static str> {
    Some(text(left_name())).filter(|name| !name.is_empty())
}

/// Returns the arguments of the last launch, module or event: see `see` in `driver.rs`.
pub fn seen() -> &'static str {
    text(seen_text())
}

fn text(text: *const c_char) -> &'static str {
    // SAFETY: the fake driver returns strings that live on.
    unsafe { CStr::from_ptr(text) }.to_str().expect("ASCII")
}
