//! Statics in shared and constant memory, on the host.

/// The statics with `#[address_space(shared)]` of the whole program.
///
/// On the host each is one static, whereas each block of a GPU has its own. If the list is not empty,
/// the executor runs one block at a time in the process and overwrites the statics before each
/// block.
#[linkme::distributed_slice]
#[linkme(crate = linkme)]
pub static SHARED_STATICS: [SharedStatic];

/// A static with `#[address_space(shared)]`.
///
/// One of more than 48 KiB does not compile:
///
/// ```compile_fail,E0080
/// # use cuda_std::address_space;
/// #[address_space(shared)]
/// static mut TILE: [f32; 16384] = [0.0; 16384];
/// # fn main() {}
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SharedStatic {
    pointer: *mut u8,
    bytes: usize,
}

// SAFETY: an address. Whoever uses it sees to it that one block runs at a time.
unsafe impl Sync for SharedStatic {}

impl SharedStatic {
    /// Used by `#[address_space(shared)]`.
    #[doc(hidden)]
    pub const fn new<T>(pointer: *mut T) -> Self {
        Self {
            pointer: pointer.cast(),
            bytes: size_of::<T>(),
        }
    }

    /// Its address.
    pub fn as_mut_ptr(&self) -> *mut u8 {
        self.pointer
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// The statics with `#[address_space(constant)]` of the whole program that the host may set, which
/// are the `static mut`s.
#[linkme::distributed_slice]
#[linkme(crate = linkme)]
pub static CONSTANT_STATICS: [ConstantStatic];

/// A `static mut` with `#[address_space(constant)]`.
///
/// ```
/// use cuda_std::address_space;
/// use cuda_std::host::ConstantStatic;
///
/// #[address_space(constant)]
/// pub static mut WEIGHTS: [f32; 3] = [0.25, 0.5, 0.25];
///
/// # fn main() {
/// let constant = ConstantStatic::find(&raw const WEIGHTS).expect("the macro has registered it");
/// assert_eq!((constant.name(), constant.bytes()), ("WEIGHTS", 12));
/// assert!(constant.qualified_name().ends_with("$WEIGHTS"));
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ConstantStatic {
    name: &'static str,
    module: &'static str,
    pointer: *mut u8,
    bytes: usize,
}

// SAFETY: an address, which only `set` writes to. The caller of `set` excludes concurrent accesses.
unsafe impl Sync for ConstantStatic {}

impl ConstantStatic {
    /// Used by `#[address_space(constant)]`.
    #[doc(hidden)]
    pub const fn new<T>(name: &'static str, module: &'static str, pointer: *mut T) -> Self {
        Self {
            name,
            module,
            pointer: pointer.cast(),
            bytes: size_of::<T>(),
        }
    }

    /// Returns the static at this address; `None` if no `#[address_space(constant)] static mut` is
    /// there.
    pub fn find<T>(constant: *const T) -> Option<&'static Self> {
        let is_found = |one: &&Self| {
            std::ptr::addr_eq(one.pointer, constant) && one.bytes == size_of::<T>() && one.bytes > 0
        };
        CONSTANT_STATICS.iter().find(is_found)
    }

    /// Returns the name in the PTX, if no other static or function of the PTX has this name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the name in a PTX where several have the same [`name`](Self::name): crate, modules
    /// and name, with `$` between them, such as `my_kernels$filter$WEIGHTS`.
    pub fn qualified_name(&self) -> String {
        let path = self.module.split("::").chain([self.name]);
        let path = path.map(|part| part.trim_start_matches("r#"));
        Vec::from_iter(path).join("$")
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sets the host's static, which simulated kernels read.
    ///
    /// # Safety
    /// `value` points to a value of the static's type, and no other thread accesses the static
    /// during the call: no simulated kernel that reads it runs.
    pub unsafe fn set(&self, value: *const u8) {
        // SAFETY: the static has these bytes and is mutable; by the contract of this function,
        // `value` points to a value of its type, and no other thread accesses it during the call.
        unsafe { self.pointer.copy_from_nonoverlapping(value, self.bytes) };
    }
}
