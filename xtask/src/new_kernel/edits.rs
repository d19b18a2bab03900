//! The lists of this repository that name every kernel.

use crate::Result;

/// A change of a file.
pub struct Edit {
    pub file: &'static str,
    /// Texts of the file, and what is put behind each of them.
    added: Vec<(String, String)>,
}

impl Edit {
    /// Returns the changed text of the file.
    pub fn of(&self, text: &str) -> Result<String> {
        let mut text = text.to_owned();
        for (anchor, added) in &self.added {
            if !text.contains(anchor.as_str()) {
                let (file, own) = (self.file, file!());
                let place = format!("{file} has no `{anchor}`, behind which the kernel belongs");
                return Err(format!("{place}: correct {own}").into());
            }
            text = text.replace(anchor.as_str(), &format!("{anchor}{added}"));
        }
        Ok(text)
    }
}

/// The changes for a new kernel, which stands behind `primitives` or another kernel.
pub fn edits(name: &str) -> Vec<Edit> {
    let feature = name.replace('_', "-");
    let version = concat!("version = \"=", env!("CARGO_PKG_VERSION"), "\" }\n");
    let optional = "{ workspace = true, optional = true }\n";
    let edit = |file, added: &[(&str, String)]| Edit {
        file,
        added: added
            .iter()
            .map(|(anchor, added)| ((*anchor).to_owned(), added.clone()))
            .collect(),
    };
    vec![
        edit(
            "Cargo.toml",
            &[
                (
                    &format!("path = \"crates/primitives\", {version}"),
                    format!("gridstride_{name} = {{ path = \"crates/{name}\", {version}"),
                ),
                (
                    &format!("path = \"kernels-gpu/stream\", {version}"),
                    format!(
                        "{name}_kernels = {{ package = \"gridstride_{name}_kernels\", path = \"kernels-gpu/{name}\", \
                         {version}"
                    ),
                ),
                ("\"matmul\", \"pipeline\", ", format!("\"{feature}\", ")),
                (
                    "\nprimitives = [\"dep:gridstride_primitives\"]\n",
                    format!("{feature} = [\"dep:gridstride_{name}\"]\n"),
                ),
                (
                    &format!("\ngridstride_primitives = {optional}"),
                    format!("gridstride_{name} = {optional}"),
                ),
                // The simulator runs it.
                (
                    "\ngridstride_primitives_kernels = { opt-level = 3 }\n",
                    format!("gridstride_{name}_kernels = {{ opt-level = 3 }}\n"),
                ),
            ],
        ),
        edit(
            "src/lib.rs",
            &[
                (
                    "//! | `primitives` | [`primitives`] | |\n",
                    format!("//! | `{feature}` | [`{name}`] | |\n"),
                ),
                (
                    "pub use gridstride_primitives as primitives;\n",
                    format!(
                        "#[cfg(feature = \"{feature}\")]\n#[doc(inline)]\npub use gridstride_{name} as {name};\n"
                    ),
                ),
            ],
        ),
        edit(
            "tests/repository/ptx.rs",
            &[(
                "    check_barriers(\"stream\", &[(\"add\", 1, 0)]);\n}\n",
                format!(
                    "\n#[test]\nfn barriers_of_{name}_are_neither_copied_nor_lost() {{\n    \
                     // The compiler unrolls the loop that halves 256 threads until one is left.\n    \
                     let steps = 256_u32.ilog2() as usize;\n    \
                     let written = steps * written(\"{name}/src/lib.rs\");\n    \
                     check_barriers(\"{name}\", &[(\"{name}\", 1, written)]);\n}}\n"
                ),
            )],
        ),
    ]
}
