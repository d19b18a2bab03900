//! `gridstride-executor`: runs the tasks of queries on one device.

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::exit;
use std::time::Duration;

use clap::Parser;
use gridstride_ballista::{ExecutorOptions, LEVELS, log_to_stderr, run_executor};
use gridstride_datafusion::config::{DeviceName, open, set_default_device};

/// Runs tasks of queries for a gridstride-scheduler. Start one for each GPU: CUDA_VISIBLE_DEVICES
/// chooses it.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// The scheduler
    #[arg(long, default_value = "127.0.0.1:25050", value_name = "HOST:PORT")]
    scheduler: String,
    /// Address to listen on. Nothing is authenticated or encrypted: use a private network
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    bind: IpAddr,
    /// Host name under which the others reach this machine [default: the address of --bind]
    #[arg(long, value_name = "HOST")]
    advertise: Option<String>,
    /// First of two ports in a row [default: a free pair between 26000 and 32000]
    #[arg(long)]
    port: Option<u16>,
    /// Where kernels run unless a query names a device: auto, cpu, cuda:N or simulator
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceName,
    /// Bytes of the device's memory that the kernels may take at a time [default: all]
    #[arg(long, value_name = "BYTES")]
    memory_limit: Option<u64>,
    /// Bytes of the machine's memory for sorts and joins [default: 70 % of it, or of the container's]
    #[arg(long, value_name = "BYTES")]
    host_memory: Option<u64>,
    /// Partitions to work on at a time. A GPU is kept busy by few
    #[arg(long, default_value_t = 2)]
    vcores: usize,
    /// Folder for intermediate results [default: gridstride in the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
    /// Seconds between two signs of life
    #[arg(long, default_value_t = 2, value_name = "SECONDS")]
    heartbeat: u64,
    /// Seconds to wait for the scheduler at the start
    #[arg(long, default_value_t = 10, value_name = "SECONDS")]
    connect_timeout: u64,
    /// Which messages to write to standard error
    #[arg(long, default_value = "info", value_name = "LEVEL", value_parser = LEVELS)]
    log: String,
}

#[tokio::main]
async fn main() {
    let args = Args::parse();
    log_to_stderr(&args.log);
    let result = run(args).await;
    if let Err(error) = &result {
        eprintln!("gridstride-executor: {error}");
    }
    // Returning would wait for calls of the library that have begun.
    exit(i32::from(result.is_err()))
}

async fn run(args: Args) -> Result<(), Box<dyn std::error::Error>> {
    let (host, port) = args
        .scheduler
        .rsplit_once(':')
        .and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)))
        .ok_or_else(|| format!("--scheduler {:?} is not HOST:PORT", args.scheduler))?;
    let advertise = match args.advertise {
        Some(host) => host,
        None if args.bind.is_unspecified() => {
            return Err(format!("--bind {} needs --advertise HOST", args.bind).into());
        }
        None => args.bind.to_string(),
    };
    let mut device = open(args.device)?;
    if let Some(bytes) = args.memory_limit {
        device = device.with_memory_limit(bytes);
    }
    eprintln!(
        "gridstride-executor: computes on {device:?} for {}",
        args.scheduler
    );
    set_default_device(device);
    run_executor(ExecutorOptions {
        scheduler_host: host,
        scheduler_port: port,
        connect_timeout: Duration::from_secs(args.connect_timeout),
        bind: args.bind,
        advertise,
        port: args.port,
        vcores: args.vcores,
        heartbeat: Duration::from_secs(args.heartbeat),
        host_memory: args.host_memory,
        work_dir: args
            .work_dir
            .unwrap_or_else(|| std::env::temp_dir().join("gridstride")),
    })
    .await?;
    Ok(())
}
