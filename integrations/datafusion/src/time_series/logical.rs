//! The node of logical plans, and its physical plan.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{DFSchema, DFSchemaRef, Result, plan_err};
use datafusion::logical_expr::{
    Expr, ExprSchemable, Extension, LogicalPlan, LogicalPlanBuilder, UserDefinedLogicalNodeCore,
    cast, ident,
};
use datafusion::physical_plan::ExecutionPlan;

use super::duration::Resolution;
use super::exec::TimeBucketExec;
use super::options::TimeBucketOptions;
use super::parameters::{ColumnNames, Methods, SERIES, TIMESTAMP, TimeBucketParameters, VALUE};
use super::sort::SeriesSortExec;
use crate::config::GridstrideConfig;
use crate::exact::exact_float64;
use crate::planner::{PlannedNode, Planning};
use crate::volatile;

/// Statistics of the values in buckets of time, one row for each series and bucket.
///
/// The device, the number of rows of a call and whether sorted partitions are merged are options of
/// the session that runs the plan: a view keeps its plan, but not the options of the session that
/// made it. The planner replaces these options of the parameters.
#[derive(Clone, Debug)]
pub struct TimeBucketNode {
    parameters: TimeBucketParameters,
    input: LogicalPlan,
    /// Filters of the buckets.
    filters: Vec<Expr>,
    schema: DFSchemaRef,
}

/// The arguments of [`plan`] other than the input.
pub(super) struct Call<'a> {
    pub series: Option<&'a str>,
    pub timestamp: &'a str,
    pub value: &'a str,
    pub every: &'a str,
    pub methods: Methods,
    pub options: TimeBucketOptions,
}

/// Plans an aggregation of a plan's rows.
pub(super) fn plan(input: LogicalPlan, call: Call<'_>) -> Result<LogicalPlan> {
    let type_of = |column: &str| match ident(column).get_type(input.schema()) {
        Ok(data_type) => Ok(data_type),
        Err(error) => Err(error.context(format!("time_buckets: column {column:?}"))),
    };
    // A column without any value, as of a CSV file with a header alone.
    let timestamp = match type_of(call.timestamp)? {
        DataType::Null => cast(
            ident(call.timestamp),
            DataType::Timestamp(TimeUnit::Nanosecond, None),
        ),
        _ => ident(call.timestamp),
    };
    let unit = Resolution::of(call.timestamp, &timestamp.get_type(input.schema())?)?;
    let every = unit.every(call.timestamp, call.every)?;
    let mut options = call.options;
    let origin = match options.origin.take() {
        Some(text) => unit.origin(call.timestamp, &text)?,
        None => 0,
    };
    let mut columns = Vec::new();
    if let Some(series) = call.series {
        let data_type = type_of(series)?;
        if data_type.is_nested() {
            return plan_err!(
                "time_buckets: series column {series:?} is of type {data_type}, and has to be a text, a number or another simple type"
            );
        }
        let name = match data_type {
            DataType::Null => cast(ident(series), DataType::Utf8),
            _ => ident(series),
        };
        columns.push(name.alias(SERIES));
    }
    columns.push(timestamp.alias(TIMESTAMP));
    let value = match type_of(call.value)? {
        DataType::Float32 | DataType::Float64 => ident(call.value),
        number if number.is_numeric() || number.is_null() => {
            exact_float64().call(vec![ident(call.value)])
        }
        other => {
            return plan_err!(
                "time_buckets: value column {:?} is of type {other}, and has to be a number: cast it in a view",
                call.value
            );
        }
    };
    columns.push(value.alias(VALUE));
    let input = LogicalPlanBuilder::from(input).project(columns)?.build()?;
    let names = ColumnNames {
        series: call.series.map(str::to_owned),
        timestamp: call.timestamp.to_owned(),
        value: call.value.to_owned(),
    };
    // The planner replaces them by the session's.
    let config = GridstrideConfig::default();
    let parameters = TimeBucketParameters {
        names,
        every,
        origin,
        methods: call.methods,
        options,
        device: config.device,
        batch_rows: config.batch_rows,
        merge_sorted: config.merge_sorted,
    };
    let node = Arc::new(TimeBucketNode::try_new(parameters, input)?);
    Ok(LogicalPlan::Extension(Extension { node }))
}

impl TimeBucketNode {
    /// Plans an aggregation of an input with the columns series, which may be missing, timestamp
    /// and value.
    ///
    /// # Errors
    /// If the parameters or the types of the columns are invalid.
    pub fn try_new(parameters: TimeBucketParameters, input: LogicalPlan) -> Result<TimeBucketNode> {
        let schema = parameters.output_schema(input.schema().as_arrow())?;
        Ok(TimeBucketNode {
            schema: Arc::new(DFSchema::try_from(schema)?),
            parameters,
            input,
            filters: Vec::new(),
        })
    }

    /// Returns the parameters.
    pub fn parameters(&self) -> &TimeBucketParameters {
        &self.parameters
    }

    fn unit(&self) -> Resolution {
        let timestamp = self.schema.field_with_unqualified_name(TIMESTAMP);
        let unit = timestamp.and_then(|field| Resolution::of(TIMESTAMP, field.data_type()));
        unit.expect("the constructor checks the timestamps")
    }
}

impl PartialEq for TimeBucketNode {
    fn eq(&self, other: &TimeBucketNode) -> bool {
        self.parameters == other.parameters
            && self.input == other.input
            && self.filters == other.filters
    }
}

// No parameter is NaN: `Fill` has a variant for it.
impl Eq for TimeBucketNode {}

impl Hash for TimeBucketNode {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parameters.display(self.unit()).hash(state);
        self.input.hash(state);
        self.filters.hash(state);
    }
}

impl PartialOrd for TimeBucketNode {
    fn partial_cmp(&self, other: &TimeBucketNode) -> Option<Ordering> {
        match self.input.partial_cmp(&other.input)? {
            Ordering::Equal if self == other => Some(Ordering::Equal),
            Ordering::Equal => None,
            order => Some(order),
        }
    }
}

impl UserDefinedLogicalNodeCore for TimeBucketNode {
    fn name(&self) -> &str {
        "TimeBucket"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        self.filters.clone()
    }

    /// A filter of the series leaves out whole series, and can be applied first. All others are of
    /// the buckets.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        let names = self
            .schema
            .fields()
            .iter()
            .map(|field| field.name().clone());
        names.filter(|name| name != SERIES).collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let parameters = self.parameters.display(self.unit());
        write!(
            f,
            "TimeBucket: {parameters}{}",
            volatile::display(&self.filters)
        )
    }

    fn with_exprs_and_inputs(
        &self,
        mut filters: Vec<Expr>,
        mut inputs: Vec<LogicalPlan>,
    ) -> Result<TimeBucketNode> {
        filters.extend(volatile::hold_back(&mut inputs, &[&self.input])?);
        let node = TimeBucketNode::try_new(self.parameters.clone(), inputs.swap_remove(0))?;
        Ok(TimeBucketNode { filters, ..node })
    }

    fn necessary_children_exprs(&self, _: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![(0..self.input.schema().fields().len()).collect()])
    }
}

#[async_trait]
impl PlannedNode for TimeBucketNode {
    async fn plan(
        &self,
        inputs: &[Arc<dyn ExecutionPlan>],
        planning: &Planning<'_>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let config = GridstrideConfig::of(planning.session.config_options());
        let parameters = TimeBucketParameters {
            device: config.device,
            batch_rows: config.batch_rows,
            merge_sorted: config.merge_sorted,
            ..self.parameters.clone()
        };
        let mut exec = TimeBucketExec::try_new(parameters.clone(), Arc::clone(&inputs[0]))?;
        if exec.sorts_by_series() {
            let names = self.parameters.names.clone();
            let sorted = SeriesSortExec::try_new(names, Arc::clone(&inputs[0]))?;
            exec = TimeBucketExec::try_new(parameters, Arc::new(sorted))?;
        }
        Ok(Arc::new(exec))
    }

    fn filters(&self) -> &[Expr] {
        &self.filters
    }
}
