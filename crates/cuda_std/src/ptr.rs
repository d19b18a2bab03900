//! Memories of a GPU, and addresses in them.

/// A state space of GPU memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    /// The device's memory.
    Global,
    /// The memory of a block.
    Shared,
    /// The memory for constants.
    Constant,
    /// The memory of a thread.
    Local,
}

#[cfg(target_arch = "nvptx64")]
macro_rules! of_space {
    ($space:expr, $instruction:literal, $end:literal, $($operands:tt)*) => {
        match $space {
            AddressSpace::Global => core::arch::asm!(concat!($instruction, "global", $end), $($operands)*),
            AddressSpace::Shared => core::arch::asm!(concat!($instruction, "shared", $end), $($operands)*),
            AddressSpace::Constant => core::arch::asm!(concat!($instruction, "const", $end), $($operands)*),
            AddressSpace::Local => core::arch::asm!(concat!($instruction, "local", $end), $($operands)*),
        }
    };
}

/// Whether the pointer is an address in the memory. On the host, where there is one memory,
/// pointers are [`Global`](AddressSpace::Global).
///
/// # Safety
/// The pointer is one that may be dereferenced.
#[inline(always)]
pub unsafe fn is_in_address_space<T>(ptr: *const T, address_space: AddressSpace) -> bool {
    #[cfg(target_arch = "nvptx64")]
    {
        let is_in: u32;
        // SAFETY: it compares an address with the ranges of the memories.
        unsafe {
            of_space!(
                address_space,
                "{{ .reg .pred %in; isspacep.",
                " %in, {ptr}; selp.u32 {is_in}, 1, 0, %in; }}",
                ptr = in(reg64) ptr, is_in = out(reg32) is_in, options(pure, nomem)
            );
        }
        is_in != 0
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = ptr;
        address_space == AddressSpace::Global
    }
}

macro_rules! conversions {
    ($($(#[$doc:meta])* $name:ident = $instruction:literal;)*) => {$(
        $(#[$doc])*
        /// On the host the address is the same.
        ///
        /// # Safety
        /// The pointer is an address in that memory.
        #[inline(always)]
        pub unsafe fn $name<T>(ptr: *const T, address_space: AddressSpace) -> *const T {
            #[cfg(target_arch = "nvptx64")]
            {
                let converted: *const T;
                // SAFETY: a conversion of addresses.
                unsafe {
                    of_space!(
                        address_space, $instruction, ".u64 {converted}, {ptr};",
                        ptr = in(reg64) ptr, converted = out(reg64) converted, options(pure, nomem)
                    );
                }
                converted
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let _ = address_space;
                ptr
            }
        }
    )*};
}

conversions! {
    /// Returns a generic address as an address within a memory.
    convert_generic_to_specific_address_space = "cvta.to.";
    /// Returns an address within a memory as a generic address.
    convert_specific_address_space_to_generic = "cvta.";
}
