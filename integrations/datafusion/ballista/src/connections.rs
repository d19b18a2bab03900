//! Connections between executors, kept for the next read.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ballista_core::client::BallistaClient;
use ballista_core::client_pool::{BallistaClientPool, PooledClient};
use ballista_core::error::Result;
use ballista_core::extension::BallistaConfigGrpcEndpoint;
use ballista_core::utils::GrpcClientConfig;

/// The time that a connection is kept without use, as in Ballista's own pool, which belongs to an engine
/// that cannot be replaced without it.
const KEPT: Duration = Duration::from_secs(30);

/// Connections that are not in use, by host, port and settings. The latest is the last.
type Idle = HashMap<(String, u16, GrpcClientConfig), Vec<(BallistaClient, Instant)>>;

/// A pool of connections.
#[derive(Default)]
pub(crate) struct Connections(Arc<Mutex<Idle>>);

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Connections").finish_non_exhaustive()
    }
}

fn lock(idle: &Mutex<Idle>) -> MutexGuard<'_, Idle> {
    // The map is valid between statements, also after a panic elsewhere.
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl BallistaClientPool for Connections {
    async fn acquire(
        &self,
        host: &str,
        port: u16,
        config: &GrpcClientConfig,
        endpoint: Option<Arc<BallistaConfigGrpcEndpoint>>,
    ) -> Result<PooledClient> {
        self.evict_idle().await;
        let key = (host.to_owned(), port, config.clone());
        let kept = lock(&self.0).get_mut(&key).and_then(Vec::pop);
        let client = match kept {
            Some((client, _)) => client,
            None => {
                BallistaClient::try_new(
                    host,
                    port,
                    config.max_message_size,
                    config.use_tls,
                    endpoint,
                    config.io_retries_times,
                    config.io_retry_wait_time_ms,
                    config.initial_connection_window_size,
                    config.initial_stream_window_size,
                )
                .await?
            }
        };
        let idle = Arc::clone(&self.0);
        let keep = move |client| {
            let mut idle = lock(&idle);
            idle.entry(key).or_default().push((client, Instant::now()));
        };
        Ok(PooledClient::new(client, Box::new(keep)))
    }

    async fn evict_idle(&self) {
        lock(&self.0).retain(|_, clients| {
            clients.retain(|(_, since)| since.elapsed() < KEPT);
            !clients.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use ballista_core::config::BallistaConfig;
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn connections_are_used_again_unless_they_are_discarded() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, mut accepted) = mpsc::channel(10);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                sender.send(socket).await.unwrap();
            }
        });
        let pool = Connections::default();
        let config = GrpcClientConfig::from(&BallistaConfig::default());
        let acquire = async || {
            pool.acquire("127.0.0.1", port, &config, None)
                .await
                .unwrap()
        };

        drop(acquire().await);
        let first = acquire().await;
        let second = acquire().await;
        first.discard();
        drop(second);
        let third = acquire().await;
        let fourth = acquire().await;
        drop((third, fourth));
        // The first two, which were open at once, and the fourth.
        let mut sockets = Vec::new();
        while sockets.len() < 3 {
            sockets.push(accepted.recv().await.unwrap());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(accepted.try_recv().is_err(), "a fourth connection");
    }
}
