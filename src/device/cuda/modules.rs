//! Loading PTX and launching its kernels.

use super::primary::Primary;
use super::stream::Stream;
use crate::device::split::Split;
use crate::device::{Image, Module, lock};
use crate::error::{Error, LoadError, Result};
use cuda_std::host::LaunchConfig;
use cust::sys::{self, CUjit_option, cudaError_enum};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

/// The modules of a GPU, loaded when their kernels are first launched.
pub struct Modules {
    /// By the address of the [`Module`].
    present: Mutex<HashMap<usize, PresentModule>>,
    primary: Arc<Primary>,
}

/// A module of which kernels have been launched.
struct PresentModule {
    image: &'static Image,
    /// `None` if kernels cannot be loaded one by one.
    split: Option<Split>,
    /// By the kernel that was loaded alone; `None` has all of them.
    loaded: HashMap<Option<&'static str>, LoadedModule>,
}

/// A module, or one kernel of it, as the driver loaded it, and the functions looked up in it so far.
struct LoadedModule {
    raw: sys::CUmodule,
    functions: HashMap<&'static str, Function>,
}

// SAFETY: the driver's modules and functions may be used from any thread.
unsafe impl Send for LoadedModule {}

#[derive(Clone, Copy)]
struct Function {
    raw: sys::CUfunction,
    /// Bytes of its static shared memory.
    static_shared_bytes: u32,
    /// Bytes of static and dynamic shared memory that it may use so far.
    shared_bytes: u32,
}

/// Bytes of shared memory that every kernel may use without opting in.
const DEFAULT_SHARED_BYTES: u32 = 48 * 1024;

const LOG_BYTES: usize = 16 * 1024;

impl Drop for Modules {
    fn drop(&mut self) {
        let Ok(_bound) = self.primary.bind() else {
            return;
        };
        for (_, module) in lock(&self.present).drain() {
            for loaded in module.loaded.into_values() {
                // SAFETY: the owner has waited for all launches.
                unsafe { sys::cuModuleUnload(loaded.raw) };
            }
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
    /// `addresses` are those of values of the kernel's parameter types, in order, and the kernel's
    /// own contract holds.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        module: &'static Module,
        kernel: &'static str,
        config: LaunchConfig,
        addresses: &mut [*mut c_void],
    ) -> Result<()> {
        let _bound = self.primary.bind()?;
        let function = self.function(module, kernel, config.shared_bytes)?;
        stream.set_last_kernel(kernel);
        let LaunchConfig {
            grid,
            block,
            shared_bytes,
        } = config;
        // SAFETY: the function lives as long as its module, that as long as `self`; the rest
        // is passed on to the caller.
        let result = unsafe {
            sys::cuLaunchKernel(
                function,
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                shared_bytes,
                stream.raw(),
                addresses.as_mut_ptr(),
                null_mut(),
            )
        };
        self.primary.check(
            result,
            &format!("launching {kernel} in {grid} blocks of {block}"),
        )
    }

    /// The function of that name, allowed to use so much dynamic shared memory. The context must
    /// be current.
    fn function(
        &self,
        module: &'static Module,
        kernel: &'static str,
        shared_bytes: u32,
    ) -> Result<sys::CUfunction> {
        let mut modules = lock(&self.present);
        let present = match modules.entry(std::ptr::from_ref(module) as usize) {
            Entry::Occupied(present) => present.into_mut(),
            Entry::Vacant(place) => {
                let image = self.image(module)?;
                place.insert(PresentModule {
                    image,
                    split: Split::new(image),
                    loaded: HashMap::new(),
                })
            }
        };
        // Compiling takes the driver a while: it gets each kernel by itself, when that is launched.
        let alone = present
            .split
            .as_ref()
            .is_some_and(|split| split.has(kernel));
        let loaded = match present.loaded.entry(alone.then_some(kernel)) {
            Entry::Occupied(loaded) => loaded.into_mut(),
            Entry::Vacant(place) => {
                let image = present.image;
                let ptx = present
                    .split
                    .as_ref()
                    .and_then(|split| split.ptx_of(kernel));
                let ptx = ptx.as_deref().unwrap_or(image.ptx());
                place.insert(self.load(module, image, ptx)?)
            }
        };
        let mut function = match loaded.functions.get(kernel) {
            Some(function) => *function,
            None => self.look_up(loaded.raw, module, kernel)?,
        };
        let wanted = function.static_shared_bytes.saturating_add(shared_bytes);
        let limit = self.primary.shared_memory_per_block();
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
            self.primary.check(
                result,
                &format!("setting the shared memory of {kernel} to {shared_bytes} bytes"),
            )?;
            function.shared_bytes = wanted;
        }
        loaded.functions.insert(kernel, function);
        Ok(function.raw)
    }

    fn look_up(&self, loaded: sys::CUmodule, module: &Module, kernel: &str) -> Result<Function> {
        let launch_error = |message| Error::Launch {
            kernel: kernel.to_string(),
            message,
        };
        let name = CString::new(kernel)
            .map_err(|_| launch_error("its name contains a zero byte".to_string()))?;
        let mut function = null_mut();
        // SAFETY: the module lives, the name ends with a zero, and one handle is written.
        let result = unsafe { sys::cuModuleGetFunction(&mut function, loaded, name.as_ptr()) };
        if result == cudaError_enum::CUDA_ERROR_NOT_FOUND {
            return Err(launch_error(format!(
                "the module {} has no such entry",
                module.name()
            )));
        }
        self.primary.check(
            result,
            &format!("looking up {kernel} in the module {}", module.name()),
        )?;
        let mut static_shared_bytes = 0;
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
        // SAFETY: it writes one integer; the function was just looked up.
        let result =
            unsafe { sys::cuFuncGetAttribute(&mut static_shared_bytes, attribute, function) };
        self.primary
            .check(result, &format!("reading the shared memory of {kernel}"))?;
        Ok(Function {
            raw: function,
            static_shared_bytes: static_shared_bytes as u32,
            shared_bytes: DEFAULT_SHARED_BYTES,
        })
    }

    /// The image that fits.
    fn image(&self, module: &Module) -> Result<&'static Image> {
        let (major, minor) = self.primary.compute_capability();
        module.image_for((major, minor)).ok_or_else(|| {
            let architectures: Vec<_> = module.images().iter().map(Image::architecture).collect();
            self.load_error(
                module,
                None,
                format!(
                    "its compute capability is {major}.{minor}, but the module is for {}",
                    architectures.join(", ")
                ),
                String::new(),
            )
        })
    }

    /// Loads `ptx`, the text of an image or a part of it. The context must be current.
    fn load(&self, module: &Module, image: &Image, ptx: &str) -> Result<LoadedModule> {
        let ptx = CString::new(ptx).map_err(|_| {
            self.load_error(
                module,
                Some(image),
                "its text contains a zero byte".to_string(),
                String::new(),
            )
        })?;
        let mut log = vec![0u8; LOG_BYTES];
        let mut options = [
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        // The driver takes sizes in place of pointers here.
        let mut values = [log.as_mut_ptr().cast::<c_void>(), LOG_BYTES as *mut c_void];
        let mut raw = null_mut();
        // SAFETY: the text ends with a zero; the options and their values are as many as said, and
        // the log has the size that they give.
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
            return Err(self.load_error(module, Some(image), cust::driver::error_text(code), log));
        }
        Ok(LoadedModule {
            raw,
            functions: HashMap::new(),
        })
    }

    fn load_error(
        &self,
        module: &Module,
        image: Option<&Image>,
        reason: String,
        log: String,
    ) -> Error {
        let driver = cust::driver::driver_version();
        Error::Load(Box::new(LoadError {
            module: module.name().to_string(),
            ptx_version: image
                .map_or("of no version", Image::ptx_version)
                .to_string(),
            ptx_target: image
                .map_or("another architecture", Image::architecture)
                .to_string(),
            device: self.primary.name().to_string(),
            driver_version: driver.map_or("an unknown version".into(), |(major, minor)| {
                format!("{major}.{minor}")
            }),
            reason,
            log,
        }))
    }
}
