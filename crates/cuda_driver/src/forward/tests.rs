use super::*;
use cust::sys;

/// How many bytes each parameter takes, then the result.
trait Widths {
    fn widths(&self) -> Vec<usize>;
}

macro_rules! widths {
    ($($parameter:ident)*) => {
        impl<$($parameter,)* R> Widths for unsafe extern "C" fn($($parameter),*) -> R {
            fn widths(&self) -> Vec<usize> {
                vec![$(size_of::<$parameter>(),)* size_of::<R>()]
            }
        }
    };
}

widths!();
widths!(A);
widths!(A B);
widths!(A B C);
widths!(A B C D);
widths!(A B C D E);
widths!(A B C D E F);
widths!(A B C D E F G);
widths!(A B C D E F G H);
widths!(A B C D E F G H I J);
widths!(A B C D E F G H I J K);

macro_rules! any {
    ($type:ty) => {
        _
    };
}

macro_rules! compare {
    ($(fn $name:ident($($parameter:ident: $type:ty),* $(,)?);)*) => {
        /// Number and size of all parameters; that none is a float or a struct, as the table
        /// says, was read from cust's source.
        #[test]
        fn parameters_are_those_that_cust_declares() {
            $(
                let ours: unsafe extern "C" fn($($type),*) -> c_int = $name;
                let theirs = sys::$name as unsafe extern "C" fn($(any!($type)),*) -> _;
                assert_eq!(ours.widths(), theirs.widths(), stringify!($name));
            )*
        }

        /// A driver's or a toolkit's library on the linker's path must not take our place.
        #[test]
        fn cust_calls_our_functions() {
            $(
                let ours: unsafe extern "C" fn($($type),*) -> c_int = $name;
                let theirs = sys::$name as unsafe extern "C" fn($(any!($type)),*) -> _;
                assert_eq!(ours as usize, theirs as usize, stringify!($name));
            )*
        }
    };
}

for_each_function!(compare);

#[test]
fn an_unknown_code_reaches_cust_clamped_and_us_unchanged() {
    let driver = Driver::get();
    for (code, seen) in [(700, 700), (912, 999), (-5, 999), (999, 999)] {
        assert_eq!(call(driver, Some(code), |code| code), seen);
        assert_eq!(last_error(), Some(code));
    }
    assert_eq!(call(driver, Some(0), |code| code), codes::SUCCESS);
    assert_eq!(last_error(), Some(999), "success leaves the last error");
}

#[test]
fn the_last_error_is_the_threads_own() {
    assert_eq!(finish(46), codes::UNKNOWN);
    assert_eq!(std::thread::spawn(last_error).join().unwrap(), None);
    assert_eq!(last_error(), Some(46));
}

#[test]
fn a_function_that_is_missing_answers_why() {
    let driver = Driver::get();
    let answer = call(driver, None::<c_int>, |_| unreachable!());
    match driver.status() {
        Ok(()) => assert_eq!(answer, codes::NOT_SUPPORTED),
        Err(_) => assert_eq!(answer, codes::NO_DEVICE),
    }
}

#[test]
fn every_code_has_words() {
    for code in [0, 1, 46, 100, 222, 999, 12345] {
        for function in [cuGetErrorString, cuGetErrorName] {
            let mut text = std::ptr::null();
            // SAFETY: `text` can be written to.
            assert_eq!(unsafe { function(code, &mut text) }, codes::SUCCESS);
            // SAFETY: on success it points to a string that is never freed.
            assert!(!unsafe { CStr::from_ptr(text) }.is_empty());
        }
    }
    // SAFETY: null is answered with an error.
    let result = unsafe { cuGetErrorString(1, std::ptr::null_mut()) };
    assert_eq!(result, codes::INVALID_VALUE);
}
