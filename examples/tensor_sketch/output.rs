//! Files that appear whole or not at all.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ndarray::Array2;
use ndarray_npy::WriteNpyExt;
use tempfile::{Builder, NamedTempFile};

/// A file that takes the place of what has its name once it is complete; dropped before, it leaves
/// nothing behind.
pub struct OutputFile {
    path: PathBuf,
    temporary: NamedTempFile,
}

impl OutputFile {
    /// Begins a file.
    pub fn create(path: &Path) -> Result<OutputFile> {
        let create = || {
            // A pipe or a device would be replaced by the new file.
            if path.exists() && !path.is_file() {
                bail!("it is not a file");
            }
            let folder = path.parent().filter(|folder| *folder != Path::new(""));
            Ok(OutputFile {
                path: path.into(),
                temporary: builder().tempfile_in(folder.unwrap_or(Path::new(".")))?,
            })
        };
        create().with_context(|| format!("cannot write {}", path.display()))
    }

    /// Writes `array` in numpy's format.
    pub fn write_npy(self, array: &Array2<f32>) -> Result<()> {
        self.write(|writer| Ok(array.write_npy(writer)?))
    }

    /// Writes the square `values`, tab-separated, with `names` as the first row and column.
    pub fn write_table<'a>(
        self,
        names: impl Iterator<Item = &'a str> + Clone,
        values: &Array2<f64>,
    ) -> Result<()> {
        self.write(|writer| {
            let mut table = csv::WriterBuilder::new()
                .delimiter(b'\t')
                .from_writer(writer);
            table.write_record([""].into_iter().chain(names.clone()))?;
            for (name, row) in names.zip(values.outer_iter()) {
                table.write_field(name)?;
                table.write_record(row.iter().map(f64::to_string))?;
            }
            Ok(table.flush()?)
        })
    }

    fn write(self, content: impl FnOnce(&mut BufWriter<&File>) -> Result<()>) -> Result<()> {
        let write = || -> Result<()> {
            let mut writer = BufWriter::new(self.temporary.as_file());
            content(&mut writer)?;
            writer.flush()?;
            drop(writer);
            self.temporary.as_file().sync_all()?;
            self.temporary.persist(&self.path)?;
            Ok(())
        };
        write().with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// Temporary files beside the result, with the permissions of any new file.
fn builder() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".tensor_sketch-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder
}
