//! Compiled kernels, as they travel inside a program.

use std::collections::BTreeMap;
#[cfg(any(feature = "cuda", test))]
use std::collections::HashMap;
use std::io::Read;
use std::sync::{Mutex, PoisonError};

use flate2::read::ZlibDecoder;

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
#[derive(Debug)]
pub struct Image {
    architecture: &'static str,
    text: Text,
}

/// PTX as a program carries it.
#[derive(Debug)]
enum Text {
    Plain(&'static str),
    Compressed(&'static [u8]),
}

/// The text of an image, cut at its kernels.
#[cfg(any(feature = "cuda", test))]
pub(crate) struct Split {
    /// What is outside of them.
    common: String,
    kernels: HashMap<&'static str, &'static str>,
}

#[cfg(any(feature = "cuda", test))]
impl Split {
    #[cfg(feature = "cuda")]
    pub fn has(&self, kernel: &str) -> bool {
        self.kernels.contains_key(kernel)
    }

    /// The text without the other kernels. `None` if there is no such kernel.
    pub fn ptx_of(&self, kernel: &str) -> Option<String> {
        let text = self.kernels.get(kernel)?;
        Some([&self.common, *text].concat())
    }
}

/// The text that an image's bytes expand to, which is kept for as long as the image is there: to the end.
fn expanded(bytes: &'static [u8]) -> &'static str {
    static TEXTS: Mutex<BTreeMap<usize, &'static str>> = Mutex::new(BTreeMap::new());
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    texts.entry(bytes.as_ptr() as usize).or_insert_with(|| {
        let mut text = String::new();
        ZlibDecoder::new(bytes)
            .read_to_string(&mut text)
            .expect("an image is compressed text");
        text.leak()
    })
}

impl Module {
    /// A module of that name, for messages, with its images in any order.
    pub const fn new(name: &'static str, images: &'static [Image]) -> Self {
        Self { name, images }
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The images.
    pub fn images(&self) -> &'static [Image] {
        self.images
    }

    /// The image to use on a GPU of that compute capability: the newest that runs there.
    pub fn image_for(&self, compute_capability: (u32, u32)) -> Option<&'static Image> {
        self.images
            .iter()
            .filter(|image| image.runs_on(compute_capability))
            .max_by_key(|image| (image.compute_capability(), image.is_specific()))
    }
}

impl Image {
    /// PTX for `architecture`, for example `sm_70`, or `sm_90a` for code that runs on compute
    /// capability 9.0 alone.
    pub const fn new(architecture: &'static str, ptx: &'static str) -> Self {
        Self {
            architecture,
            text: Text::Plain(ptx),
        }
    }

    /// The same with PTX that is compressed in the format of zlib, a tenth of its size. It is expanded once, when it
    /// is first asked for.
    pub const fn compressed(architecture: &'static str, ptx: &'static [u8]) -> Self {
        Self {
            architecture,
            text: Text::Compressed(ptx),
        }
    }

    /// The architecture, for example `sm_70`.
    pub fn architecture(&self) -> &'static str {
        self.architecture
    }

    /// The text of the PTX.
    ///
    /// # Panics
    /// If compressed PTX is not what zlib expands to text.
    pub fn ptx(&self) -> &'static str {
        match self.text {
            Text::Plain(ptx) => ptx,
            Text::Compressed(bytes) => expanded(bytes),
        }
    }

    /// The version of the PTX language that the text declares, for example `7.0`.
    pub fn ptx_version(&self) -> &'static str {
        let declared = self
            .ptx()
            .lines()
            .find_map(|line| line.trim().strip_prefix(".version"));
        declared.map_or("of unknown version", str::trim)
    }

    /// The text by kernels, so that the driver can compile each alone. `None` if kernels share
    /// variables, which have to stay the same ones.
    #[cfg(any(feature = "cuda", test))]
    pub(crate) fn split(&self) -> Option<Split> {
        let mut split = Split {
            common: String::new(),
            kernels: HashMap::new(),
        };
        // The kernel to which the present line belongs and where that begins, how many braces are
        // open, and whether its body has begun.
        let (mut of, mut depth, mut begun) = (None, 0, false);
        let mut place = 0;
        let ptx = self.ptx();
        for line in ptx.split_inclusive('\n') {
            let start = place;
            place += line.len();
            if depth == 0 && of.is_none() {
                if let Some((_, rest)) = line.split_once(".entry ") {
                    of = rest
                        .split(['(', ' ', '\n'])
                        .next()
                        .map(|name| (name, start));
                } else if line.contains(".global ") && !line.contains(".extern ") {
                    return None;
                }
            }
            if of.is_none() {
                split.common.push_str(line);
            }
            let code = line.split("//").next().unwrap_or_default();
            depth += code.matches('{').count();
            begun |= depth > 0;
            depth = depth.saturating_sub(code.matches('}').count());
            if begun && depth == 0 {
                if let Some((name, start)) = of.take() {
                    split.kernels.insert(name, &ptx[start..place]);
                }
                begun = false;
            }
        }
        Some(split)
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

    const TWO: &str = "\
.version 7.0
.target sm_70
.extern .shared .align 16 .b8 memory[];
.func (.param .b32 r) shared_by_both(.param .b32 a)
{
\tret;
}
\t// .globl\tfirst
.visible .entry first(
\t.param .u64 x
)
.maxntid 64, 1, 1
{
\t{
\tld.global.v2.u32 {%r1, %r2}, [%rd1]; // }
\t}
\tret;
}
.visible .entry second()
{
\tret;
}
";

    #[test]
    fn a_kernel_is_cut_out_with_what_it_may_call() {
        let image = Image::new("sm_70", TWO);
        let split = image.split().unwrap();
        let first = split.ptx_of("first").unwrap();
        assert_eq!(first, TWO[..TWO.find(".visible .entry second").unwrap()]);
        let second = split.ptx_of("second").unwrap();
        assert!(
            second.contains("shared_by_both")
                && second.ends_with(".visible .entry second()\n{\n\tret;\n}\n")
        );
        assert!(!second.contains("first("));
        assert_eq!(split.ptx_of("third"), None);
        let variable = Image::new(
            "sm_70",
            ".global .u32 counter;\n.visible .entry first()\n{\n}\n",
        );
        assert!(variable.split().is_none());
    }

    #[test]
    fn the_ptx_version_is_read_from_the_text() {
        assert_eq!(MODULE.images()[0].ptx_version(), "7.1");
        assert_eq!(MODULE.images()[1].ptx_version(), "of unknown version");
    }
}
