//! FASTA as a file format of DataFusion's listings.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::{GetExt, Result, Statistics, plan_err};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory};
use datafusion::datasource::physical_plan::{FileScanConfig, FileSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::physical_plan::ExecutionPlan;

use super::source::FastaSource;

/// Makes the format for an ending of file names.
#[derive(Debug)]
pub struct FastaFormatFactory {
    pub extension: &'static str,
}

impl GetExt for FastaFormatFactory {
    fn get_ext(&self) -> String {
        self.extension.into()
    }
}

impl FileFormatFactory for FastaFormatFactory {
    fn create(
        &self,
        _: &dyn Session,
        options: &HashMap<String, String>,
    ) -> Result<Arc<dyn FileFormat>> {
        check_options(options)?;
        Ok(self.default())
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        Arc::new(FastaFormat {
            extension: self.extension,
        })
    }
}

/// Refuses options. DataFusion itself adds the compression that a file's name tells; it is ignored,
/// since the content tells it too.
pub fn check_options(options: &HashMap<String, String>) -> Result<()> {
    match options.keys().find(|key| *key != "format.compression") {
        Some(option) => plan_err!("fasta: there is no option '{option}': leave it out"),
        None => Ok(()),
    }
}

#[derive(Debug)]
pub struct FastaFormat {
    pub extension: &'static str,
}

#[async_trait]
impl FileFormat for FastaFormat {
    fn get_ext(&self) -> String {
        self.extension.into()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        Ok(format!("{}{}", self.extension, compression.get_ext()))
    }

    /// Files of a table may differ in their compression.
    fn compression_type(&self) -> Option<FileCompressionType> {
        None
    }

    async fn infer_schema(
        &self,
        _: &dyn Session,
        _: &Arc<dyn ObjectStore>,
        files: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        // DataFusion leaves out files without bytes.
        if files.is_empty() {
            return plan_err!("fasta: the file is empty: copy or download it again");
        }
        Ok(super::schema())
    }

    async fn infer_stats(
        &self,
        _: &dyn Session,
        _: &Arc<dyn ObjectStore>,
        schema: SchemaRef,
        _: &ObjectMeta,
    ) -> Result<Statistics> {
        Ok(Statistics::new_unknown(&schema))
    }

    async fn create_physical_plan(
        &self,
        _: &dyn Session,
        config: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(DataSourceExec::from_data_source(config))
    }

    fn file_source(&self, schema: TableSchema) -> Arc<dyn FileSource> {
        Arc::new(FastaSource::new(schema))
    }
}
