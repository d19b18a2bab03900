//! A scan as plain data, for plans that travel between processes.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    FileGroup, FileScanConfig, FileScanConfigBuilder, FileSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::object_store::path::Path;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs};
use datafusion::physical_plan::ExecutionPlan;
use serde::{Deserialize, Serialize};

use super::source::FastaSource;

/// The parameters of a scan of FASTA files: all that another process needs to make the same
/// `DataSourceExec`.
///
/// The scan stays a `DataSourceExec`, since engines that divide a plan among tasks know how to
/// divide the files of one. They do not know how to divide a custom leaf: each task would read all
/// of its partitions, and rows would be duplicated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FastaScan {
    /// The URL of the object store, such as `file:///`.
    pub object_store: String,
    /// The name of each column that folders give, and its type as Arrow writes it, such as
    /// `Dictionary(UInt16, Utf8)`.
    pub folders: Vec<(String, String)>,
    /// The index in the table and the name of each column of the result.
    pub columns: Vec<(usize, String)>,
    /// The files of each partition.
    pub partitions: Vec<Vec<FastaFile>>,
    /// The number of rows after which the scan may stop.
    pub limit: Option<usize>,
    /// The rows of a batch, if not the session's.
    pub batch_size: Option<usize>,
}

/// A file of a scan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FastaFile {
    /// The path in the object store, with the escapes that the store's paths have.
    pub path: String,
    /// The size in bytes.
    pub size: u64,
    /// The values of the columns that folders give.
    pub folders: Vec<String>,
}

impl FastaScan {
    /// Returns the parameters if `plan` scans FASTA files, else `None`.
    ///
    /// # Errors
    /// An internal error if the scan has something that [`FastaScan`] has no room for.
    pub fn of(plan: &dyn ExecutionPlan) -> Result<Option<FastaScan>> {
        let Some(scan) = plan.downcast_ref::<DataSourceExec>() else {
            return Ok(None);
        };
        let Some((config, _)) = scan.downcast_to_file_source::<FastaSource>() else {
            return Ok(None);
        };
        let columns = match config.file_source().projection() {
            Some(projection) => projection.iter().map(column).collect::<Result<_>>()?,
            None => return internal_err!("fasta: a scan without a projection"),
        };
        let files = |group: &FileGroup| group.iter().map(file).collect::<Result<_>>();
        Ok(Some(FastaScan {
            object_store: config.object_store_url.to_string(),
            folders: folders(config),
            columns,
            partitions: config
                .file_groups
                .iter()
                .map(files)
                .collect::<Result<_>>()?,
            limit: config.limit,
            batch_size: config.batch_size,
        }))
    }

    /// Makes the node that scans these files.
    ///
    /// # Errors
    /// If the URL, a path or a type cannot be parsed, or a column does not exist.
    pub fn into_plan(self) -> Result<Arc<dyn ExecutionPlan>> {
        let folder = |(name, data_type): &(String, String)| -> Result<FieldRef> {
            let data_type = data_type.parse::<DataType>()?;
            Ok(Arc::new(Field::new(name, data_type, false)))
        };
        let folders: Vec<_> = self.folders.iter().map(folder).collect::<Result<_>>()?;
        let table_schema = TableSchema::builder(super::schema())
            .with_table_partition_cols(folders.clone())
            .build();
        let fields = table_schema.table_schema().fields().len();
        if let Some((index, name)) = self.columns.iter().find(|(index, _)| *index >= fields) {
            return internal_err!("fasta: column {index}, '{name}', of {fields} columns");
        }
        let schema = Arc::clone(table_schema.table_schema());
        let columns = self.columns.into_iter().map(|(index, name)| {
            ProjectionExpr::new(
                Arc::new(Column::new(schema.field(index).name(), index)),
                name,
            )
        });
        let columns = ProjectionExprs::new(columns);
        let source = FastaSource::new(table_schema);
        let Some(source) = source.try_pushdown_projection(&columns)? else {
            return internal_err!("fasta: a scan of expressions");
        };
        let store = ObjectStoreUrl::parse(&self.object_store)?;
        let group = |files: Vec<FastaFile>| -> Result<FileGroup> {
            let files = files.into_iter();
            let files = files.map(|file| file.into_partitioned(&folders));
            Ok(FileGroup::new(files.collect::<Result<_>>()?))
        };
        let groups = self.partitions.into_iter().map(group);
        let config = FileScanConfigBuilder::new(store, source)
            .with_file_groups(groups.collect::<Result<_>>()?)
            .with_limit(self.limit)
            .with_batch_size(self.batch_size)
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }
}

impl FastaFile {
    fn into_partitioned(self, columns: &[FieldRef]) -> Result<PartitionedFile> {
        let mut file = PartitionedFile::new("", self.size);
        // `PartitionedFile::new` would escape the characters of a path that is escaped already.
        file.object_meta.location = match Path::parse(&self.path) {
            Ok(path) => path,
            Err(error) => return internal_err!("fasta: the path '{}': {error}", self.path),
        };
        if self.folders.len() != columns.len() {
            let (values, columns) = (self.folders.len(), columns.len());
            return internal_err!("fasta: {values} values of folders for {columns} columns");
        }
        let values = self.folders.into_iter().zip(columns);
        let values =
            values.map(|(text, column)| ScalarValue::try_from_string(text, column.data_type()));
        file.partition_values = values.collect::<Result<_>>()?;
        Ok(file)
    }
}

fn folders(config: &FileScanConfig) -> Vec<(String, String)> {
    let folders = config.table_partition_cols().iter();
    folders
        .map(|field| (field.name().clone(), field.data_type().to_string()))
        .collect()
}

fn column(projected: &ProjectionExpr) -> Result<(usize, String)> {
    match projected.expr.downcast_ref::<Column>() {
        Some(column) => Ok((column.index(), projected.alias.clone())),
        None => internal_err!("fasta: a scan of the expression {}", projected.expr),
    }
}

fn file(file: &PartitionedFile) -> Result<FastaFile> {
    let text = |value: &ScalarValue| match value.try_as_str().flatten() {
        Some(text) => Ok(text.to_string()),
        None => internal_err!("fasta: the value {value} of a folder is not text"),
    };
    Ok(FastaFile {
        path: file.object_meta.location.to_string(),
        size: file.object_meta.size,
        folders: file
            .partition_values
            .iter()
            .map(text)
            .collect::<Result<_>>()?,
    })
}
