//! The settings and functions that client, scheduler and executors have in common.

use std::any::Any;
use std::sync::Arc;

use ballista_core::config::{
    BALLISTA_CLIENT_GRPC_CONNECT_TIMEOUT_SECONDS, BALLISTA_CLIENT_GRPC_MAX_MESSAGE_SIZE,
    BALLISTA_CLIENT_IO_RETRIES_TIMES, BALLISTA_CLIENT_IO_RETRY_WAIT_TIME_MS,
};
use ballista_core::extension::SessionConfigExt;
use ballista_core::optimizer::ballista_default_optimizer_rules;
use datafusion::common::{Result, config_err, plan_err};
use datafusion::config::{ConfigEntry, ConfigExtension, ExtensionOptions};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use gridstride_datafusion::config::GridstrideConfig;

use crate::codec::GridstrideCodec;
use crate::endpoint::{KEEP_ALIVE, MAX_MESSAGE, endpoint_settings};
use crate::fingerprint::fingerprint;
use crate::submit::{Cluster, ClusterPlanner};

/// Information of a client for the scheduler.
///
/// Written by hand, because the entries of `extensions_options!` lack the prefix, without which
/// Ballista cannot set them on the other side.
#[derive(Clone, Debug, Default)]
struct ClientOptions {
    /// The fingerprint of the client's build.
    build: String,
}

impl ExtensionOptions for ClientOptions {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        match key {
            "build" => value.clone_into(&mut self.build),
            _ => return config_err!("there is no option gridstride_client.{key}"),
        }
        Ok(())
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        vec![ConfigEntry {
            key: format!("{}.build", Self::PREFIX),
            value: Some(self.build.clone()),
            description: "The fingerprint of the client's build",
        }]
    }
}

impl ConfigExtension for ClientOptions {
    const PREFIX: &'static str = "gridstride_client";
}

/// Returns the settings that client, scheduler and executors share.
///
/// Adaptive planning is off: Ballista cannot adapt a plan that the client has made. A fetch from an
/// executor that does not answer is tried twice within a second, instead of for nine seconds.
pub fn config() -> SessionConfig {
    let seconds = KEEP_ALIVE.as_secs().to_string();
    SessionConfig::new_with_ballista()
        .with_option_extension(ClientOptions::default())
        .with_option_extension(GridstrideConfig::default())
        .with_ballista_adaptive_query_planner(false)
        .with_ballista_physical_extension_codec(Arc::new(GridstrideCodec::default()))
        .with_ballista_override_create_grpc_client_endpoint(endpoint_settings())
        .set_str(BALLISTA_CLIENT_GRPC_CONNECT_TIMEOUT_SECONDS, &seconds)
        .set_str(
            BALLISTA_CLIENT_GRPC_MAX_MESSAGE_SIZE,
            &MAX_MESSAGE.to_string(),
        )
        .set_str(BALLISTA_CLIENT_IO_RETRIES_TIMES, "2")
        .set_str(BALLISTA_CLIENT_IO_RETRY_WAIT_TIME_MS, "250")
}

fn state_builder(config: SessionConfig) -> SessionStateBuilder {
    SessionStateBuilder::new()
        .with_default_features()
        .with_config(config)
        .with_optimizer_rules(ballista_default_optimizer_rules())
}

/// Returns a session state with all functions of `gridstride_datafusion`, as the scheduler and the
/// executors need it to decode plans.
///
/// # Errors
/// If the session refuses a function.
pub(crate) fn server_state(config: SessionConfig) -> Result<SessionState> {
    let ctx = SessionContext::new_with_state(state_builder(config).build());
    gridstride_datafusion::register(&ctx)?;
    Ok(ctx.state())
}

/// Like [`server_state`], for a client's session.
///
/// # Errors
/// A plan error if the client is of another build.
pub(crate) fn client_state(config: SessionConfig) -> Result<SessionState> {
    let build = config
        .options()
        .extensions
        .get::<ClientOptions>()
        .map_or("", |options| options.build.as_str());
    if build != fingerprint() {
        let build = if build.is_empty() { "unknown" } else { build };
        return plan_err!(
            "the client is of build {build} and the scheduler of build {}: install the same build \
             of gridstride everywhere",
            fingerprint()
        );
    }
    server_state(config)
}

/// Makes a session whose queries are planned here and run on a cluster.
///
/// Tables are registered as in any DataFusion session. Executors open the files themselves: their
/// paths have to lead to the same files on every machine, by shared storage or by copies.
///
/// ```no_run
/// # async fn example() -> datafusion::common::Result<()> {
/// use datafusion::prelude::ParquetReadOptions;
/// use gridstride_ballista::{Cluster, cluster_session, config};
///
/// let ctx = cluster_session(config(), Cluster::new("127.0.0.1:25050"))?;
/// ctx.register_parquet("points", "/shared/points", ParquetReadOptions::default()).await?;
/// ctx.sql("SELECT count(*) FROM points").await?.show().await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If the session refuses a function. Planning and running report their own errors.
pub fn cluster_session(config: SessionConfig, cluster: Cluster) -> Result<SessionContext> {
    let mut config = config;
    if let Some(options) = config.options_mut().extensions.get_mut::<ClientOptions>() {
        options.build = fingerprint().to_owned();
    }
    let planner = Arc::new(ClusterPlanner::new(cluster));
    let state = SessionStateBuilder::new_from_existing(server_state(config)?)
        .with_query_planner(planner)
        .build();
    Ok(SessionContext::new_with_state(state))
}
