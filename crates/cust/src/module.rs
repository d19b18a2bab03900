//! Modules: loaded PTX.

use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::ptr::null_mut;

use crate::error::{CudaError, CudaResult};
use crate::function::Function;
use crate::memory::{self, CopyDestination, DeviceCopy, DevicePointer};
use crate::sys::{self, CUmodule};

/// Kernels and variables that the driver has loaded. Dropping it unloads them.
#[derive(Debug)]
pub struct Module {
    inner: CUmodule,
}

// SAFETY: the driver's modules may be used from any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

/// A setting of the driver's compiler. This fork has none.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ModuleJitOption {}

impl Module {
    /// Compiles and loads PTX.
    ///
    /// # Errors
    ///
    /// [`InvalidValue`](CudaError::InvalidValue) if the text contains a zero byte, and what the
    /// driver returns. [`driver::last_error`](crate::driver::last_error) tells for example an
    /// unsupported PTX version.
    pub fn from_ptx<T: AsRef<str>>(string: T, options: &[ModuleJitOption]) -> CudaResult<Module> {
        let ptx = CString::new(string.as_ref()).map_err(|_| CudaError::InvalidValue)?;
        Self::from_ptx_cstr(&ptx, options)
    }

    /// As [`from_ptx`](Self::from_ptx), of text that ends with a zero byte.
    ///
    /// # Errors
    ///
    /// What the driver returns.
    pub fn from_ptx_cstr(cstr: &CStr, _options: &[ModuleJitOption]) -> CudaResult<Module> {
        let mut inner = null_mut();
        // SAFETY: the text ends with a zero, there are no options, and one handle is written.
        let result = unsafe {
            sys::cuModuleLoadDataEx(&mut inner, cstr.as_ptr().cast(), 0, null_mut(), null_mut())
        };
        result.to_result()?;
        Ok(Module { inner })
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
        Ok(Function::new(function, self))
    }

    /// Returns the variable with this name, for example an `#[address_space(constant)] static mut`.
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
    /// [`InvalidValue`](CudaError::InvalidValue) if its size is not that of `T`, and what else the
    /// driver returns.
    pub fn get_global<'a, T: DeviceCopy>(&'a self, name: &CStr) -> CudaResult<Symbol<'a, T>> {
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the name ends with a zero, and two numbers are written.
        unsafe { sys::cuModuleGetGlobal_v2(&mut address, &mut bytes, self.inner, name.as_ptr()) }
            .to_result()?;
        if bytes != size_of::<T>() {
            return Err(CudaError::InvalidValue);
        }
        Ok(Symbol {
            pointer: DevicePointer::from_raw(address),
            module: PhantomData,
        })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: loaded in `from_ptx_cstr`, and unloaded once.
        let _ = unsafe { sys::cuModuleUnload(self.inner) };
    }
}

/// A variable of a module.
#[derive(Debug)]
pub struct Symbol<'a, T: DeviceCopy> {
    pointer: DevicePointer<T>,
    module: PhantomData<&'a Module>,
}

impl<T: DeviceCopy> CopyDestination<T> for Symbol<'_, T> {
    fn copy_from(&mut self, source: &T) -> CudaResult<()> {
        // SAFETY: the variable has the size of a value, and the module lives.
        unsafe { memory::copy_in(self.pointer.as_raw(), source, 1) }
    }

    fn copy_to(&self, dest: &mut T) -> CudaResult<()> {
        // SAFETY: as above; the caller of `get_global` gave the variable's type.
        *dest = unsafe { memory::read(self.pointer.as_raw())? };
        Ok(())
    }
}
