//! Tables of FASTA files.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::DataType;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::{Result, TableReference, plan_err};
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::logical_expr::CreateExternalTable;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;

use super::EXTENSIONS;
use super::format::{FastaFormat, check_options};

/// Endings after those of [`EXTENSIONS`].
const COMPRESSIONS: [&str; 3] = ["", ".gz", ".zst"];

/// Registers the FASTA files at `location` as a table: a file, a pattern, or a folder, which the
/// [module](crate::fasta) describes.
///
/// # Errors
/// A plan error if there is no such file, if a file has no bytes, or if a table of this name exists.
///
/// ```
/// use datafusion::prelude::SessionContext;
/// use gridstride_datafusion::fasta::register_fasta;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("reads.fa"), ">r1 forward\nACGT\nACG\n>r2\nTTTT\n")?;
///
/// let context = SessionContext::new();
/// let location = folder.path().to_str().expect("a path in UTF-8");
/// register_fasta(&context, "reads", location).await?;
/// let query = "SELECT id, length(sequence) AS letters FROM reads ORDER BY id";
/// let rows = context.sql(query).await?.to_string().await?;
/// assert!(rows.contains("| r1 | 7       |"), "{rows}");
/// # Ok(())
/// # }
/// ```
pub async fn register_fasta(
    context: &SessionContext,
    name: impl Into<TableReference>,
    location: impl AsRef<str>,
) -> Result<()> {
    let name = name.into();
    let state = context.state();
    let table = table(&state, &[location.as_ref().into()], &[], &name).await?;
    context.register_table(name, table)?;
    Ok(())
}

/// `CREATE EXTERNAL TABLE … STORED AS FASTA`.
#[derive(Debug)]
pub struct FastaTableFactory;

#[async_trait]
impl TableProviderFactory for FastaTableFactory {
    async fn create(
        &self,
        state: &dyn Session,
        command: &CreateExternalTable,
    ) -> Result<Arc<dyn TableProvider>> {
        if !command.schema.fields().is_empty() {
            return plan_err!(
                "fasta: the columns are id, description and sequence: leave out the column list \
                 (columns of folders have no type either: PARTITIONED BY (name))"
            );
        }
        if !command.order_exprs.is_empty() || command.unbounded {
            return plan_err!("fasta: files are neither sorted nor unbounded: leave this out");
        }
        check_options(&command.options)?;
        let folders = &command.table_partition_cols;
        table(state, &command.locations, folders, &command.name).await
    }
}

async fn table(
    state: &dyn Session,
    locations: &[String],
    folders: &[String],
    name: &TableReference,
) -> Result<Arc<dyn TableProvider>> {
    let mut urls = Vec::new();
    for location in locations {
        let patterns = patterns(location)?;
        require_plain_names(state, &patterns).await?;
        require_files(state, location, &patterns).await?;
        urls.extend(
            patterns
                .into_iter()
                .map(|url| url.with_table_ref(name.clone())),
        );
    }
    let columns = folders
        .iter()
        .map(|column| (column.clone(), DataType::Utf8));
    let format = FastaFormat {
        extension: EXTENSIONS[0],
    };
    let options = ListingOptions::new(Arc::new(format))
        .with_file_extension("")
        .with_table_partition_cols(columns.collect());
    let config = ListingTableConfig::new_with_multi_paths(urls)
        .with_listing_options(options)
        .with_schema(super::schema());
    Ok(Arc::new(ListingTable::try_new(config)?))
}

/// Returns what a location stands for: itself, or the FASTA files of a folder.
fn patterns(location: &str) -> Result<Vec<ListingTableUrl>> {
    let url = ListingTableUrl::parse(location)?;
    if !url.is_collection() || url.get_glob().is_some() {
        return Ok(vec![url]);
    }
    let endings = EXTENSIONS.iter().flat_map(|extension| {
        COMPRESSIONS.map(|compression| format!("*.{extension}{compression}"))
    });
    endings
        .map(|ending| url.clone().with_glob(&ending))
        .collect()
}

/// Refuses files that a pattern takes wrongly. DataFusion matches a pattern with the first segment of
/// a path that has no `=`, since segments with `=` are folders that are columns. Therefore a file with
/// `=` in its name has no segment to match, and the files of a sub-folder that is called `old.fa` match.
async fn require_plain_names(state: &dyn Session, urls: &[ListingTableUrl]) -> Result<()> {
    // All patterns of a location have the same folder.
    let Some(first) = urls.iter().find(|url| url.get_glob().is_some()) else {
        return Ok(());
    };
    let folder = ListingTableUrl::try_new(first.get_url().clone(), None)?;
    let globs = || urls.iter().filter_map(|url| url.get_glob().as_ref());
    let ignore_subdirectory = state
        .config_options()
        .execution
        .listing_table_ignore_subdirectory;
    let store = state.runtime_env().object_store(first)?;
    let mut files = store.list(Some(folder.prefix()));
    while let Some(file) = files.try_next().await? {
        let path = &file.location;
        let segments: Vec<_> = folder.strip_prefix(path).into_iter().flatten().collect();
        let Some((name, folders)) = segments.split_last() else {
            continue;
        };
        let is_read = urls
            .iter()
            .any(|url| url.contains(path, ignore_subdirectory));
        let in_subfolder = ignore_subdirectory && folders.iter().any(|name| !name.contains('='));
        if is_read && in_subfolder {
            return plan_err!(
                "fasta: '{path}' is in a sub-folder, but would be read, because the name of the \
                 sub-folder is like that of a file: rename the sub-folder, or move it elsewhere"
            );
        }
        if name.contains('=') && !in_subfolder && globs().any(|glob| glob.matches(name)) {
            return plan_err!(
                "fasta: '{path}' would be left out, because '=' is only for the names of folders \
                 that are columns: rename the file, or make a table of this file alone"
            );
        }
    }
    Ok(())
}

/// Refuses locations without a file: a misspelt folder would give an empty table. Also refuses files
/// without bytes, which DataFusion leaves out.
async fn require_files(
    state: &dyn Session,
    location: &str,
    urls: &[ListingTableUrl],
) -> Result<()> {
    let mut is_empty = true;
    for url in urls {
        let store = state.runtime_env().object_store(url)?;
        let mut files = url.list_all_files(state, store.as_ref(), "").await?;
        while let Some(file) = files.try_next().await? {
            if file.size == 0 {
                return plan_err!(
                    "fasta: /{}, the file is empty: copy or download it again, or remove it",
                    file.location
                );
            }
            is_empty = false;
        }
    }
    if !is_empty {
        return Ok(());
    }
    plan_err!(
        "fasta: there is no file at '{location}'; of a folder, files are read that end in .{}, \
         also with .gz or .zst after it",
        EXTENSIONS.join(", .")
    )
}
