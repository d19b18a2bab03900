//! The scheduler's records of jobs and executors, guarded: a client hears of a success only after
//! the [audit](crate::audit), of a lost executor at once, and of a lost report after a while.
//!
//! Both guards wrap Ballista's records in memory. Everything that a client is told about its job
//! passes through [`GuardedJobs`] if the client asks for its status to be pushed, as gridstride's
//! does. (A client that polls is answered from the running job itself until that is saved, so that
//! it can see a success shortly before the audit.)

mod executors;
mod jobs;
mod stalls;

pub(crate) use executors::GuardedExecutors;
pub(crate) use jobs::GuardedJobs;
pub(crate) use stalls::{Sightings, give_up_stalled};

/// Begins every error after which the same query may succeed: an executor or a report was lost, or
/// the records of the job show that one was.
pub(crate) const RETRY: &str = "the cluster changed while the query ran";
