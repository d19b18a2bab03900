//! Compiled kernels inside a program.

use crate::sync::Mutex;
use std::collections::BTreeMap;
use std::fmt;
// The types of the models in `crate::sync` cannot be in statics.
use std::sync::OnceLock;

use lz4_flex::block::decompress_size_prepended;

use super::lock;
use crate::{Error, Result};

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
    /// The packages of the images, each once.
    packages: OnceLock<Vec<String>>,
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

/// The first line of cuda_builder's PTX, before and behind the package's name.
const FIRST_LINE: (&str, &str) = ("// The kernels of ", " for ");

/// A first line that is longer is not searched for its end.
const LONGEST_LINE: usize = 1 << 12;

/// Returns the start of compressed text up to its first line break, which is found without
/// expanding the rest. Bytes that are not compressed text give any other line.
fn first_line(bytes: &[u8]) -> Vec<u8> {
    let mut line = Vec::new();
    // Behind the length of the text.
    let mut rest = bytes.get(4..).unwrap_or_default().iter().copied();
    loop {
        let went_on = expand_sequence(&mut rest, &mut line).is_some();
        if let Some(end) = line.iter().position(|&byte| byte == b'\n') {
            line.truncate(end);
            return line;
        }
        if !went_on || line.len() > LONGEST_LINE {
            return line;
        }
    }
}

/// Expands a sequence of LZ4's block format: literal bytes, and then bytes that are copied from the
/// output. `None` at the end. (<https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>)
fn expand_sequence(rest: &mut impl Iterator<Item = u8>, text: &mut Vec<u8>) -> Option<()> {
    let token = rest.next()?;
    let literals = sequence_length(rest, token >> 4)?;
    text.extend(rest.by_ref().take(literals));
    let distance = usize::from(u16::from_le_bytes([rest.next()?, rest.next()?]));
    let copied = sequence_length(rest, token & 15)? + 4;
    let start = text.len().checked_sub(distance).filter(|_| distance > 0)?;
    for at in start..start + copied {
        text.push(text[at]);
    }
    Some(())
}

/// Returns the length that starts with half a byte: further bytes are added as long as they are full.
fn sequence_length(rest: &mut impl Iterator<Item = u8>, half: u8) -> Option<usize> {
    let mut length = usize::from(half);
    if half == 15 {
        loop {
            let more = rest.next()?;
            length += usize::from(more);
            if more != u8::MAX {
                break;
            }
        }
    }
    Some(length)
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
        Self {
            name,
            images,
            packages: OnceLock::new(),
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the images.
    pub fn images(&self) -> &'static [Image] {
        self.images
    }

    /// Fails unless the PTX was made of the kernel's package, so that a launch does not start the
    /// kernel of another crate that has the same name. PTX of other tools names no package, and is
    /// not checked.
    pub(super) fn require_package(&self, kernel: &str, package: Option<&str>) -> Result<()> {
        let packages = self.packages.get_or_init(|| {
            let mut packages: Vec<_> = self.images.iter().filter_map(Image::package).collect();
            packages.dedup();
            packages
        });
        let Some(package) = package else {
            return Ok(());
        };
        match packages.iter().find(|found| *found != package) {
            None => Ok(()),
            Some(found) => Err(self.other_package(kernel, package, found)),
        }
    }

    #[cold]
    fn other_package(&self, kernel: &str, package: &str, found: &str) -> Error {
        let module = self.name;
        Error::Launch {
            kernel: kernel.to_string(),
            message: format!(
                "it is a kernel of the package {package}, but the module {module} has the PTX of \
                 {found}: launch it with the module that has the PTX of {package}"
            ),
        }
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

    /// Returns the package whose kernels the PTX has, by cuda_builder's first line.
    fn package(&self) -> Option<String> {
        let line = match self.text {
            Text::Plain(ptx) => ptx.lines().next()?.to_owned(),
            Text::Compressed(bytes) => String::from_utf8(first_line(bytes)).ok()?,
        };
        let (package, _) = line.strip_prefix(FIRST_LINE.0)?.split_once(FIRST_LINE.1)?;
        Some(package.to_owned())
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

    const PTX: &str = "\
// The kernels of the_kernels for sm_70, made by cuda_builder. Do not edit.
.version 7.0
";

    #[test]
    fn kernels_of_other_packages_are_refused() {
        static PLAIN: Module = Module::new("plain", &[Image::new("sm_70", PTX)]);
        // Two of a package: the driver takes one, and all are compared.
        let images = ["sm_70", "sm_80"].map(|arch| {
            let bytes = lz4_flex::block::compress_prepend_size(&PTX.repeat(100).into_bytes());
            Image::compressed(arch, bytes.leak())
        });
        let compressed = Module::new("compressed", Vec::from(images).leak());
        for module in [&PLAIN, &compressed] {
            for _ in 0..2 {
                module.require_package("add", Some("the_kernels")).unwrap();
                module.require_package("add", None).unwrap();
                let error = module.require_package("add", Some("kernels")).unwrap_err();
                let message = error.to_string();
                let name = module.name();
                let expected = format!(
                    "kernel `add` cannot be launched: it is a kernel of the package kernels, but \
                     the module {name} has the PTX of the_kernels: launch it with the module that \
                     has the PTX of kernels"
                );
                assert_eq!(message, expected);
            }
        }
    }

    #[test]
    fn other_ptx_is_not_checked() {
        MODULE.require_package("add", Some("kernels")).unwrap();
    }

    #[test]
    fn the_first_line_of_compressed_text_is_that_of_the_text() {
        for text in [
            PTX,
            "",
            "\n",
            "no line break",
            &"ab".repeat(1000),
            &"ab\n".repeat(1000),
        ] {
            let bytes = lz4_flex::block::compress_prepend_size(text.as_bytes());
            let line = text.split('\n').next().unwrap_or_default();
            assert_eq!(first_line(&bytes), line.as_bytes(), "{text}");
            // Any other bytes.
            for end in 0..bytes.len() {
                first_line(&bytes[..end]);
                let mut wrong = bytes.clone();
                wrong[end] ^= 0x55;
                first_line(&wrong);
            }
        }
    }

    #[test]
    fn the_ptx_version_is_read_from_the_text() {
        assert_eq!(MODULE.images()[0].ptx_version(), "7.1");
        assert_eq!(MODULE.images()[1].ptx_version(), "of unknown version");
    }
}
