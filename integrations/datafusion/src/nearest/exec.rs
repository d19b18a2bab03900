//! The node of physical plans.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::datatypes::{Float32Type, Float64Type, SchemaRef};
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{Result, internal_err, plan_err};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{Distribution, EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::distribution_requirements::InputDistributionRequirements;
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, RecordOutput, Time,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties,
};
use futures::{FutureExt, StreamExt, TryFutureExt, TryStreamExt};
use gridstride::Device;

use super::gather::{Gathered, Gatherer};
use super::parameters::{EXEC_NAME, NAME, NearestParameters};
use super::search::{Database, Measures, Vectors};
use super::stream::{Loading, Queries, References, Work, not_joined, run};
use crate::config::{self, DeviceName};
use crate::error::external;
use crate::node::common_methods;

/// Finds the nearest vectors of the right input, the references, for each vector of the left input,
/// the queries. [Parameters](NearestParameters) and inputs are all of its state.
///
/// The references are one partition, which is held in memory for all partitions of the queries: in
/// the engine's pool, with an error if they do not fit. Queries are gathered for calls of the
/// library, up to `batch_rows` rows of the result or 256 MiB of queries, or fewer if memory runs
/// out. On a GPU, the references are copied once, and remain there if they fit.
///
/// # Metrics
/// | metric | meaning |
/// |---|---|
/// | `output_rows` | rows returned |
/// | `input_rows` | queries, also those whose vector is null |
/// | `reference_rows` | references, without those whose vector is null |
/// | `input_bytes` | bytes of the queries' vectors given to the library |
/// | `calls` | calls of the library |
/// | `gather_time` | bringing rows of both inputs together |
/// | `kernel_time` | on the CPU the library's calls; on other devices the kernels, and waiting for them |
/// | `copy_time` | copies to and from a GPU or the simulator |
/// | `output_time` | putting the rows of the result together |
///
/// Times are sums over the partitions, which work at the same time.
#[derive(Debug)]
pub struct NearestExec {
    parameters: NearestParameters,
    queries: Arc<dyn ExecutionPlan>,
    references: Arc<dyn ExecutionPlan>,
    /// The columns of vectors.
    keys: [Arc<dyn PhysicalExpr>; 2],
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    /// The references, which the first partition begins to load.
    loading: Mutex<Option<Loading>>,
}

impl NearestExec {
    /// Returns the node for two inputs.
    ///
    /// # Errors
    /// If the columns are not vectors of the same type, `k` is 0, or the references have no end.
    pub fn try_new(
        parameters: NearestParameters,
        queries: Arc<dyn ExecutionPlan>,
        references: Arc<dyn ExecutionPlan>,
    ) -> Result<NearestExec> {
        let schema = parameters.output_schema(&queries.schema(), &references.schema())?;
        if references.boundedness().is_unbounded() {
            return plan_err!(
                "{}: the references in {} have no end, so they cannot be searched: limit them, or \
                 exchange the two tables",
                NAME,
                parameters.references.name
            );
        }
        let partitions = queries.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            queries.boundedness(),
        );
        let key = |input: SchemaRef, index: usize| {
            Arc::new(Column::new(input.field(index).name(), index)) as _
        };
        Ok(NearestExec {
            keys: [
                key(queries.schema(), parameters.queries.index),
                key(references.schema(), parameters.references.index),
            ],
            parameters,
            queries,
            references,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            loading: Mutex::new(None),
        })
    }

    /// Returns the parameters.
    pub fn parameters(&self) -> &NearestParameters {
        &self.parameters
    }

    /// Returns the references, which are loaded once for all partitions.
    fn references(&self, context: &Arc<TaskContext>, gather_time: Time) -> Result<Loading> {
        // The option is valid even if another partition panicked.
        let mut loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loading) = &*loading {
            return Ok(loading.clone());
        }
        let partitions = self.references.output_partitioning().partition_count();
        if partitions != 1 {
            return internal_err!("{EXEC_NAME}: the references have {partitions} partitions");
        }
        let input = self.references.execute(0, Arc::clone(context))?;
        let consumer = MemoryConsumer::new(format!("{EXEC_NAME}[references]"));
        let reservation = consumer.register(context.memory_pool());
        let gatherer = Gatherer::new(self.parameters.references.clone(), 0, reservation);
        let device = self.parameters.device;
        let rows = MetricBuilder::new(&self.metrics).global_counter("reference_rows");
        let is_double = self.parameters.is_double(&self.queries.schema());
        let load = async move {
            let loaded = load(input, gatherer, device, gather_time, rows).await?;
            let Some((gathered, device)) = loaded else {
                return Ok(None);
            };
            let vectors = gathered.vectors.clone();
            let database: Arc<dyn Database> = match is_double {
                true => Arc::new(Vectors::<Float64Type>::new(vectors, device)),
                false => Arc::new(Vectors::<Float32Type>::new(vectors, device)),
            };
            let rows = Arc::new(gathered);
            Ok(Some(References { rows, database }))
        };
        Ok(loading
            .insert(load.map_err(Arc::new).boxed().shared())
            .clone())
    }
}

/// Gathers the whole input, and opens the device if there are rows.
async fn load(
    mut input: SendableRecordBatchStream,
    mut gatherer: Gatherer,
    device: DeviceName,
    gather_time: Time,
    rows: Count,
) -> Result<Option<(Gathered, Device)>> {
    while let Some(batch) = input.try_next().await? {
        let _timer = gather_time.timer();
        gatherer.push(&batch)?;
    }
    rows.add(gatherer.rows());
    // Copying the vectors of gigabytes and opening a device take long enough for a thread of its own.
    let task = SpawnedTask::spawn_blocking(move || {
        let timer = gather_time.timer();
        let gathered = gatherer.take()?;
        timer.done();
        let with_device =
            |gathered| Ok((gathered, config::open(device).map_err(external(EXEC_NAME))?));
        gathered.map(with_device).transpose()
    });
    task.join_unwind().await.map_err(not_joined)?
}

impl DisplayAs for NearestExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let NearestParameters { k, batch_rows, .. } = self.parameters;
        let (queries, references) = (&self.parameters.queries, &self.parameters.references);
        let (queries, references) = (&queries.name, &references.name);
        let device = config::shown(self.parameters.device);
        write!(
            f,
            "{EXEC_NAME}: k={k}, queries={queries}, references={references}, batch_rows={batch_rows}, \
             device={device}"
        )
    }
}

impl ExecutionPlan for NearestExec {
    common_methods!(EXEC_NAME, inputs: [queries, references], expressions: [keys]);

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        let queries = Distribution::UnspecifiedDistribution;
        InputDistributionRequirements::new(vec![queries, Distribution::SinglePartition])
    }

    /// The library divides the work of a call among all threads, or gives it to a GPU.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false, false]
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let counter =
            |name: &'static str| MetricBuilder::new(&self.metrics).counter(name, partition);
        let time =
            |name: &'static str| MetricBuilder::new(&self.metrics).subset_time(name, partition);
        let gather_time = time("gather_time");
        let references = self.references(&context, gather_time.clone())?;
        let consumer = MemoryConsumer::new(format!("{EXEC_NAME}[{partition}]"));
        let reservation = consumer.register(context.memory_pool());
        let work = Work {
            k: self.parameters.k,
            batch_rows: self.parameters.batch_rows,
            references,
            schema: self.schema(),
            fields: [&self.queries, &self.references].map(|side| side.schema().fields().clone()),
            batch_size: context.session_config().batch_size(),
            measures: Measures {
                input_bytes: counter("input_bytes"),
                calls: counter("calls"),
                kernel_time: time("kernel_time"),
                copy_time: time("copy_time"),
            },
            output_time: time("output_time"),
        };
        let queries = Queries {
            pool: Arc::clone(context.memory_pool()),
            partitions: self.properties.partitioning.partition_count(),
            input: self.queries.execute(partition, context)?.fuse(),
            gatherer: Gatherer::new(self.parameters.queries.clone(), 0, reservation),
            waiting: None,
            input_rows: counter("input_rows"),
            gather_time,
        };
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        let batches = run(queries, work).map_ok(move |batch| batch.record_output(&baseline));
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            batches,
        )))
    }
}
