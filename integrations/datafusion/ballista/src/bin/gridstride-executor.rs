//! `gridstride-executor`: runs the tasks of queries on one device.

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::exit;
use std::time::Duration;

use clap::Parser;
use clap::builder::RangedU64ValueParser;
use gridstride::Device;
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
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..65535))]
    port: Option<u16>,
    /// Where kernels run unless a query names a device: auto, cpu, cuda, cuda:N or simulator
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceName,
    /// Bytes of the device's memory that the kernels may take at a time [default: all]
    #[arg(long, value_name = "BYTES")]
    memory_limit: Option<u64>,
    /// Bytes of the machine's memory for sorts and joins [default: 70 % of it, or of the container's]
    #[arg(long, value_name = "BYTES")]
    host_memory: Option<u64>,
    /// Partitions to work on at a time. A GPU is kept busy by few
    #[arg(
        long,
        default_value_t = 2,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=u32::MAX.into())
    )]
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
    let device = default_device(args.device, args.memory_limit)?;
    eprintln!(
        "gridstride-executor: computes on {device:?} for {}",
        args.scheduler
    );
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

/// Makes a device the default of the process, and returns it.
fn default_device(
    name: DeviceName,
    memory_limit: Option<u64>,
) -> Result<Device, Box<dyn std::error::Error>> {
    let mut device = match name {
        // Opening `auto` would make the device the default before it has its limit.
        DeviceName::Auto => Device::auto(),
        name => open(name)?,
    };
    if let Some(bytes) = memory_limit {
        device = device.with_memory_limit(bytes);
    }
    if !set_default_device(device.clone()) {
        return Err(format!(
            "--device {name}: the process has a default device already, and this device and its \
             --memory-limit would have no effect"
        )
        .into());
    }
    Ok(device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_limit_holds_for_auto_and_for_the_same_device_by_name() {
        let device = default_device(DeviceName::Auto, Some(1 << 20)).unwrap();
        let opened = open(DeviceName::Auto).unwrap();
        assert!(device.same_as(&opened));
        assert_eq!(opened.memory_limit(), Some(1 << 20));
        let name = device.kind().to_string().parse().unwrap();
        assert_eq!(open(name).unwrap().memory_limit(), Some(1 << 20), "{name}");
        let error = default_device(DeviceName::Cpu, None).unwrap_err();
        assert!(
            error.to_string().contains("a default device already"),
            "{error}"
        );
    }

    #[test]
    fn ports_and_vcores_have_bounds() {
        let parse = |option, value| Args::try_parse_from(["gridstride-executor", option, value]);
        for (option, wrong, right) in [("--port", "65535", "65534"), ("--vcores", "0", "1")] {
            let error = parse(option, wrong).err().unwrap().to_string();
            assert!(
                error.contains(option) && error.contains("not in"),
                "{error}"
            );
            assert!(parse(option, right).is_ok(), "{option} {right}");
        }
    }
}
