//! Result codes and errors.

use std::ffi::CStr;

/// The result of a call.
pub type CudaResult<T> = Result<T, CudaError>;

/// The result of the functions named `drop`, whose error contains the object that lives on.
pub type DropResult<T> = Result<(), (CudaError, T)>;

/// Defines the driver's result codes and, behind `=>`, the errors that cust makes of them.
macro_rules! results {
    ($($code:literal $name:ident $(=> $error:ident)?,)*) => {
        /// A result code of the driver, as NVIDIA's `cuda.h` of CUDA 11.4 lists them.
        #[repr(i32)]
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        #[allow(missing_docs, non_camel_case_types, reason = "NVIDIA's names")]
        pub enum cudaError_enum {
            $($name = $code,)*
        }

        impl cudaError_enum {
            /// Returns the result of a code: `CUDA_ERROR_UNKNOWN` for the codes of newer drivers.
            pub(crate) const fn from_code(code: i32) -> Self {
                match code {
                    $($code => Self::$name,)*
                    _ => Self::CUDA_ERROR_UNKNOWN,
                }
            }

            /// Returns the name of a code, if this enum has it.
            pub(crate) const fn name_of(code: i32) -> Option<&'static CStr> {
                match code {
                    $($code => Some(c_name!($name)),)*
                    _ => None,
                }
            }

            /// Returns the error of a code that is not `CUDA_SUCCESS`.
            ///
            /// # Errors
            ///
            /// [`UnknownError`](CudaError::UnknownError) for codes that [`CudaError`] does not list:
            /// [`driver::last_error`](crate::driver::last_error) has the code.
            pub fn to_result(self) -> CudaResult<()> {
                match self {
                    Self::CUDA_SUCCESS => Ok(()),
                    $($(Self::$name => Err(CudaError::$error),)?)*
                    _ => Err(CudaError::UnknownError),
                }
            }
        }

        /// An error of a call. Codes that are not listed are [`UnknownError`](Self::UnknownError).
        #[repr(u32)]
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[allow(missing_docs, reason = "the names are those of the codes")]
        #[non_exhaustive]
        pub enum CudaError {
            $($($error = $code,)?)*
        }
    };
}

results! {
    0 CUDA_SUCCESS,
    1 CUDA_ERROR_INVALID_VALUE => InvalidValue,
    2 CUDA_ERROR_OUT_OF_MEMORY => OutOfMemory,
    3 CUDA_ERROR_NOT_INITIALIZED => NotInitialized,
    4 CUDA_ERROR_DEINITIALIZED => Deinitialized,
    5 CUDA_ERROR_PROFILER_DISABLED => ProfilerDisabled,
    6 CUDA_ERROR_PROFILER_NOT_INITIALIZED => ProfilerNotInitialized,
    7 CUDA_ERROR_PROFILER_ALREADY_STARTED => ProfilerAlreadyStarted,
    8 CUDA_ERROR_PROFILER_ALREADY_STOPPED => ProfilerAlreadyStopped,
    34 CUDA_ERROR_STUB_LIBRARY,
    100 CUDA_ERROR_NO_DEVICE => NoDevice,
    101 CUDA_ERROR_INVALID_DEVICE => InvalidDevice,
    102 CUDA_ERROR_DEVICE_NOT_LICENSED,
    200 CUDA_ERROR_INVALID_IMAGE => InvalidImage,
    201 CUDA_ERROR_INVALID_CONTEXT => InvalidContext,
    202 CUDA_ERROR_CONTEXT_ALREADY_CURRENT => ContextAlreadyCurrent,
    205 CUDA_ERROR_MAP_FAILED => MapFailed,
    206 CUDA_ERROR_UNMAP_FAILED => UnmapFailed,
    207 CUDA_ERROR_ARRAY_IS_MAPPED => ArrayIsMapped,
    208 CUDA_ERROR_ALREADY_MAPPED => AlreadyMapped,
    209 CUDA_ERROR_NO_BINARY_FOR_GPU => NoBinaryForGpu,
    210 CUDA_ERROR_ALREADY_ACQUIRED => AlreadyAcquired,
    211 CUDA_ERROR_NOT_MAPPED => NotMapped,
    212 CUDA_ERROR_NOT_MAPPED_AS_ARRAY => NotMappedAsArray,
    213 CUDA_ERROR_NOT_MAPPED_AS_POINTER => NotMappedAsPointer,
    214 CUDA_ERROR_ECC_UNCORRECTABLE => EccUncorrectable,
    215 CUDA_ERROR_UNSUPPORTED_LIMIT => UnsupportedLimit,
    216 CUDA_ERROR_CONTEXT_ALREADY_IN_USE => ContextAlreadyInUse,
    217 CUDA_ERROR_PEER_ACCESS_UNSUPPORTED => PeerAccessUnsupported,
    218 CUDA_ERROR_INVALID_PTX => InvalidPtx,
    219 CUDA_ERROR_INVALID_GRAPHICS_CONTEXT => InvalidGraphicsContext,
    220 CUDA_ERROR_NVLINK_UNCORRECTABLE => NvlinkUncorrectable,
    221 CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
    222 CUDA_ERROR_UNSUPPORTED_PTX_VERSION => UnsupportedPtxVersion,
    223 CUDA_ERROR_JIT_COMPILATION_DISABLED,
    224 CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
    300 CUDA_ERROR_INVALID_SOURCE => InvalidSource,
    301 CUDA_ERROR_FILE_NOT_FOUND => FileNotFound,
    302 CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND => SharedObjectSymbolNotFound,
    303 CUDA_ERROR_SHARED_OBJECT_INIT_FAILED => SharedObjectInitFailed,
    304 CUDA_ERROR_OPERATING_SYSTEM => OperatingSystemError,
    400 CUDA_ERROR_INVALID_HANDLE => InvalidHandle,
    401 CUDA_ERROR_ILLEGAL_STATE,
    500 CUDA_ERROR_NOT_FOUND => NotFound,
    600 CUDA_ERROR_NOT_READY => NotReady,
    700 CUDA_ERROR_ILLEGAL_ADDRESS => IllegalAddress,
    701 CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => LaunchOutOfResources,
    702 CUDA_ERROR_LAUNCH_TIMEOUT => LaunchTimeout,
    703 CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING => LaunchIncompatibleTexturing,
    704 CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => PeerAccessAlreadyEnabled,
    705 CUDA_ERROR_PEER_ACCESS_NOT_ENABLED => PeerAccessNotEnabled,
    708 CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE => PrimaryContextActive,
    709 CUDA_ERROR_CONTEXT_IS_DESTROYED => ContextIsDestroyed,
    710 CUDA_ERROR_ASSERT => AssertError,
    711 CUDA_ERROR_TOO_MANY_PEERS => TooManyPeers,
    712 CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED => HostMemoryAlreadyRegistered,
    713 CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED => HostMemoryNotRegistered,
    714 CUDA_ERROR_HARDWARE_STACK_ERROR => HardwareStackError,
    715 CUDA_ERROR_ILLEGAL_INSTRUCTION => IllegalInstruction,
    716 CUDA_ERROR_MISALIGNED_ADDRESS => MisalignedAddress,
    717 CUDA_ERROR_INVALID_ADDRESS_SPACE => InvalidAddressSpace,
    718 CUDA_ERROR_INVALID_PC => InvalidProgramCounter,
    719 CUDA_ERROR_LAUNCH_FAILED => LaunchFailed,
    720 CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
    800 CUDA_ERROR_NOT_PERMITTED => NotPermitted,
    801 CUDA_ERROR_NOT_SUPPORTED => NotSupported,
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
    999 CUDA_ERROR_UNKNOWN => UnknownError,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_that_the_enum_lacks_become_unknown() {
        // 46, 225 and 912 are real codes of newer drivers.
        for code in [i32::MIN, -1, 9, 46, 99, 225, 707, 912, 998, 1000, i32::MAX] {
            let unknown = cudaError_enum::CUDA_ERROR_UNKNOWN;
            assert_eq!(cudaError_enum::from_code(code), unknown, "{code}");
            assert_eq!(cudaError_enum::name_of(code), None, "{code}");
        }
        for code in [0, 1, 222, 700, 801, 999] {
            assert_eq!(cudaError_enum::from_code(code) as i32, code);
            assert!(cudaError_enum::name_of(code).is_some());
        }
    }

    #[test]
    fn an_error_has_the_number_of_its_code() {
        for code in 1..1000 {
            let error = cudaError_enum::from_code(code).to_result().unwrap_err();
            let is_same = error as i32 == code;
            assert!(
                is_same || error == CudaError::UnknownError,
                "{code}: {error:?}"
            );
        }
    }
}
