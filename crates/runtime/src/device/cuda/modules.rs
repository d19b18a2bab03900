//! Loading PTX and launching its kernels.

use super::primary::{Primary, code_of};
use super::stream::Stream;
use super::words::words;
use crate::device::module::SET_CONSTANT;
use crate::device::split::Split;
use crate::device::{Image, Module, lock};
use crate::error::{Error, LoadError, Result};
use crate::sync::Mutex;
use cuda_std::host::{ConstantStatic, LaunchConfig};
use cust::error::CudaError;
use cust::function::{BlockSize, Function as CustFunction, FunctionAttribute};
use cust::module::{Module as CustModule, ModuleJitOption};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::{CString, c_void};
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
    loaded: HashMap<Option<&'static str>, CustModule>,
    functions: HashMap<&'static str, Function>,
}

struct Function {
    /// Valid while its module is loaded.
    inner: CustFunction<'static>,
    static_shared_bytes: u32,
    /// Static and dynamic shared memory that the function may use so far, in bytes.
    shared_bytes: u32,
}

/// Bytes of shared memory that kernels may use without opting in.
const DEFAULT_SHARED_BYTES: u32 = 48 * 1024;

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
        let (grid_size, block_size) = ((grid.x, grid.y, grid.z), (block.x, block.y, block.z));
        // SAFETY: by the contract of this function, the addresses are those of the kernel's
        // arguments, and the kernel's own contract holds.
        let result = unsafe {
            (stream.inner()).launch(
                &function,
                grid_size,
                block_size,
                config.shared_bytes,
                addresses,
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
        let block = BlockSize::x(threads);
        let blocks = function.max_active_blocks_per_multiprocessor(block, shared_bytes as usize);
        let operation =
            format_args!("calculating the occupancy of {kernel} in blocks of {threads}");
        let blocks = self.primary.check(blocks, operation)?;
        let registers = function.get_attribute(FunctionAttribute::NumRegisters);
        let operation = format_args!("reading the registers of {kernel}");
        let registers = self.primary.check(registers, operation)?;
        Ok((blocks, registers as u32))
    }

    /// Returns a kernel that may use `shared_bytes` bytes of dynamic shared memory, and loads the
    /// kernel if necessary. The context must be current.
    fn function(
        &self,
        module: &'static Module,
        kernel: &'static str,
        shared_bytes: u32,
    ) -> Result<CustFunction<'static>> {
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
            let set = function.inner.set_max_dynamic_shared_memory(shared_bytes);
            let operation =
                format_args!("setting the shared memory of {kernel} to {shared_bytes} bytes");
            self.primary.check(set, operation)?;
            function.shared_bytes = wanted;
        }
        Ok(function.inner)
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
    /// whole image, and loads it if necessary.
    fn loaded<'a>(
        &self,
        loaded: &'a mut HashMap<Option<&'static str>, CustModule>,
        module: &Module,
        image: &Image,
        alone: Option<(&'static str, &str)>,
    ) -> Result<&'a CustModule> {
        match loaded.entry(alone.map(|(kernel, _)| kernel)) {
            Entry::Occupied(loaded) => Ok(loaded.into_mut()),
            Entry::Vacant(place) => {
                let ptx = alone.map_or(image.ptx(), |(_, ptx)| ptx);
                Ok(place.insert(self.load(module, image, ptx)?))
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
        let look_up = |name: String| {
            let symbol = CString::new(name).map_err(|_| missing())?;
            Ok(loaded.find_global(&symbol))
        };
        // Where a PTX has the qualified name, the plain one may be that of another static.
        let mut global = look_up(constant.qualified_name())?;
        if global == Err(CudaError::NotFound) {
            global = look_up(name.to_owned())?;
        }
        if global == Err(CudaError::NotFound) {
            return Err(missing());
        }
        let operation = format_args!("looking up {name} in the module {}", module.name());
        let (address, size) = self.primary.check(global, operation)?;
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
    fn look_up(&self, loaded: &CustModule, module: &Module, kernel: &str) -> Result<Function> {
        let launch_error = |message| Error::Launch {
            kernel: kernel.to_string(),
            message,
        };
        if kernel.contains('\0') {
            let message = "its name contains a zero byte".to_string();
            return Err(launch_error(message));
        }
        let function = loaded.get_function(kernel);
        let module = module.name();
        if matches!(function, Err(CudaError::NotFound)) {
            let message = format!("the module {module} has no such entry");
            return Err(launch_error(message));
        }
        let operation = format_args!("looking up {kernel} in the module {module}");
        let function = self.primary.check(function, operation)?;
        let attribute = FunctionAttribute::SharedMemorySizeBytes;
        let operation = format_args!("reading the shared memory of {kernel}");
        let static_shared_bytes =
            (self.primary).check(function.get_attribute(attribute), operation)?;
        Ok(Function {
            // SAFETY: the module is unloaded when `self` is dropped, and the function with it.
            inner: unsafe { CustFunction::from_raw(function.to_raw()) },
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

    /// Loads `ptx`, the text of an image or a part of it.
    fn load(&self, module: &Module, image: &Image, ptx: &str) -> Result<CustModule> {
        // For profilers, if the PTX has lines.
        let options = [ModuleJitOption::GenerateLineInfo(ptx.contains(".loc\t"))];
        let ptx = CString::new(ptx).map_err(|_| {
            let reason = "its text contains a zero byte".to_string();
            self.load_error(module, Some(image), reason, String::new())
        })?;
        CustModule::from_ptx_in(self.primary.context(), &ptx, &options).map_err(|(error, log)| {
            self.load_error(module, Some(image), words(code_of(error)), log)
        })
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
