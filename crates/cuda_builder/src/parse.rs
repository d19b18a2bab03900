//! Architectures by their names.

use std::str::FromStr;

use crate::{Arch, BuildError, NvvmArch};

impl FromStr for Arch {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<Self, BuildError> {
        let known = Arch::ALL.iter().copied().find(|arch| arch.name() == text);
        known.ok_or_else(|| BuildError::UnknownArch {
            given: text.to_owned(),
        })
    }
}

impl TryFrom<NvvmArch> for Arch {
    type Error = BuildError;

    fn try_from(name: NvvmArch) -> Result<Self, BuildError> {
        let supported = name.supported();
        supported.ok_or(BuildError::UnsupportedArch { given: name })
    }
}
