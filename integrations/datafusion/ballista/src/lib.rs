//! A cluster of [Apache Ballista](https://datafusion.apache.org/ballista/) whose executors run
//! gridstride's kernels.
//!
//! Three programs: `gridstride-scheduler`, `gridstride-executor` and the client `gridstride-sql`. The
//! same client from Rust is [`cluster_session`]. A query is planned by its client; the scheduler cuts
//! the plan into stages and the executors run them.
//!
//! # When an executor dies
//! A query ends with the right rows or with an error within seconds, never with wrong rows:
//! - An executor that has been silent for some seconds, or to which a task cannot be sent, is lost.
//!   The scheduler then fails every running query, and the client submits it again.
//! - A query whose tasks neither run nor end, because the report of an end was lost, is failed after
//!   half a minute in the same way.
//! - No result is handed out before an audit of the whole job; the module `audit` explains what it
//!   proves. Tasks and the client count the rows that they read.
//! - A client whose scheduler is gone ends with an error.
//!
//! # What is not secured
//! All connections are plain text and nothing is authenticated: Ballista's servers have no TLS of
//! their own and no tokens. Everything therefore listens on the loopback interface unless told
//! otherwise; between machines, use a private network or an encrypted overlay such as WireGuard.

mod audit;
mod checked;
mod client;
mod codec;
mod connections;
mod endpoint;
mod executor;
mod fingerprint;
mod guard;
mod logging;
mod running;
mod scheduler;
mod session;
mod submit;
mod whole;
mod wording;
mod workdir;

pub use codec::GridstrideCodec;
pub use executor::{ExecutorOptions, run_executor};
pub use fingerprint::{FINGERPRINT_VARIABLE, fingerprint};
pub use logging::{LEVELS, log_to_stderr};
pub use scheduler::{SchedulerOptions, run_scheduler};
pub use session::{cluster_session, config};
pub use submit::Cluster;
