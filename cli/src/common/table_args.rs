//! Options for the format of tables that are read.

use anyhow::{Result, bail};
use files::records::{ColumnName, TableOptions};
use program::report::UsageError;

/// Options of subcommands that read CSV.
#[derive(clap::Args, Clone, Debug)]
pub struct TableArgs {
    /// The columns to read, such as timestamp=t,value=temp: what a column is read as, and its name in
    /// the header or its number, from 1.
    #[arg(
        long,
        value_name = "AS=NAME",
        value_delimiter = ',',
        help_heading = "Input"
    )]
    pub columns: Vec<ColumnName>,

    /// The first line is a record too. Columns are named by their numbers.
    #[arg(long, help_heading = "Input")]
    pub no_header: bool,

    /// The character between two cells: tab, or one such as ;
    #[arg(
        long,
        value_name = "CHARACTER",
        default_value = ",",
        value_parser = TableOptions::delimiter_named,
        help_heading = "Input"
    )]
    pub delimiter: u8,

    /// The character before the fraction of a number: a point or a comma.
    #[arg(
        long,
        value_name = "CHARACTER",
        default_value = ".",
        value_parser = TableOptions::decimal_named,
        help_heading = "Input"
    )]
    pub decimal: u8,
}

impl TableArgs {
    /// Returns how the tables are written, with texts of cells that have no value.
    ///
    /// # Errors
    /// If numbers have the character that separates cells.
    pub fn options(&self, nulls: &[String]) -> Result<TableOptions> {
        if self.delimiter == self.decimal {
            bail!(UsageError(
                "--decimal ',' needs another --delimiter than a comma, such as ';'".into()
            ));
        }
        Ok(TableOptions {
            delimiter: self.delimiter,
            decimal: self.decimal,
            nulls: nulls.to_vec(),
            has_header: !self.no_header,
            columns: self.columns.clone(),
        })
    }
}
