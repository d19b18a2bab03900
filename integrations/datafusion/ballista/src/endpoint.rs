//! The settings of every connection in a cluster.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use ballista_core::extension::EndpointOverrideFn;
use datafusion::common::Result;
use tonic::transport::Endpoint;

/// The most bytes of a message, such as the plan of a scan of very many files.
pub(crate) const MAX_MESSAGE: u32 = 64 << 20;

/// The time that a connection may stay silent, and that its peer may take to answer a ping.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(3);

/// Returns the settings of every connection: a peer that vanishes without closing its connections
/// is noticed within seconds.
pub(crate) fn endpoint_settings() -> EndpointOverrideFn {
    Arc::new(
        |endpoint: Endpoint| -> Result<Endpoint, Box<dyn Error + Send + Sync>> {
            Ok(endpoint
                .connect_timeout(KEEP_ALIVE)
                .tcp_nodelay(true)
                .http2_keep_alive_interval(KEEP_ALIVE)
                .keep_alive_timeout(KEEP_ALIVE)
                .keep_alive_while_idle(true))
        },
    )
}
