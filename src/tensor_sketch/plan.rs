//! How a sketch would be computed, to be read by people.

use std::fmt;

use super::gpu;
use super::{Form, Real, TensorSketch, cpu};
use crate::device::DeviceKind;
use crate::{Device, Result};

/// How a device computes sketches with given tables; [`TensorSketch::plan`] makes one.
///
/// It is for logs and benchmarks: `Display` says it in a line, which may read differently in each
/// version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    form: Form,
    number: &'static str,
    details: String,
}

impl Plan {
    /// The form: never [`Form::Auto`], but what that stands for.
    pub fn form(&self) -> Form {
        self.form
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match self.form {
            Form::Direct => "direct",
            Form::Auto | Form::Fourier => "Fourier",
        };
        write!(f, "{form} form in {}: {}", self.number, self.details)
    }
}

impl<T: Real> TensorSketch<T> {
    /// How `device` computes these sketches.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`](crate::Error::InvalidInput) if it cannot.
    ///
    /// # Examples
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Form, Tables, TensorSketch};
    ///
    /// let sketcher = TensorSketch::new(Tables::from_seed(4, 4, 96, 0)?);
    /// let plan = sketcher.plan(&Device::cpu())?;
    /// assert_eq!(plan.form(), Form::Fourier);
    /// println!("{plan}"); // Fourier form in f32: words of up to 4 letters on 8 threads
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn plan(&self, device: &Device) -> Result<Plan> {
        let form = match self.form {
            Form::Auto => Form::Fourier,
            form => form,
        };
        let details = if device.kind() == DeviceKind::Cpu {
            cpu::plan(&self.tables, form)
        } else {
            self.kernels_plan(device, form)?
        };
        Ok(Plan {
            form,
            number: T::NAME,
            details,
        })
    }

    fn kernels_plan(&self, device: &Device, form: Form) -> Result<String> {
        gpu::plan::<T>(device, &self.tables, form)
    }
}
