//! Code that table functions share: literal arguments, tables and columns by name, and results
//! that are logical plans.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableFunctionArgs, TableProvider};
use datafusion::common::{
    Column, DFSchema, Result, ScalarValue, TableReference, not_impl_err, plan_err,
};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableType};
use datafusion::physical_plan::ExecutionPlan;
use futures::FutureExt;

/// Returns a literal text among the arguments of a function; `None` for NULL and arguments that
/// are missing.
///
/// # Errors
/// For anything but a literal text. `name` is the argument's name in the message.
pub(crate) fn text<'a>(
    function: &str,
    arguments: &'a [Expr],
    index: usize,
    name: &str,
) -> Result<Option<&'a str>> {
    match arguments.get(index) {
        None | Some(Expr::Literal(ScalarValue::Null, _)) => Ok(None),
        Some(Expr::Literal(value, _)) if value.try_as_str().is_some() => {
            Ok(value.try_as_str().flatten())
        }
        Some(other) => plan_err!(
            "{function}: argument {}, {name}, is {other}, and has to be a text in quotes",
            index + 1
        ),
    }
}

/// Returns a scan of the session's table with a name, which may have a schema and a catalogue in
/// front. The planner does not tell table functions the names of a query's WITH.
///
/// # Errors
/// If there is no such table, or if its catalogue needs to wait for an answer.
pub(crate) fn scan(function: &str, session: &dyn Session, name: &str) -> Result<LogicalPlan> {
    let defaults = &session.config_options().catalog;
    let resolved = TableReference::parse_str(name)
        .resolve(&defaults.default_catalog, &defaults.default_schema);
    let schema = session
        .catalog_list()
        .catalog(&resolved.catalog)
        .and_then(|catalog| catalog.schema(&resolved.schema));
    let Some(schema) = schema else {
        return plan_err!(
            "{function}: there is no schema {}.{}",
            resolved.catalog,
            resolved.schema
        );
    };
    // Table functions are synchronous, look-ups are not. Catalogues in memory answer at once.
    let table = match schema.table(&resolved.table).now_or_never() {
        Some(table) => table?,
        None => {
            return not_impl_err!(
                "{function}: the catalogue of {resolved} does not answer at once: register the table in the session"
            );
        }
    };
    let Some(table) = table else {
        return plan_err!(
            "{function}: there is no table {name:?}: names of WITH are not known here: create a view"
        );
    };
    LogicalPlanBuilder::scan(
        TableReference::parse_str(name),
        provider_as_source(table),
        None,
    )?
    .build()
}

/// Returns the two sides of a join, each a table and the text that names its columns, from a
/// function's first four arguments: `'left', 'columns', 'right', 'columns'`.
///
/// # Errors
/// As [`text`] and [`aliased`], and for arguments that are missing. `names` are the arguments' names
/// in messages.
pub(crate) fn two_tables<'a>(
    function: &str,
    syntax: &str,
    names: [&str; 4],
    args: &TableFunctionArgs<'a, '_>,
) -> Result<[(LogicalPlan, &'a str); 2]> {
    let needed = |index: usize| match text(function, args.exprs(), index, names[index])? {
        Some(text) => Ok(text),
        None => plan_err!(
            "{function}: argument {}, {}, is missing: {syntax}",
            index + 1,
            names[index]
        ),
    };
    let side = |table: usize| -> Result<_> {
        let plan = aliased(function, args.session(), needed(table)?)?;
        Ok((plan, needed(table + 1)?))
    };
    Ok([side(0)?, side(2)?])
}

/// Returns the column with a name, which may be qualified by a table, with its table.
///
/// # Errors
/// If there is no such column, or several tables have one.
pub(crate) fn find_column(function: &str, schema: &DFSchema, name: &str) -> Result<Column> {
    let (table, field) = match schema.qualified_fields_with_unqualified_name(name)[..] {
        [field] => field,
        _ => match schema.qualified_field_from_column(&Column::from_qualified_name(name)) {
            Ok(field) => field,
            Err(error) => return Err(error.context(format!("{function}: the column '{name}'"))),
        },
    };
    Ok(Column::from((table, field)))
}

/// Scans a table that is named with or without an alias: `name` or `name alias`.
///
/// # Errors
/// As [`scan`], and for more words.
fn aliased(function: &str, session: &dyn Session, table: &str) -> Result<LogicalPlan> {
    match words(table)[..] {
        [name] => scan(function, session, name),
        [name, alias] => LogicalPlanBuilder::from(scan(function, session, name)?)
            .alias(TableReference::bare(unquoted(alias)))?
            .build(),
        _ => plan_err!("{function}: {table:?} has to be a table, or a table and an alias"),
    }
}

/// Splits a text at the blanks that are not in double quotes.
fn words(text: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let words = text.split(|c: char| {
        is_quoted ^= c == '"';
        !is_quoted && c.is_whitespace()
    });
    words.filter(|word| !word.is_empty()).collect()
}

/// Returns a name without its double quotes, if it has any.
fn unquoted(name: &str) -> String {
    match name
        .strip_prefix('"')
        .and_then(|name| name.strip_suffix('"'))
    {
        Some(name) => name.replace("\"\"", "\""),
        None => name.to_owned(),
    }
}

/// Refuses two tables of one name, whose columns could not be told apart.
pub(crate) fn require_two_names(
    function: &str,
    left: &LogicalPlan,
    right: &LogicalPlan,
) -> Result<()> {
    let tables = |plan: &LogicalPlan| -> HashSet<Option<TableReference>> {
        plan.schema()
            .iter()
            .map(|(table, _)| table.cloned())
            .collect()
    };
    if tables(left) == tables(right) {
        return plan_err!(
            "{function}: both tables have one name: give one of them an alias, 'table alias'"
        );
    }
    Ok(())
}

/// Renames the columns whose names occur twice to `table_column`: the columns of a table function
/// are not qualified.
///
/// # Errors
/// If two columns still have one name.
pub(crate) fn unique_names(function: &str, plan: LogicalPlan) -> Result<LogicalPlan> {
    let schema = Arc::clone(plan.schema());
    let is_unique = |name: &str| schema.qualified_fields_with_unqualified_name(name).len() == 1;
    let mut names = HashSet::new();
    let mut columns = Vec::new();
    for (table, field) in schema.iter() {
        let name = match table {
            Some(table) if !is_unique(field.name()) => {
                format!("{}_{}", table.table(), field.name())
            }
            _ => field.name().clone(),
        };
        if !names.insert(name.clone()) {
            return plan_err!(
                "{function}: two columns of the result are called '{name}', since equal names \
                 become table_column: give one of the tables another alias, 'table alias'"
            );
        }
        let column = Expr::from((table, field));
        columns.push(match name == *field.name() {
            true => column,
            false => column.alias(name),
        });
    }
    LogicalPlanBuilder::from(plan).project(columns)?.build()
}

/// A table whose rows a logical plan computes. The SQL planner puts the plan in the place of the
/// scan, as for a view.
#[derive(Debug)]
pub(crate) struct PlanTable(pub LogicalPlan);

#[async_trait]
impl TableProvider for PlanTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.0.schema().inner())
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    fn get_logical_plan(&self) -> Option<Cow<'_, LogicalPlan>> {
        Some(Cow::Borrowed(&self.0))
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let filter = filters.iter().cloned().reduce(Expr::and);
        let mut plan = LogicalPlanBuilder::from(self.0.clone());
        if let Some(filter) = filter {
            plan = plan.filter(filter)?;
        }
        if let Some(columns) = projection {
            let field = |&index: &usize| Expr::from(self.0.schema().qualified_field(index));
            plan = plan.project(columns.iter().map(field))?;
        }
        let plan = plan.limit(0, limit)?.build()?;
        session.create_physical_plan(&plan).await
    }
}
