//! Sessions and results.

use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::{SessionConfig, SessionContext};

/// Returns a session on the CPU with a number of partitions.
pub fn session(partitions: usize) -> SessionContext {
    let ctx =
        SessionContext::new_with_config(SessionConfig::new().with_target_partitions(partitions));
    gridstride_datafusion::register(&ctx).unwrap();
    let state = ctx.state_ref();
    let mut state = state.write();
    state
        .config_mut()
        .options_mut()
        .set("gridstride.device", "cpu")
        .unwrap();
    drop(state);
    ctx
}

/// Returns the rows of a query.
pub async fn rows(ctx: &SessionContext, sql: &str) -> Vec<RecordBatch> {
    ctx.sql(sql).await.unwrap().collect().await.unwrap()
}

/// Returns the rows of a query as text.
pub async fn text(ctx: &SessionContext, sql: &str) -> String {
    pretty_format_batches(&rows(ctx, sql).await)
        .unwrap()
        .to_string()
}

/// Returns the message of a query that fails, in planning or in running.
pub async fn error(ctx: &SessionContext, sql: &str) -> String {
    let error = match ctx.sql(sql).await {
        Ok(frame) => match frame.collect().await {
            Ok(found) => panic!("{sql}:\n{}", pretty_format_batches(&found).unwrap()),
            Err(error) => error,
        },
        Err(error) => error,
    };
    error.strip_backtrace()
}
