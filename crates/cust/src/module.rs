//! Modules: loaded PTX.

use std::ffi::{CStr, CString, c_void};
use std::marker::PhantomData;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::Arc;

use crate::context::{Context, Owner};
use crate::error::{CudaError, CudaResult};
use crate::function::Function;
use crate::memory::{self, CopyDestination, DeviceCopy, DevicePointer};
use crate::sys::{self, CUdeviceptr, CUjit_option, CUmodule};

/// Kernels and variables that the driver has loaded. Dropping it unloads them.
#[derive(Debug)]
pub struct Module {
    inner: CUmodule,
    owner: Owner,
}

// SAFETY: the driver's modules may be used from any thread.
unsafe impl Send for Module {}
// SAFETY: the driver's calls are thread-safe, so several threads may use one at once.
unsafe impl Sync for Module {}

/// How much the driver's compiler optimises. The driver's default is [`O4`](Self::O4).
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptLevel {
    /// No optimisation.
    O0 = 0,
    /// More than [`O0`](Self::O0).
    O1 = 1,
    /// More than [`O1`](Self::O1).
    O2 = 2,
    /// More than [`O2`](Self::O2).
    O3 = 3,
    /// Everything.
    O4 = 4,
}

/// The compute capability that the driver compiles for. A module for another one than the device's
/// loads only if the device runs its code.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are the numbers")]
#[non_exhaustive]
pub enum JitTarget {
    Compute20 = 20,
    Compute21 = 21,
    Compute30 = 30,
    Compute32 = 32,
    Compute35 = 35,
    Compute37 = 37,
    Compute50 = 50,
    Compute52 = 52,
    Compute53 = 53,
    Compute60 = 60,
    Compute61 = 61,
    Compute62 = 62,
    Compute70 = 70,
    Compute72 = 72,
    Compute75 = 75,
    Compute80 = 80,
    Compute86 = 86,
    Compute87 = 87,
    Compute89 = 89,
    Compute90 = 90,
    Compute100 = 100,
    Compute120 = 120,
}

/// The choice of the driver from a file that has PTX and compiled code, but no code for exactly
/// this device.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JitFallback {
    /// The PTX.
    PreferPtx = 0,
    /// Code of another device that this one runs.
    PreferCompatibleBinary = 1,
}

/// A setting of the driver's compiler.
///
/// ```no_run
/// use cust::module::{Module, ModuleJitOption, OptLevel};
///
/// # fn main() -> Result<(), cust::error::CudaError> {
/// # let ptx = "";
/// let _context = cust::quick_init()?;
/// let options = [
///     ModuleJitOption::MaxRegisters(64),
///     ModuleJitOption::OptLevel(OptLevel::O3),
///     ModuleJitOption::GenerateLineInfo(true),
/// ];
/// let module = Module::from_ptx(ptx, &options)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModuleJitOption {
    /// The most registers of a thread. If a kernel needs more, it keeps values in local memory.
    MaxRegisters(u32),
    /// How much the compiler optimises.
    OptLevel(OptLevel),
    /// Compiles for the device of the current context, which is the default. Not together with
    /// [`Target`](Self::Target).
    DetermineTargetFromContext,
    /// Compiles for this compute capability. Not together with
    /// [`DetermineTargetFromContext`](Self::DetermineTargetFromContext).
    Target(JitTarget),
    /// What to take of a file with PTX and compiled code. Has no effect on PTX alone, which is all
    /// that this fork loads.
    Fallback(JitFallback),
    /// Whether the compiled code has what debuggers need. Spelled as in cust.
    GenenerateDebugInfo(bool),
    /// Whether the compiled code has the lines of the source, if the PTX has them.
    GenerateLineInfo(bool),
}

impl ModuleJitOption {
    /// Returns the options as `cuModuleLoadDataEx` takes them: their names, and as many values. The
    /// driver takes numbers in place of pointers.
    pub fn into_raw(opts: &[Self]) -> (Vec<CUjit_option>, Vec<*mut c_void>) {
        use CUjit_option::*;
        let raw = |option: &Self| {
            let (name, value) = match *option {
                Self::MaxRegisters(count) => (CU_JIT_MAX_REGISTERS, count),
                Self::OptLevel(level) => (CU_JIT_OPTIMIZATION_LEVEL, level as u32),
                // It has no value, but a place for one.
                Self::DetermineTargetFromContext => (CU_JIT_TARGET_FROM_CUCONTEXT, 0),
                Self::Target(target) => (CU_JIT_TARGET, target as u32),
                Self::Fallback(fallback) => (CU_JIT_FALLBACK_STRATEGY, fallback as u32),
                Self::GenenerateDebugInfo(is_on) => (CU_JIT_GENERATE_DEBUG_INFO, is_on.into()),
                Self::GenerateLineInfo(is_on) => (CU_JIT_GENERATE_LINE_INFO, is_on.into()),
            };
            (name, std::ptr::without_provenance_mut(value as usize))
        };
        opts.iter().map(raw).unzip()
    }
}

impl Module {
    /// Compiles and loads PTX.
    ///
    /// # Errors
    ///
    /// [`InvalidValue`](CudaError::InvalidValue) if the text contains a zero byte, and what the
    /// driver returns, also for options that it does not know or does not take together.
    /// [`driver::last_error`](crate::driver::last_error) tells for example an unsupported PTX
    /// version.
    pub fn from_ptx<T: AsRef<str>>(string: T, options: &[ModuleJitOption]) -> CudaResult<Module> {
        let ptx = CString::new(string.as_ref()).map_err(|_| CudaError::InvalidValue)?;
        Self::from_ptx_cstr(&ptx, options)
    }

    /// As [`from_ptx`](Self::from_ptx), of text that ends with a zero byte.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn from_ptx_cstr(cstr: &CStr, options: &[ModuleJitOption]) -> CudaResult<Module> {
        Self::load(Owner::current()?, cstr, options, &mut [])
    }

    /// Compiles and loads PTX in a context that need not be current.
    ///
    /// # Errors
    ///
    /// The error that the driver returns, with the log of the driver's compiler.
    pub fn from_ptx_in(
        context: &Arc<Context>,
        ptx: &CStr,
        options: &[ModuleJitOption],
    ) -> Result<Module, (CudaError, String)> {
        let mut log = vec![0; 16 * 1024];
        let load = |owner| Self::load(owner, ptx, options, &mut log);
        Owner::make(context, load).map_err(|error| {
            let text = log.split(|&byte| byte == 0).next().unwrap_or_default();
            (error, String::from_utf8_lossy(text).into_owned())
        })
    }

    fn load(
        owner: Owner,
        ptx: &CStr,
        options: &[ModuleJitOption],
        log: &mut [u8],
    ) -> CudaResult<Module> {
        let mut inner = null_mut();
        let (mut names, mut values) = ModuleJitOption::into_raw(options);
        if !log.is_empty() {
            names.push(CUjit_option::CU_JIT_ERROR_LOG_BUFFER);
            values.push(log.as_mut_ptr().cast());
            names.push(CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
            values.push(std::ptr::without_provenance_mut(log.len()));
        }
        // SAFETY: the text ends with a zero, each option has a value, of which only the log's is an
        // address, with its size beside it, and one handle is written.
        let result = unsafe {
            sys::cuModuleLoadDataEx(
                &mut inner,
                ptx.as_ptr().cast(),
                names.len() as u32,
                names.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        result.to_result()?;
        Ok(Module { inner, owner })
    }

    /// Loads a file with PTX, a cubin or a fatbin.
    ///
    /// # Errors
    ///
    /// [`InvalidValue`](CudaError::InvalidValue) if the path is not UTF-8 or contains a zero byte,
    /// [`FileNotFound`](CudaError::FileNotFound), and what else the driver returns.
    pub fn from_file<P: AsRef<Path>>(path: P) -> CudaResult<Module> {
        let owner = Owner::current()?;
        let path = path.as_ref().to_str().ok_or(CudaError::InvalidValue)?;
        let path = CString::new(path).map_err(|_| CudaError::InvalidValue)?;
        let mut inner = null_mut();
        // SAFETY: the path ends with a zero, and one handle is written.
        unsafe { sys::cuModuleLoad(&mut inner, path.as_ptr()) }.to_result()?;
        Ok(Module { inner, owner })
    }

    /// Returns the kernel with this name.
    ///
    /// # Errors
    ///
    /// [`NotFound`](CudaError::NotFound) if the module has no such kernel, and what else the driver
    /// returns.
    pub fn get_function<T: AsRef<str>>(&self, name: T) -> CudaResult<Function<'_>> {
        let name = CString::new(name.as_ref()).map_err(|_| CudaError::NotFound)?;
        let mut function = null_mut();
        // SAFETY: the name ends with a zero, and one handle is written.
        unsafe { sys::cuModuleGetFunction(&mut function, self.inner, name.as_ptr()) }
            .to_result()?;
        // SAFETY: the result borrows this module.
        Ok(unsafe { Function::from_raw(function) })
    }

    /// Returns the variable with this name, for example an `#[address_space(constant)] static mut`.
    ///
    /// `T` must be the variable's type. The driver knows only the variable's address and size, so
    /// only the size and the alignment are checked here. With another type of the same size, copies
    /// reinterpret the bytes. [`copy_to`](CopyDestination::copy_to) refuses bytes that are no value
    /// of `T`, such as 2 for a `bool`. What [`copy_from`](CopyDestination::copy_from) has written
    /// must be a value of the kernel's type when a kernel that reads it is launched.
    ///
    /// ```no_run
    /// use cust::prelude::*;
    ///
    /// # fn main() -> Result<(), cust::error::CudaError> {
    /// # let _context = cust::quick_init()?;
    /// # let module = Module::from_ptx("", &[])?;
    /// let mut weights = module.get_global::<[f32; 3]>(c"WEIGHTS")?;
    /// weights.copy_from(&[0.25, 0.5, 0.25])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`NotFound`](CudaError::NotFound) if the module has no such variable,
    /// [`InvalidValue`](CudaError::InvalidValue) if its size is not that of `T` or its address not
    /// aligned for `T`, and what else the driver returns.
    pub fn get_global<'a, T: DeviceCopy>(&'a self, name: &CStr) -> CudaResult<Symbol<'a, T>> {
        let (address, bytes) = self.find_global(name)?;
        if bytes != size_of::<T>() || !address.is_multiple_of(align_of::<T>() as u64) {
            return Err(CudaError::InvalidValue);
        }
        Ok(Symbol {
            pointer: DevicePointer::from_raw(address),
            module: PhantomData,
        })
    }

    /// Returns the address of the variable with this name, and the number of its bytes.
    ///
    /// # Errors
    ///
    /// [`NotFound`](CudaError::NotFound) if the module has no such variable, and what else the
    /// driver returns.
    pub fn find_global(&self, name: &CStr) -> CudaResult<(CUdeviceptr, usize)> {
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the name ends with a zero, and two numbers are written.
        unsafe { sys::cuModuleGetGlobal_v2(&mut address, &mut bytes, self.inner, name.as_ptr()) }
            .to_result()?;
        Ok((address, bytes))
    }

    fn free(&mut self) -> CudaResult<()> {
        // SAFETY: loaded by one of the functions above, and unloaded once.
        let unload = || unsafe { sys::cuModuleUnload(self.inner) };
        self.owner.destroy(unload)
    }
}

destroyed! { [] Module }

/// A variable of a module.
#[derive(Debug)]
pub struct Symbol<'a, T: DeviceCopy> {
    pointer: DevicePointer<T>,
    module: PhantomData<&'a Module>,
}

impl<T: DeviceCopy> CopyDestination<T> for Symbol<'_, T> {
    fn copy_from(&mut self, source: &T) -> CudaResult<()> {
        // SAFETY: `get_global` has checked the size, and the module lives.
        unsafe { memory::copy_in(self.pointer.as_raw(), source, 1) }
    }

    fn copy_to(&self, dest: &mut T) -> CudaResult<()> {
        // SAFETY: `get_global` has checked the size, and the module lives; variables are always
        // initialised.
        *dest = unsafe { memory::read_checked(self.pointer.as_raw())? };
        Ok(())
    }
}
