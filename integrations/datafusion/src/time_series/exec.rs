//! The node of physical plans.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::compute::SortOptions;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{
    Distribution, EquivalenceProperties, LexOrdering, LexRequirement, OrderingRequirements,
    PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_plan::distribution_requirements::InputDistributionRequirements;
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties,
};

use super::duration::Resolution;
use super::parameters::{EXEC_NAME, TimeBucketParameters};
use super::stream;
use crate::config;
use crate::node::common_methods;

/// Aggregates points that are sorted by series and timestamp.
///
/// The input has the columns series, which may be missing, timestamp and value, in this order. A
/// partition has all points of its series. [Parameters](TimeBucketParameters) and input are all of
/// its state: a copy made of them in another process computes the same.
///
/// # Partitions
/// Plans put a [`SeriesSortExec`](super::SeriesSortExec) below an input without the order, or
/// whose partitions share series. If
/// [`merge_sorted`](TimeBucketParameters::merge_sorted) is set, partitions that are sorted already
/// are merged into one instead: the library divides the work of each call among the threads of the
/// CPU, or gives it to a GPU.
///
/// # Metrics
/// | metric | meaning |
/// |---|---|
/// | `output_rows` | rows returned |
/// | `input_rows` | rows of the input, also those with a null value |
/// | `input_bytes` | bytes of timestamps and values given to the library |
/// | `calls` | calls of the library |
/// | `gather_time` | checking the input and bringing its rows together |
/// | `kernel_time` | on a GPU its kernels, until they have ended; on the CPU the library's calls. Also calls of points that do not fit in a GPU's memory at a time, with their copies |
/// | `copy_time` | copies to and from a GPU; 0 on the CPU |
///
/// Times are sums over the partitions, which work at the same time.
#[derive(Clone, Debug)]
pub struct TimeBucketExec {
    parameters: TimeBucketParameters,
    input: Arc<dyn ExecutionPlan>,
    /// The series, if there is one, and the timestamp.
    keys: Vec<Arc<dyn PhysicalExpr>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl TimeBucketExec {
    /// Returns the node for an input with the columns series, which may be missing, timestamp and
    /// value.
    ///
    /// # Errors
    /// If the parameters or the types of the columns are invalid.
    pub fn try_new(
        parameters: TimeBucketParameters,
        input: Arc<dyn ExecutionPlan>,
    ) -> Result<TimeBucketExec> {
        let schema = input.schema();
        let output = parameters.output_schema(&schema)?;
        let column = |index: usize, name: &str| Arc::new(Column::new(name, index)) as _;
        let keys: Vec<Arc<dyn PhysicalExpr>> = (0..schema.fields().len() - 1)
            .map(|index| column(index, schema.field(index).name()))
            .collect();
        let output_keys: Vec<Arc<dyn PhysicalExpr>> = (0..keys.len())
            .map(|index| column(index, output.field(index).name()))
            .collect();
        let partitioning = match input.output_partitioning() {
            // Rows that are hashed by their series still are.
            Partitioning::Hash(by, n) if keys.len() == 2 && by[..] == keys[..1] => {
                Partitioning::Hash(output_keys[..1].to_vec(), *n)
            }
            other => Partitioning::UnknownPartitioning(other.partition_count()),
        };
        let order = output_keys.into_iter().map(|key| ascending(key, false));
        let properties = PlanProperties::new(
            EquivalenceProperties::new_with_orderings(output, [order]),
            partitioning,
            EmissionType::Incremental,
            input.boundedness(),
        );
        Ok(TimeBucketExec {
            parameters,
            input,
            keys,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// Returns the parameters.
    pub fn parameters(&self) -> &TimeBucketParameters {
        &self.parameters
    }

    /// Returns the input.
    pub fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    /// Whether the order of each of the input's partitions suffices.
    fn is_sorted(&self) -> bool {
        let [Some(required)] = &self.required_input_ordering()[..] else {
            return false;
        };
        let properties = self.input.equivalence_properties();
        let satisfies = |order: &_| {
            let satisfied = properties.ordering_satisfy_requirement(Clone::clone(order));
            satisfied.unwrap_or(false)
        };
        required.iter().any(satisfies)
    }

    /// Whether each partition of the input has all points of its series.
    fn is_partitioned(&self) -> bool {
        let properties = self.input.equivalence_properties();
        let partitioning = self.input.output_partitioning();
        partitioning
            .satisfaction(&self.by_series(), properties, false)
            .is_satisfied()
    }

    /// Whether the input needs a [`SeriesSortExec`](super::SeriesSortExec).
    pub(super) fn sorts_by_series(&self) -> bool {
        let is_usable = self.is_partitioned() || self.parameters.merge_sorted;
        self.keys.len() == 2 && !(self.is_sorted() && is_usable)
    }

    fn by_series(&self) -> Distribution {
        match &self.keys[..] {
            [series, _] => Distribution::KeyPartitioned(vec![Arc::clone(series)]),
            _ => Distribution::SinglePartition,
        }
    }
}

fn ascending(key: Arc<dyn PhysicalExpr>, nulls_first: bool) -> PhysicalSortExpr {
    let options = SortOptions::default().with_nulls_first(nulls_first);
    PhysicalSortExpr::new(key, options)
}

impl DisplayAs for TimeBucketExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let timestamp = self.keys.len() - 1;
        let schema = self.input.schema();
        let unit =
            Resolution::of("", schema.field(timestamp).data_type()).map_err(|_| fmt::Error)?;
        let text = self.parameters.display(unit);
        let batch_rows = self.parameters.batch_rows;
        let device = config::shown(self.parameters.device);
        write!(
            f,
            "{EXEC_NAME}: {text}, batch_rows={batch_rows}, device={device}"
        )
    }
}

impl ExecutionPlan for TimeBucketExec {
    common_methods!(EXEC_NAME, inputs: [input], expressions: [keys]);

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        let merges = self.parameters.merge_sorted && !self.is_partitioned() && self.is_sorted();
        let required = match merges {
            true => Distribution::SinglePartition,
            false => self.by_series(),
        };
        InputDistributionRequirements::new(vec![required])
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        // There are no nulls, so that an order of either kind will do.
        let orders = [false, true].into_iter().filter_map(|nulls_first| {
            let key = |key: &Arc<dyn PhysicalExpr>| ascending(Arc::clone(key), nulls_first);
            LexOrdering::new(self.keys.iter().map(key)).map(LexRequirement::from)
        });
        vec![OrderingRequirements::new_alternatives(orders, false)]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![!self.is_sorted()]
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let partitions = self.input.output_partitioning().partition_count();
        stream::run(
            &self.parameters,
            self.schema(),
            input,
            (partition, partitions),
            &context,
            &self.metrics,
        )
    }
}
