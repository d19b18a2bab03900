//! Compiled kernels inside a program.

use crate::sync::Mutex;
use std::collections::BTreeMap;
use std::fmt;

use lz4_flex::block::decompress_size_prepended;

use super::lock;

/// The operation in error messages of statics that a module should have.
pub(super) const SET_CONSTANT: &str = "set a constant";

/// A kernel crate compiled to PTX, once per architecture that it has code for.
///
/// ```
/// use gridstride::device::{Image, Module};
///
/// # const PTX: &str = ".version 7.0\n.target sm_70\n.address_size 64\n";
/// // With cuda_builder in build.rs: include_str!(concat!(env!("OUT_DIR"), "/my_kernels.ptx"))
/// static MY_KERNELS: Module = Module::new("my_kernels", &[Image::new("sm_70", PTX)]);
/// # assert_eq!(MY_KERNELS.name(), "my_kernels");
/// ```
#[derive(Debug)]
pub struct Module {
    name: &'static str,
    images: &'static [Image],
}

/// The PTX for one architecture.
pub struct Image {
    architecture: &'static str,
    text: Text,
}

/// The PTX inside the program.
enum Text {
    Plain(&'static str),
    Compressed(&'static [u8]),
}

/// Expands an image's bytes. The text is kept until the process ends, like the image.
fn expanded(bytes: &'static [u8]) -> &'static str {
    static TEXTS: Mutex<BTreeMap<usize, &'static str>> = Mutex::new(BTreeMap::new());
    let mut texts = lock(&TEXTS);
    texts.entry(bytes.as_ptr() as usize).or_insert_with(|| {
        let text = decompress_size_prepended(bytes).expect("an image is compressed");
        String::from_utf8(text).expect("an image is text").leak()
    })
}

impl Module {
    /// Makes a module of images in any order. The name is used in messages.
    pub const fn new(name: &'static str, images: &'static [Image]) -> Self {
        Self { name, images }
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the images.
    pub fn images(&self) -> &'static [Image] {
        self.images
    }

    /// Returns the newest image that runs on GPUs of a compute capability.
    pub fn image_for(&self, compute_capability: (u32, u32)) -> Option<&'static Image> {
        self.images
            .iter()
            .filter(|image| image.runs_on(compute_capability))
            .max_by_key(|image| (image.compute_capability(), image.is_specific()))
    }
}

/// Formats the architecture, without the PTX.
impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({})", self.architecture)
    }
}

impl Image {
    /// Makes an image of PTX for `architecture`, for example `sm_70`, or `sm_90a` for code that
    /// runs only on compute capability 9.0.
    pub const fn new(architecture: &'static str, ptx: &'static str) -> Self {
        Self {
            architecture,
            text: Text::Plain(ptx),
        }
    }

    /// As [`new`](Self::new), but the PTX is compressed to about a quarter of its size: its length in
    /// 4 bytes, least significant first, then LZ4's block format, as
    /// `lz4_flex::block::compress_prepend_size` writes it. It is expanded when it is first used.
    pub const fn compressed(architecture: &'static str, ptx: &'static [u8]) -> Self {
        Self {
            architecture,
            text: Text::Compressed(ptx),
        }
    }

    /// Returns the architecture, for example `sm_70`.
    pub fn architecture(&self) -> &'static str {
        self.architecture
    }

    /// Returns the text of the PTX.
    ///
    /// # Panics
    /// If compressed PTX does not expand to text.
    pub fn ptx(&self) -> &'static str {
        match self.text {
            Text::Plain(ptx) => ptx,
            Text::Compressed(bytes) => expanded(bytes),
        }
    }

    /// Returns the version of the PTX language that the text declares, for example `7.0`.
    pub fn ptx_version(&self) -> &'static str {
        let mut lines = self.ptx().lines();
        let declared = lines.find_map(|line| line.trim().strip_prefix(".version"));
        declared.map_or("of unknown version", str::trim)
    }

    fn is_specific(&self) -> bool {
        self.architecture.ends_with('a')
    }

    fn compute_capability(&self) -> Option<(u32, u32)> {
        let digits = self.architecture.strip_prefix("sm_")?.trim_end_matches('a');
        let number: u32 = digits.parse().ok()?;
        Some((number / 10, number % 10))
    }

    fn runs_on(&self, device: (u32, u32)) -> bool {
        match self.compute_capability() {
            Some(own) if self.is_specific() => own == device,
            Some(own) => own <= device,
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static MODULE: Module = Module::new(
        "test",
        &[
            Image::new("sm_80", ".version 7.1\n"),
            Image::new("sm_90a", ""),
            Image::new("sm_70", ""),
        ],
    );

    #[test]
    fn the_newest_image_that_runs_is_chosen() {
        let chosen = |capability| MODULE.image_for(capability).map(Image::architecture);
        assert_eq!(chosen((6, 1)), None);
        assert_eq!(chosen((7, 5)), Some("sm_70"));
        assert_eq!(chosen((8, 9)), Some("sm_80"));
        assert_eq!(chosen((9, 0)), Some("sm_90a"));
        assert_eq!(chosen((10, 0)), Some("sm_80"));
        assert_eq!(chosen((12, 0)), Some("sm_80"));
    }

    #[test]
    fn the_ptx_version_is_read_from_the_text() {
        assert_eq!(MODULE.images()[0].ptx_version(), "7.1");
        assert_eq!(MODULE.images()[1].ptx_version(), "of unknown version");
    }
}
