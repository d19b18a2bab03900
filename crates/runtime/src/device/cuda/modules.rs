//! Loading PTX and launching its kernels.

use super::primary::Primary;
use super::stream::Stream;
use super::words::words;
use crate::device::constant::SET_CONSTANT;
use crate::device::split::Split;
use crate::device::{Image, Module, lock};
use crate::error::{Error, LoadError, Result};
use crate::sync::Mutex;
use cuda_std::host::{ConstantStatic, LaunchConfig};
use cust::sys::{self, CUjit_option, cudaError_enum};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

/// The modules of a GPU, loaded when their kernels are first launched.
pub struct Modules {
    /// By the address of the [`Module`].
    present: Mutex<HashMap<usize, PresentModule>>,
    primary: Arc<Primary>,
}

/// A module whose kernels have been launched.
struct PresentModule {
    image: &'static Image,
    /// `None` if kernels cannot be loaded one by one.
    split: Option<Split>,
    /// The driver's modules with one kernel, by its name; under `None`, the module with all.
    loaded: HashMap<Option<&'static str>, sys::CUmodule>,
    functions: HashMap<&'static str, Function>,
}

// SAFETY: the driver's modules and functions may be used from any thread.
unsafe impl Send for PresentModule {}

struct Function {
    raw: sys::CUfunction,
    static_shared_bytes: u32,
    /// Static and dynamic shared memory that the function may use so far, in bytes.
    shared_bytes: u32,
}

/// Bytes of shared memory that kernels may use without opting in.
const DEFAULT_SHARED_BYTES: u32 = 48 * 1024;

const LOG_BYTES: usize = 16 * 1024;

impl Drop for Modules {
    fn drop(&mut self) {
        let Ok(_bound) = self.primary.bind() else {
            return;
        };
        let present = lock(&self.present);
        for loaded in present.values().flat_map(|module| module.loaded.values()) {
            // SAFETY: loaded in `loaded`. The owner has waited for all launches.
            unsafe { sys::cuModuleUnload(*loaded) };
        }
    }
}

impl Modules {
    pub fn new(primary: &Arc<Primary>) -> Modules {
        Modules {
            present: Mutex::default(),
            primary: primary.clone(),
        }
    }

    /// Starts a kernel.
    ///
    /// # Safety
    /// `addresses` point to values of the kernel's parameter types, in order, and the kernel's own
    /// contract holds.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        module: &'static Module,
        kernel: &'static str,
        config: LaunchConfig,
        addresses: &mut [*mut c_void],
    ) -> Result<()> {
        let (grid, block) = (config.grid, config.block);
        let _bound = self.primary.bind()?;
        let function = self.function(module, kernel, config.shared_bytes)?;
        stream.set_last_kernel(kernel);
        // SAFETY: the function lives as long as its module, which lives as long as `self`; by the
        // contract of this function, the addresses are those of the kernel's arguments, and the
        // kernel's own contract holds.
        let result = unsafe {
            sys::cuLaunchKernel(
                function,
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                config.shared_bytes,
                stream.raw(),
                addresses.as_mut_ptr(),
                null_mut(),
            )
        };
        let operation = format_args!("launching {kernel} in {grid} blocks of {block}");
        self.primary.check(result, operation)
    }

    /// Returns the blocks of `threads` threads and `shared_bytes` bytes of dynamic shared memory that
    /// a multiprocessor runs at a time, and the registers of a thread.
    pub fn occupancy(
        &self,
        module: &'static Module,
        kernel: &'static str,
        threads: u32,
        shared_bytes: u32,
    ) -> Result<(u32, u32)> {
        let _bound = self.primary.bind()?;
        let function = self.function(module, kernel, shared_bytes)?;
        let (mut blocks, mut registers) = (0, 0);
        // SAFETY: writes one integer; the function was looked up in a module that lives.
        let result = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                function,
                threads as i32,
                shared_bytes as usize,
            )
        };
        let operation =
            format_args!("calculating the occupancy of {kernel} in blocks of {threads}");
        self.primary.check(result, operation)?;
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS;
        // SAFETY: writes one integer; the function was looked up in a module that lives.
        let result = unsafe { sys::cuFuncGetAttribute(&mut registers, attribute, function) };
        let operation = format_args!("reading the registers of {kernel}");
        self.primary.check(result, operation)?;
        Ok((blocks as u32, registers as u32))
    }

    /// Returns a kernel that may use `shared_bytes` bytes of dynamic shared memory, and loads the
    /// kernel if necessary. The context must be current.
    fn function(
        &self,
        module: &'static Module,
        kernel: &'static str,
        shared_bytes: u32,
    ) -> Result<sys::CUfunction> {
        let mut modules = lock(&self.present);
        let present = self.present(&mut modules, module)?;
        let function = match present.functions.entry(kernel) {
            Entry::Occupied(function) => function.into_mut(),
            Entry::Vacant(place) => {
                // The driver compiles slowly, so each kernel is compiled alone.
                let alone = (present.split.as_ref()).and_then(|split| split.ptx_of(kernel));
                let alone = alone.as_deref().map(|ptx| (kernel, ptx));
                let loaded = self.loaded(&mut present.loaded, module, present.image, alone)?;
                place.insert(self.look_up(loaded, module, kernel)?)
            }
        };
        let wanted = function.static_shared_bytes.saturating_add(shared_bytes);
        let limit = self.primary.properties().shared_memory_per_block;
        if wanted > limit {
            return Err(Error::Launch {
                kernel: kernel.to_string(),
                message: format!(
                    "it needs {wanted} bytes of shared memory per block, {} of them static, but the device has {limit}",
                    function.static_shared_bytes
                ),
            });
        }
        if wanted > function.shared_bytes {
            let attribute =
                sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function was looked up in a module that lives.
            let result =
                unsafe { sys::cuFuncSetAttribute(function.raw, attribute, shared_bytes as i32) };
            let operation =
                format_args!("setting the shared memory of {kernel} to {shared_bytes} bytes");
            self.primary.check(result, operation)?;
            function.shared_bytes = wanted;
        }
        Ok(function.raw)
    }

    /// Returns the module, and does not load it.
    fn present<'a>(
        &self,
        modules: &'a mut HashMap<usize, PresentModule>,
        module: &'static Module,
    ) -> Result<&'a mut PresentModule> {
        match modules.entry(std::ptr::from_ref(module) as usize) {
            Entry::Occupied(present) => Ok(present.into_mut()),
            Entry::Vacant(place) => {
                let image = self.image(module)?;
                Ok(place.insert(PresentModule {
                    image,
                    split: Split::new(image),
                    loaded: HashMap::new(),
                    functions: HashMap::new(),
                }))
            }
        }
    }

    /// Returns the driver's module with the kernel `alone`, given as its name and PTX, or with the
    /// whole image, and loads it if necessary. The context must be current.
    fn loaded(
        &self,
        loaded: &mut HashMap<Option<&'static str>, sys::CUmodule>,
        module: &Module,
        image: &Image,
        alone: Option<(&'static str, &str)>,
    ) -> Result<sys::CUmodule> {
        match loaded.entry(alone.map(|(kernel, _)| kernel)) {
            Entry::Occupied(loaded) => Ok(*loaded.get()),
            Entry::Vacant(place) => {
                let ptx = alone.map_or(image.ptx(), |(_, ptx)| ptx);
                Ok(*place.insert(self.load(module, image, ptx)?))
            }
        }
    }

    /// Copies to a variable in constant memory in the order of the stream. The value may change when
    /// this returns.
    ///
    /// # Safety
    /// `value` points to as many bytes as the constant has, which may be padding. The bytes
    /// are a value of the variable's type. No kernel on another stream reads the variable.
    pub unsafe fn set(
        &self,
        stream: &Stream,
        module: &'static Module,
        constant: &ConstantStatic,
        value: *const u8,
    ) -> Result<()> {
        stream.refuse_capture()?;
        let (name, bytes) = (constant.name(), constant.bytes());
        let _bound = self.primary.bind()?;
        let mut modules = lock(&self.present);
        let present = self.present(&mut modules, module)?;
        let missing = || {
            let message = format!("the module {} has no variable {name}", module.name());
            Error::input(SET_CONSTANT, message)
        };
        // A module with variables is loaded as a whole.
        if present.split.is_some() {
            return Err(missing());
        }
        let loaded = self.loaded(&mut present.loaded, module, present.image, None)?;
        let (mut address, mut size) = (0, 0);
        let mut look_up = |name: String| {
            let symbol = CString::new(name).map_err(|_| missing())?;
            // SAFETY: the module lives, the name ends with a zero, and two numbers are written.
            Ok(unsafe {
                sys::cuModuleGetGlobal_v2(&mut address, &mut size, loaded, symbol.as_ptr())
            })
        };
        // Where a PTX has the qualified name, the plain one may be that of another static.
        let mut result = look_up(constant.qualified_name())?;
        if result == cudaError_enum::CUDA_ERROR_NOT_FOUND {
            result = look_up(name.to_owned())?;
        }
        if result == cudaError_enum::CUDA_ERROR_NOT_FOUND {
            return Err(missing());
        }
        let operation = format_args!("looking up {name} in the module {}", module.name());
        self.primary.check(result, operation)?;
        if size != bytes {
            let message = format!(
                "{name} has {size} bytes in the module {}, but {bytes} in this program",
                module.name()
            );
            return Err(Error::input(SET_CONSTANT, message));
        }
        // SAFETY: both have `bytes` bytes, and the module lives as long as `self`, which waits for
        // the streams; by the contract of this function, `value` points to a value of the
        // variable's type, and no kernel on another stream reads the variable.
        unsafe { stream.upload(value, bytes, address, format_args!("setting {name}")) }
    }

    /// Looks up a kernel in a loaded module. The context must be current.
    fn look_up(&self, loaded: sys::CUmodule, module: &Module, kernel: &str) -> Result<Function> {
        let launch_error = |message| Error::Launch {
            kernel: kernel.to_string(),
            message,
        };
        let name = CString::new(kernel)
            .map_err(|_| launch_error("its name contains a zero byte".to_string()))?;
        let mut raw = null_mut();
        // SAFETY: the module lives, the name ends with a zero, and one handle is written.
        let result = unsafe { sys::cuModuleGetFunction(&mut raw, loaded, name.as_ptr()) };
        let module = module.name();
        if result == cudaError_enum::CUDA_ERROR_NOT_FOUND {
            let message = format!("the module {module} has no such entry");
            return Err(launch_error(message));
        }
        let operation = format_args!("looking up {kernel} in the module {module}");
        self.primary.check(result, operation)?;
        let mut static_shared_bytes = 0;
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
        // SAFETY: writes one integer; the function was just looked up.
        let result = unsafe { sys::cuFuncGetAttribute(&mut static_shared_bytes, attribute, raw) };
        let operation = format_args!("reading the shared memory of {kernel}");
        self.primary.check(result, operation)?;
        Ok(Function {
            raw,
            static_shared_bytes: static_shared_bytes as u32,
            shared_bytes: DEFAULT_SHARED_BYTES,
        })
    }

    /// Returns the newest image that runs on the GPU.
    fn image(&self, module: &Module) -> Result<&'static Image> {
        let (major, minor) = self.primary.properties().compute_capability;
        module.image_for((major, minor)).ok_or_else(|| {
            let architectures: Vec<_> = module.images().iter().map(Image::architecture).collect();
            let reason = format!(
                "its compute capability is {major}.{minor}, but the module is for {}",
                architectures.join(", ")
            );
            self.load_error(module, None, reason, String::new())
        })
    }

    /// Loads `ptx`, the text of an image or a part of it. The context must be current.
    fn load(&self, module: &Module, image: &Image, ptx: &str) -> Result<sys::CUmodule> {
        let has_lines = ptx.contains(".loc\t");
        let ptx = CString::new(ptx).map_err(|_| {
            let reason = "its text contains a zero byte".to_string();
            self.load_error(module, Some(image), reason, String::new())
        })?;
        let mut log = vec![0u8; LOG_BYTES];
        let mut options = [
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            // For profilers, if the PTX has lines.
            CUjit_option::CU_JIT_GENERATE_LINE_INFO,
        ];
        let has_lines = usize::from(has_lines);
        // The driver takes numbers in place of pointers here.
        let mut values = [
            log.as_mut_ptr().cast::<c_void>(),
            LOG_BYTES as *mut c_void,
            has_lines as *mut c_void,
        ];
        let mut raw = null_mut();
        // SAFETY: the text ends with a zero, and the options' values are the log, its size and a
        // flag.
        let result = unsafe {
            sys::cuModuleLoadDataEx(
                &mut raw,
                ptx.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        if result != cudaError_enum::CUDA_SUCCESS {
            let code = cust::driver::last_error().unwrap_or(result as u32);
            let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
            let log = String::from_utf8_lossy(&log[..end]).into_owned();
            return Err(self.load_error(module, Some(image), words(code), log));
        }
        Ok(raw)
    }

    fn load_error(
        &self,
        module: &Module,
        image: Option<&Image>,
        reason: String,
        log: String,
    ) -> Error {
        let ptx_version = image.map_or("of no version", Image::ptx_version);
        let ptx_target = image.map_or("another architecture", Image::architecture);
        let driver_version = match cust::driver::driver_version() {
            Some((major, minor)) => format!("{major}.{minor}"),
            None => "an unknown version".to_string(),
        };
        Error::Load(Box::new(LoadError {
            module: module.name().to_string(),
            ptx_version: ptx_version.to_string(),
            ptx_target: ptx_target.to_string(),
            device: self.primary.name().to_string(),
            driver_version,
            reason,
            log,
        }))
    }
}
