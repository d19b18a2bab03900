//! Splits PTX into its kernels.

use super::Image;
use std::collections::HashMap;

/// The text of an image, split into kernels, so that the driver can compile each kernel alone.
pub struct Split {
    /// The text outside of kernels.
    common: String,
    kernels: HashMap<&'static str, &'static str>,
}

impl Split {
    /// Returns the text without the other kernels; `None` if there is no such kernel.
    pub fn ptx_of(&self, kernel: &str) -> Option<String> {
        let text = self.kernels.get(kernel)?;
        Some([&self.common, *text].concat())
    }

    /// Splits an image. Returns `None` if kernels share variables, which must exist only once.
    pub fn new(image: &'static Image) -> Option<Split> {
        let mut split = Split {
            common: String::new(),
            kernels: HashMap::new(),
        };
        // The line's kernel and its start, the number of open braces, and whether its body has
        // begun.
        let (mut entry, mut depth, mut begun) = (None, 0, false);
        let mut place = 0;
        let ptx = image.ptx();
        for line in ptx.split_inclusive('\n') {
            let start = place;
            place += line.len();
            if depth == 0 && entry.is_none() {
                if let Some((_, rest)) = line.split_once(".entry ") {
                    let name = rest.split(['(', ' ', '\n']).next();
                    entry = name.map(|name| (name, start));
                } else if [".global ", ".const "]
                    .iter()
                    .any(|space| line.contains(space))
                    && !line.contains(".extern ")
                {
                    return None;
                }
            }
            if entry.is_none() {
                split.common.push_str(line);
            }
            let code = line.split("//").next().unwrap_or_default();
            depth += code.matches('{').count();
            begun |= depth > 0;
            depth = depth.saturating_sub(code.matches('}').count());
            if begun && depth == 0 {
                if let Some((name, start)) = entry.take() {
                    split.kernels.insert(name, &ptx[start..place]);
                }
                begun = false;
            }
        }
        Some(split)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        static IMAGE: Image = Image::new("sm_70", TWO);
        let split = Split::new(&IMAGE).unwrap();
        let has = |kernel| split.kernels.contains_key(kernel);
        assert!(has("first") && !has("third"));
        let first = split.ptx_of("first").unwrap();
        assert_eq!(first, TWO[..TWO.find(".visible .entry second").unwrap()]);
        let second = split.ptx_of("second").unwrap();
        assert!(
            second.contains("shared_by_both")
                && second.ends_with(".visible .entry second()\n{\n\tret;\n}\n")
        );
        assert!(!second.contains("first("));
        assert_eq!(split.ptx_of("third"), None);
        static VARIABLES: [Image; 2] = [
            Image::new(
                "sm_70",
                ".global .u32 counter;\n.visible .entry first()\n{\n}\n",
            ),
            Image::new(
                "sm_70",
                ".visible .const .u32 limit;\n.visible .entry first()\n{\n}\n",
            ),
        ];
        assert!(VARIABLES.iter().all(|image| Split::new(image).is_none()));
    }
}
