//! The report: Markdown on stdout, and in a file.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::Result;

/// The outputs of a report.
pub struct Report {
    file: Option<File>,
}

impl Report {
    /// To stdout, and to the file if there is one.
    pub fn create(file: Option<&Path>) -> Result<Report> {
        let file = file.map(|path| {
            File::create(path).map_err(|error| format!("cannot write {}: {error}", path.display()))
        });
        Ok(Report {
            file: file.transpose()?,
        })
    }

    /// Adds a block, with an empty line behind it.
    pub fn add(&mut self, block: &str) -> Result<()> {
        print!("{block}\n\n");
        std::io::stdout().flush()?;
        if let Some(file) = &mut self.file {
            write!(file, "{block}\n\n")?;
        }
        Ok(())
    }
}

/// An output as Markdown: its own tables, or a block of text as it is.
pub fn markdown(output: &str) -> String {
    let output = output.trim_matches('\n');
    let is_table = |line: &str| line.starts_with('|');
    if !output.lines().any(is_table) {
        return format!("```text\n{output}\n```");
    }
    let mut text = String::new();
    let mut was_table = None;
    for line in output.lines() {
        // Tables stand by themselves.
        let is_other = was_table.is_some_and(|was| was != is_table(line));
        if is_other && !line.is_empty() && !text.ends_with("\n\n") {
            text.push('\n');
        }
        was_table = Some(is_table(line));
        text += line;
        text.push('\n');
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::markdown;

    #[test]
    fn columns_are_kept_as_they_are() {
        assert_eq!(markdown("a   b\n1   2\n"), "```text\na   b\n1   2\n```");
    }

    #[test]
    fn tables_stand_by_themselves() {
        let output = "H100\n| a |\n|---|\n| 1 |\n\nmore\n| b |\n|---|\n";
        let expected = "H100\n\n| a |\n|---|\n| 1 |\n\nmore\n\n| b |\n|---|";
        assert_eq!(markdown(output), expected);
    }
}
