//! Constant memory, set from the host.

use super::capture;
use super::handle::Backend;
use super::module::SET_CONSTANT;
use super::{Device, Module};
use crate::{Error, Result};
use cuda_std::DeviceParam;
use cuda_std::host::ConstantStatic;
use std::ptr;

impl Device {
    /// Sets a `#[address_space(constant)] static mut` of a kernel crate, in order with the other
    /// work on the handle's stream: kernels launched through this handle from now on read `value`.
    ///
    /// The pointer names the static and gives its type, and is not followed. A GPU looks up the
    /// static by its name in `module`, which is loaded if necessary. Each GPU has its own value.
    /// All simulators of a process share one value, which the host can read too.
    ///
    /// ```
    /// use cuda_std::address_space;
    /// use cuda_std::prelude::*;
    /// use gridstride::Device;
    /// use gridstride::device::{LaunchConfig, Module};
    ///
    /// /// The coefficients of a parabola, the lowest power first.
    /// #[address_space(constant)]
    /// pub static mut PARABOLA: [f32; 3] = [0.0; 3];
    ///
    /// /// Replaces each x by the parabola at x.
    /// #[kernel]
    /// pub unsafe fn parabola(values: &mut [f32]) {
    ///     let i = thread::index_1d() as usize;
    ///     if let Some(value) = values.get_mut(i) {
    ///         // SAFETY: the host sets the static only between launches.
    ///         let [a, b, c] = unsafe { PARABOLA };
    ///         *value = (c * *value + b) * *value + a;
    ///     }
    /// }
    ///
    /// # fn main() -> gridstride::Result<()> {
    /// // For GPUs, the module has the PTX that cuda_builder makes of the kernel crate.
    /// static KERNELS: Module = Module::new("kernels", &[]);
    /// let device = Device::simulator()?;
    /// let mut values = device.buffer_from(&[0.0f32, 1.0, 2.0])?;
    /// // SAFETY: no other kernel reads the static, and the slice is that of the buffer.
    /// unsafe {
    ///     device.set_constant(&KERNELS, &raw const PARABOLA, &[1.0, 0.0, 10.0])?;
    ///     let slice = values.slice_mut();
    ///     device.launch(&KERNELS, &parabola, LaunchConfig::for_len(3, 32), (slice,))?;
    /// }
    /// assert_eq!(values.to_vec()?, [1.0, 11.0, 41.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the pointer is not that of an
    /// `#[address_space(constant)] static mut` of the size of `T`, or, on a GPU, if the module has no
    /// such static of this size or another library captures a graph of the handle's stream,
    /// [`Error::Load`] if the driver does not accept the module, [`Error::Driver`] if the copy
    /// fails, [`Error::Unavailable`] on the CPU, which runs no kernels.
    ///
    /// # Safety
    /// `T` is the static's type, as the pointer of `&raw const NAME` says by itself. Only the size
    /// is checked: a pointer that was cast could give the static bytes that are no value of its
    /// type, such as a `bool` of 2.
    ///
    /// No kernel that reads the static runs at the same time: on a GPU on other streams, and on the
    /// simulator on other threads, in any simulator of the process.
    pub unsafe fn set_constant<T: DeviceParam>(
        &self,
        module: &'static Module,
        constant: *const T,
        value: &T,
    ) -> Result<()> {
        let constant = ConstantStatic::find(constant);
        // SAFETY: `value` is a `T`, which the caller promises to be the static's type. The caller
        // also promises that no kernel reads the static meanwhile.
        unsafe { self.set_found(module, constant, ptr::from_ref(value).cast()) }
    }

    /// Compiled once, not for each type.
    ///
    /// # Safety
    /// `value` points to a value of the static's type. The rest is as in `set_constant`.
    unsafe fn set_found(
        &self,
        module: &'static Module,
        constant: Option<&'static ConstantStatic>,
        value: *const u8,
    ) -> Result<()> {
        let constant = constant.ok_or_else(|| {
            let message =
                "the pointer is not that of an `#[address_space(constant)] static mut` of this type";
            Error::input(SET_CONSTANT, message)
        })?;
        capture::refuse(self, SET_CONSTANT)?;
        match &self.backend {
            Backend::Cpu => Err(Error::Unavailable {
                device: self.to_string(),
                reason: format!(
                    "the CPU runs no kernels that read {}: use Device::simulator() or a GPU",
                    constant.name()
                ),
            }),
            // SAFETY: `value` points to a value of the static's type, and no kernel reads the
            // static meanwhile, both by the contract of this function.
            Backend::Simulator(_) => unsafe {
                constant.set(value);
                Ok(())
            },
            // SAFETY: `value` points to a value of the static's type, and no kernel on another
            // stream reads the static meanwhile, both by the contract of this function.
            Backend::Cuda(gpu) => unsafe { gpu.set_constant(module, constant, value) },
        }
    }
}
