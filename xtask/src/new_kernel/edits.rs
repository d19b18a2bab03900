//! The lists of this repository that name every kernel.

use crate::Result;

/// A change of a file.
pub struct Edit {
    pub file: &'static str,
    /// Texts of the file, and what is put behind each of them.
    added: Vec<(String, String)>,
    /// What stands before the length of an array that gets one more element.
    longer: Option<&'static str>,
}

impl Edit {
    /// Returns the changed text of the file.
    pub fn of(&self, text: &str) -> Result<String> {
        let missing = |anchor: &str| {
            let (file, own) = (self.file, file!());
            format!("{file} has no `{anchor}`, behind which the kernel belongs: correct {own}")
        };
        let mut text = text.to_owned();
        for (anchor, added) in &self.added {
            if !text.contains(anchor.as_str()) {
                return Err(missing(anchor).into());
            }
            text = text.replace(anchor.as_str(), &format!("{anchor}{added}"));
        }
        match self.longer {
            None => Ok(text),
            Some(start) => Ok(longer(&text, start).ok_or_else(|| missing(start))?),
        }
    }
}

/// Adds one to the number behind `start`.
fn longer(text: &str, start: &str) -> Option<String> {
    let (before, behind) = text.split_once(start)?;
    let (length, rest) = behind.split_once(']')?;
    let length = length.parse::<usize>().ok()? + 1;
    Some(format!("{before}{start}{length}]{rest}"))
}

/// The changes for a new kernel, which stands behind `stream`, or at the end.
pub fn edits(name: &str) -> Vec<Edit> {
    let feature = name.replace('_', "-");
    let package = format!("gridstride_{name}_kernels");
    let path = format!("kernels-gpu/{name}");
    let version = concat!("version = \"=", env!("CARGO_PKG_VERSION"), "\" }\n");
    let edit = |file, added: &[(&str, String)]| Edit {
        file,
        added: added
            .iter()
            .map(|(anchor, added)| ((*anchor).to_owned(), added.clone()))
            .collect(),
        longer: None,
    };
    vec![
        edit(
            "Cargo.toml",
            &[
                ("\n    \"kernels-gpu/stream\", ", format!("\"{path}\", ")),
                (
                    &format!("path = \"kernels-gpu/stream\", {version}"),
                    format!(
                        "{name}_kernels = {{ package = \"{package}\", path = \"{path}\", {version}"
                    ),
                ),
                ("\"matmul\", \"pipeline\", ", format!("\"{feature}\", ")),
                (
                    "pipeline = [\"dep:stream_kernels\"]\n",
                    format!("{feature} = [\"dep:{name}_kernels\"]\n"),
                ),
                (
                    "stream_kernels = { workspace = true, optional = true }\n",
                    format!("{name}_kernels = {{ workspace = true, optional = true }}\n"),
                ),
            ],
        ),
        Edit {
            longer: Some("const KERNELS: [Kernels; "),
            ..edit(
                "build.rs",
                &[(
                    "        is_chosen: cfg!(feature = \"pipeline\"),\n    },\n",
                    format!(
                        "    Kernels {{\n        name: \"{name}\",\n        architectures: &[\"sm_70\"],\n        \
                         is_chosen: cfg!(feature = \"{feature}\"),\n    }},\n"
                    ),
                )],
            )
        },
        edit(
            "src/lib.rs",
            &[(
                "pub mod primitives;\n",
                format!("#[cfg(feature = \"{feature}\")]\npub mod {name};\n"),
            )],
        ),
        edit(
            "tests/kernels/main.rs",
            &[("\nmod primitives;\n", format!("mod {name};\n"))],
        ),
        edit(
            "tests/repository/ptx.rs",
            &[
                ("\n        \"stream\",\n", format!("        \"{name}\",\n")),
                (
                    "    check_barriers(\"stream\", &[(\"add\", 1, 0)]);\n}\n",
                    format!(
                        "\n#[test]\nfn barriers_of_{name}_are_neither_copied_nor_lost() {{\n    \
                         // The compiler unrolls the loop that halves 256 threads until one is left.\n    \
                         let steps = 256_u32.ilog2() as usize;\n    \
                         let written = steps * written(\"{name}/src/lib.rs\");\n    \
                         check_barriers(\"{name}\", &[(\"{name}\", 1, written)]);\n}}\n"
                    ),
                ),
            ],
        ),
        Edit {
            longer: Some("const INTERNAL: [&str; "),
            ..edit(
                "xtask/src/api.rs",
                &[(
                    "    \"gridstride_stream_kernels\",\n",
                    format!("    \"{package}\",\n"),
                )],
            )
        },
        edit(
            ".ci/run",
            &[
                ("matmul pipeline ", format!("{feature} ")),
                ("stream.sm_70 ", format!("{name}.sm_70 ")),
            ],
        ),
    ]
}
