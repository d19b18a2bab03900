//! The result codes that cust knows.

use std::ffi::CStr;

/// `CUDA_SUCCESS`.
pub(crate) const SUCCESS: i32 = 0;
/// `CUDA_ERROR_INVALID_VALUE`.
pub(crate) const INVALID_VALUE: i32 = 1;
/// `CUDA_ERROR_NO_DEVICE`: what every function answers where there is no driver.
pub(crate) const NO_DEVICE: i32 = 100;
/// `CUDA_ERROR_NOT_SUPPORTED`: what a function answers that this driver lacks.
pub(crate) const NOT_SUPPORTED: i32 = 801;
/// `CUDA_ERROR_UNKNOWN`: what cust is told in place of a code that it does not know.
pub(crate) const UNKNOWN: i32 = 999;

/// Hands `CODE NAME, …` to the macro `$with`: the variants of cust's `CUresult`, all of them and
/// no others (a test compares).
macro_rules! for_each_code {
    ($with:ident) => {
        $with! {
            0 CUDA_SUCCESS,
            1 CUDA_ERROR_INVALID_VALUE,
            2 CUDA_ERROR_OUT_OF_MEMORY,
            3 CUDA_ERROR_NOT_INITIALIZED,
            4 CUDA_ERROR_DEINITIALIZED,
            5 CUDA_ERROR_PROFILER_DISABLED,
            6 CUDA_ERROR_PROFILER_NOT_INITIALIZED,
            7 CUDA_ERROR_PROFILER_ALREADY_STARTED,
            8 CUDA_ERROR_PROFILER_ALREADY_STOPPED,
            34 CUDA_ERROR_STUB_LIBRARY,
            100 CUDA_ERROR_NO_DEVICE,
            101 CUDA_ERROR_INVALID_DEVICE,
            102 CUDA_ERROR_DEVICE_NOT_LICENSED,
            200 CUDA_ERROR_INVALID_IMAGE,
            201 CUDA_ERROR_INVALID_CONTEXT,
            202 CUDA_ERROR_CONTEXT_ALREADY_CURRENT,
            205 CUDA_ERROR_MAP_FAILED,
            206 CUDA_ERROR_UNMAP_FAILED,
            207 CUDA_ERROR_ARRAY_IS_MAPPED,
            208 CUDA_ERROR_ALREADY_MAPPED,
            209 CUDA_ERROR_NO_BINARY_FOR_GPU,
            210 CUDA_ERROR_ALREADY_ACQUIRED,
            211 CUDA_ERROR_NOT_MAPPED,
            212 CUDA_ERROR_NOT_MAPPED_AS_ARRAY,
            213 CUDA_ERROR_NOT_MAPPED_AS_POINTER,
            214 CUDA_ERROR_ECC_UNCORRECTABLE,
            215 CUDA_ERROR_UNSUPPORTED_LIMIT,
            216 CUDA_ERROR_CONTEXT_ALREADY_IN_USE,
            217 CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
            218 CUDA_ERROR_INVALID_PTX,
            219 CUDA_ERROR_INVALID_GRAPHICS_CONTEXT,
            220 CUDA_ERROR_NVLINK_UNCORRECTABLE,
            221 CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
            222 CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
            223 CUDA_ERROR_JIT_COMPILATION_DISABLED,
            224 CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
            300 CUDA_ERROR_INVALID_SOURCE,
            301 CUDA_ERROR_FILE_NOT_FOUND,
            302 CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
            303 CUDA_ERROR_SHARED_OBJECT_INIT_FAILED,
            304 CUDA_ERROR_OPERATING_SYSTEM,
            400 CUDA_ERROR_INVALID_HANDLE,
            401 CUDA_ERROR_ILLEGAL_STATE,
            500 CUDA_ERROR_NOT_FOUND,
            600 CUDA_ERROR_NOT_READY,
            700 CUDA_ERROR_ILLEGAL_ADDRESS,
            701 CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
            702 CUDA_ERROR_LAUNCH_TIMEOUT,
            703 CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING,
            704 CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
            705 CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
            708 CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE,
            709 CUDA_ERROR_CONTEXT_IS_DESTROYED,
            710 CUDA_ERROR_ASSERT,
            711 CUDA_ERROR_TOO_MANY_PEERS,
            712 CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
            713 CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
            714 CUDA_ERROR_HARDWARE_STACK_ERROR,
            715 CUDA_ERROR_ILLEGAL_INSTRUCTION,
            716 CUDA_ERROR_MISALIGNED_ADDRESS,
            717 CUDA_ERROR_INVALID_ADDRESS_SPACE,
            718 CUDA_ERROR_INVALID_PC,
            719 CUDA_ERROR_LAUNCH_FAILED,
            720 CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
            800 CUDA_ERROR_NOT_PERMITTED,
            801 CUDA_ERROR_NOT_SUPPORTED,
            802 CUDA_ERROR_SYSTEM_NOT_READY,
            803 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
            804 CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
            805 CUDA_ERROR_MPS_CONNECTION_FAILED,
            806 CUDA_ERROR_MPS_RPC_FAILURE,
            807 CUDA_ERROR_MPS_SERVER_NOT_READY,
            808 CUDA_ERROR_MPS_MAX_CLIENTS_REACHED,
            809 CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED,
            900 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            901 CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
            902 CUDA_ERROR_STREAM_CAPTURE_MERGE,
            903 CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
            904 CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
            905 CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
            906 CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
            907 CUDA_ERROR_CAPTURED_EVENT,
            908 CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
            909 CUDA_ERROR_TIMEOUT,
            910 CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
            911 CUDA_ERROR_EXTERNAL_DEVICE,
            999 CUDA_ERROR_UNKNOWN,
        }
    };
}

macro_rules! define {
    ($($code:literal $name:ident,)*) => {
        /// The name of a code, where cust knows it.
        pub(crate) const fn name(code: i32) -> Option<&'static CStr> {
            match code {
                $($code => Some(c_name!($name)),)*
                _ => None,
            }
        }

        /// The code itself where cust knows it, else [`UNKNOWN`].
        ///
        /// cust reads results as a Rust enum of exactly these values. Any other value in it is
        /// undefined behaviour, and every driver newer than CUDA 11.4 has some.
        pub(crate) const fn clamp(code: i32) -> i32 {
            match code {
                $($code)|* => code,
                _ => UNKNOWN,
            }
        }
    };
}

for_each_code!(define);

#[cfg(test)]
mod tests {
    use super::*;
    use cust::sys::CUresult;

    macro_rules! compare {
        ($($code:literal $name:ident,)*) => {
            /// Without a wildcard: a variant that the table lacks does not compile.
            fn name_in_cust(code: CUresult) -> &'static str {
                match code {
                    $(CUresult::$name => stringify!($name),)*
                }
            }

            #[test]
            fn the_table_is_custs_enum() {
                $(
                    assert_eq!(CUresult::$name as i32, $code);
                    let ours = name($code).unwrap().to_str().unwrap();
                    assert_eq!(ours, name_in_cust(CUresult::$name));
                    assert_eq!(clamp($code), $code);
                )*
            }
        };
    }

    for_each_code!(compare);

    #[test]
    fn codes_that_cust_lacks_become_unknown() {
        // 46, 225 and 912 are real codes of drivers newer than cust.
        for code in [
            i32::MIN,
            -1,
            9,
            46,
            99,
            225,
            708 - 1,
            912,
            998,
            1000,
            i32::MAX,
        ] {
            assert_eq!(clamp(code), UNKNOWN, "{code}");
            assert_eq!(name(code), None, "{code}");
        }
    }

    #[test]
    fn the_constants_are_what_their_names_say() {
        assert_eq!(name(SUCCESS), Some(c"CUDA_SUCCESS"));
        assert_eq!(name(INVALID_VALUE), Some(c"CUDA_ERROR_INVALID_VALUE"));
        assert_eq!(name(NO_DEVICE), Some(c"CUDA_ERROR_NO_DEVICE"));
        assert_eq!(name(NOT_SUPPORTED), Some(c"CUDA_ERROR_NOT_SUPPORTED"));
        assert_eq!(name(UNKNOWN), Some(c"CUDA_ERROR_UNKNOWN"));
    }
}
