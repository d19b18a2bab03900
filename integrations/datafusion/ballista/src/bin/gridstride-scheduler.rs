//! `gridstride-scheduler`: distributes queries among executors.

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use gridstride_ballista::{LEVELS, SchedulerOptions, log_to_stderr, run_scheduler};

/// Distributes the queries of gridstride-sql among the executors that register with it.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Address to listen on. Nothing is authenticated or encrypted: use a private network
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    bind: IpAddr,
    /// Port to listen on
    #[arg(long, default_value_t = 25050)]
    port: u16,
    /// Host name under which executors reach this machine [default: the address of --bind]
    #[arg(long, value_name = "HOST")]
    advertise: Option<String>,
    /// Seconds of silence after which an executor is lost: at least three of its heartbeats
    #[arg(long, default_value_t = 10, value_name = "SECONDS")]
    executor_timeout: u64,
    /// Seconds for which a query waits for a first executor
    #[arg(long, default_value_t = 15, value_name = "SECONDS")]
    wait_for_executors: u64,
    /// Seconds after which a query is given up if nothing of it ends and no executor says that it runs
    /// its tasks: at least three heartbeats. A task that runs is never ended, however long it takes
    #[arg(long, default_value_t = 30, value_name = "SECONDS")]
    stall_timeout: u64,
    /// Seconds for which a client may fetch a result
    #[arg(long, default_value_t = 3600, value_name = "SECONDS")]
    keep_results: u64,
    /// Which messages to write to standard error
    #[arg(long, default_value = "info", value_name = "LEVEL", value_parser = LEVELS)]
    log: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    log_to_stderr(&args.log);
    let advertise = match args.advertise {
        Some(host) => host,
        None if args.bind.is_unspecified() => {
            eprintln!(
                "gridstride-scheduler: --bind {} needs --advertise HOST",
                args.bind
            );
            return ExitCode::FAILURE;
        }
        None => args.bind.to_string(),
    };
    let address = SocketAddr::new(args.bind, args.port);
    eprintln!("gridstride-scheduler: listening on {address}");
    let ended = run_scheduler(SchedulerOptions {
        address,
        advertise,
        executor_timeout: Duration::from_secs(args.executor_timeout),
        wait_for_executors: Duration::from_secs(args.wait_for_executors),
        stall_timeout: Duration::from_secs(args.stall_timeout),
        keep_results: Duration::from_secs(args.keep_results),
    });
    match ended.await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gridstride-scheduler: {address}: {error}");
            ExitCode::FAILURE
        }
    }
}
