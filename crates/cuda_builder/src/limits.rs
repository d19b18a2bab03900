//! Limits on parameters, which errors name too.

use crate::PtxVersion;

/// The first version with more parameters, and the bytes of parameters that a kernel can have before
/// that version and from it on. (PTX ISA, "Kernel Function Parameter Attributes".)
pub(crate) const MORE_PARAMETERS: PtxVersion = PtxVersion::new(8, 1);
pub(crate) const PARAMETER_LIMITS: [usize; 2] = [4352, 32_764];
