//! The two types of numbers that a sketch can have.

use crate::device::Element;

/// `f32` or `f64`: the type of a sketch's entries, and of the sums that lead to them.
///
/// Sealed: there is no third one.
pub trait Real: Element + PartialOrd + std::fmt::Debug + sealed::Sealed {
    /// 2⁻²⁴ or 2⁻⁵³: half the distance from 1 to the next larger number, the largest relative error
    /// of one rounding.
    const UNIT_ROUNDOFF: f64;

    /// The name of the type, for messages.
    const NAME: &'static str;

    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self;

    /// The same number.
    fn to_f64(self) -> f64;
}

mod sealed {
    use ndarray::{Array2, Array3};

    use crate::device::Buffer;
    use crate::tensor_sketch::gpu;
    use crate::tensor_sketch::windows::Windows;
    use crate::tensor_sketch::{DeviceSequences, Rows, Sequences, TensorSketch, cpu, engine};
    use crate::{Device, Result};

    /// What the devices need to know of the type.
    pub trait Sealed: cpu::Vector + gpu::Kernels + Instances {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}

    /// The doors to what is large and generic. Behind them it is compiled here, once for each type,
    /// and not again in each crate that sketches.
    pub trait Instances: Sized {
        fn run(
            of: &TensorSketch<Self>,
            _: &[Device],
            _: &Sequences,
            _: Rows,
        ) -> Result<Array3<Self>>
        where
            Self: super::Real;
        fn run_on_device(
            of: &TensorSketch<Self>,
            _: &DeviceSequences,
            _: Rows,
        ) -> Result<Buffer<Self>>
        where
            Self: super::Real;
        fn windows(
            of: &TensorSketch<Self>,
            _: &[Device],
            _: &[u8],
            _: Windows,
        ) -> Result<Array2<Self>>
        where
            Self: super::Real;
        fn engine(of: &TensorSketch<Self>, _: &Device) -> Result<Box<dyn engine::Engine<Self>>>
        where
            Self: super::Real;
    }

    macro_rules! instances {
        ($type:ty) => {
            impl Instances for $type {
                fn run(
                    of: &TensorSketch<Self>,
                    devices: &[Device],
                    sequences: &Sequences,
                    rows: Rows,
                ) -> Result<Array3<Self>> {
                    of.run(devices, sequences, rows)
                }

                fn run_on_device(
                    of: &TensorSketch<Self>,
                    sequences: &DeviceSequences,
                    rows: Rows,
                ) -> Result<Buffer<Self>> {
                    of.run_on_device(sequences, rows)
                }

                fn windows(
                    of: &TensorSketch<Self>,
                    devices: &[Device],
                    codes: &[u8],
                    windows: Windows,
                ) -> Result<Array2<Self>> {
                    of.run_windows(devices, codes, windows)
                }

                fn engine(
                    of: &TensorSketch<Self>,
                    device: &Device,
                ) -> Result<Box<dyn engine::Engine<Self>>> {
                    of.new_engine(device)
                }
            }
        };
    }

    instances!(f32);
    instances!(f64);
}

impl Real for f32 {
    const UNIT_ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;
    const NAME: &'static str = "f32";

    fn from_f64(value: f64) -> f32 {
        value as f32
    }

    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;
    const NAME: &'static str = "f64";

    fn from_f64(value: f64) -> f64 {
        value
    }

    fn to_f64(self) -> f64 {
        self
    }
}
