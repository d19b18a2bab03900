//! Options of a session, and the device on which operators compute.
//!
//! ```
//! use datafusion::prelude::SessionContext;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> datafusion::common::Result<()> {
//! let ctx = SessionContext::new();
//! gridstride_datafusion::register(&ctx)?;
//! ctx.sql("SET gridstride.device = 'cpu'").await?.collect().await?;
//! let error = ctx.sql("SET gridstride.device = 'gpu'").await.unwrap_err();
//! assert!(error.to_string().contains("there is no device \"gpu\""));
//! # Ok(())
//! # }
//! ```

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use datafusion::common::config::ConfigExtension;
use datafusion::common::{config_err, config_field, config_namespace};
use datafusion::config::{ConfigEntry, ConfigField, ConfigOptions, ExtensionOptions, Visit};
use datafusion::execution::TaskContext;
use gridstride::device::{DeviceKind, DeviceName as LibraryName, UnknownDevice};
use gridstride::{Device, Result};
use serde::{Deserialize, Serialize};

config_namespace! {
    /// The options whose names begin with `gridstride.`. [`register`](crate::register) adds them to
    /// a session.
    pub struct GridstrideConfig {
        /// Where operators compute: auto (the first GPU, or the CPU without a GPU), cpu, cuda, cuda:N or simulator
        pub device: DeviceName, default = DeviceName::Auto

        /// The number of rows that operators gather for a call of the library, if their memory suffices
        pub batch_rows: usize, default = 1 << 22

        /// The most rows of a table that a join of boxes replicates, if the number of rows is known
        pub box_tile_rows: usize, default = 10_000_000

        /// The number of pairs of boxes that are fetched from the device at a time
        pub box_pairs: usize, default = 1 << 22

        /// Whether the partitions of a table that is sorted already are merged into one stream, which needs little memory, instead of being hashed by series and sorted in parallel
        pub merge_sorted: bool, default = false
    }
}

impl ConfigExtension for GridstrideConfig {
    const PREFIX: &'static str = "gridstride";
}

/// Written by hand, since `extensions_options!` gives the options without their prefix: SHOW does not
/// find them then, and a cluster does not send them to its executors.
impl ExtensionOptions for GridstrideConfig {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, value: &str) -> datafusion::common::Result<()> {
        let mut changed = self.clone();
        ConfigField::set(&mut changed, key, value)?;
        for (name, number) in [
            ("batch_rows", changed.batch_rows),
            ("box_pairs", changed.box_pairs),
        ] {
            if number == 0 {
                return config_err!("{}.{name} is 0, and has to be 1 or more", Self::PREFIX);
            }
        }
        *self = changed;
        Ok(())
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        let mut entries = Entries(Vec::new());
        self.visit(&mut entries, Self::PREFIX, "");
        entries.0
    }
}

/// Collects options.
struct Entries(Vec<ConfigEntry>);

impl Visit for Entries {
    fn some<V: fmt::Display>(&mut self, key: &str, value: V, description: &'static str) {
        self.0.push(ConfigEntry {
            key: key.to_owned(),
            value: Some(value.to_string()),
            description,
        });
    }

    fn none(&mut self, key: &str, description: &'static str) {
        self.0.push(ConfigEntry {
            key: key.to_owned(),
            value: None,
            description,
        });
    }
}

impl GridstrideConfig {
    /// Returns the options of a session, or the defaults if the session lacks them.
    pub fn of(options: &ConfigOptions) -> GridstrideConfig {
        let config = options.extensions.get::<GridstrideConfig>();
        config.cloned().unwrap_or_default()
    }
}

/// The value of `gridstride.device`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum DeviceName {
    /// The [default](set_default_device) of the process: unless it was set, the first GPU that runs
    /// the kernels, or else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The GPU with an ordinal.
    Cuda(usize),
    /// The simulator, which runs the GPU's kernels slowly on the CPU: for tests.
    Simulator,
}

impl FromStr for DeviceName {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> std::result::Result<DeviceName, UnknownDevice> {
        Ok(match text.parse()? {
            LibraryName::Auto => DeviceName::Auto,
            LibraryName::Cpu => DeviceName::Cpu,
            LibraryName::Cuda(ordinal) => DeviceName::Cuda(ordinal),
            LibraryName::Simulator => DeviceName::Simulator,
        })
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceName::Auto => f.write_str("auto"),
            DeviceName::Cpu => f.write_str("cpu"),
            DeviceName::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            DeviceName::Simulator => f.write_str("simulator"),
        }
    }
}

config_field!(DeviceName);

impl From<DeviceName> for String {
    fn from(name: DeviceName) -> String {
        name.to_string()
    }
}

impl TryFrom<String> for DeviceName {
    type Error = UnknownDevice;

    fn try_from(text: String) -> std::result::Result<DeviceName, UnknownDevice> {
        text.parse()
    }
}

/// The device of `auto` in this process.
static DEFAULT: OnceLock<Device> = OnceLock::new();

/// Sets the device that sessions of this process use if their option is `auto`, such as the GPU of
/// an executor of a cluster. A [memory limit](Device::with_memory_limit) of the handle holds for
/// all operators together, also for those of sessions that name this device. Returns false if there
/// is a default already: it was set before, or a query has used it.
#[must_use = "without effect if there is a default already"]
pub fn set_default_device(device: Device) -> bool {
    DEFAULT.set(device).is_ok()
}

/// Returns the device on which the operators of a task compute. Each device is opened once in a
/// process: later calls return handles to the same device.
///
/// # Errors
/// [`Error::Unavailable`](gridstride::Error::Unavailable) if the device cannot be opened.
pub fn device(context: &TaskContext) -> Result<Device> {
    open(GridstrideConfig::of(context.session_config().options()).device)
}

/// Opens a device, or returns a handle to the same device if it is open. The
/// [default](set_default_device) of the process comes first, so that its memory limit holds for
/// sessions that name the device, too.
///
/// # Errors
/// As [`device`].
pub fn open(name: DeviceName) -> Result<Device> {
    static OPEN: OnceLock<Mutex<HashMap<DeviceName, Device>>> = OnceLock::new();
    if name == DeviceName::Auto {
        return Ok(DEFAULT.get_or_init(Device::auto).clone());
    }
    if let Some(default) = DEFAULT.get().filter(|device| is_named(device, name)) {
        return Ok(default.clone());
    }
    let open = OPEN.get_or_init(Mutex::default);
    // The map is valid even if opening a device panicked.
    let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = open.get(&name) {
        return Ok(device.clone());
    }
    let device = match name {
        DeviceName::Cuda(ordinal) => Device::cuda(ordinal)?,
        DeviceName::Simulator => Device::simulator()?,
        DeviceName::Auto | DeviceName::Cpu => Device::cpu(),
    };
    open.insert(name, device.clone());
    Ok(device)
}

/// Whether a device is the one with a name.
fn is_named(device: &Device, name: DeviceName) -> bool {
    match (device.kind(), name) {
        (DeviceKind::Cpu, DeviceName::Cpu) => true,
        (DeviceKind::Simulator, DeviceName::Simulator) => true,
        (DeviceKind::Cuda { ordinal }, DeviceName::Cuda(named)) => ordinal == named,
        _ => false,
    }
}

/// Returns a device as plans show it: with the device of `auto` in this process, if something has
/// opened it.
pub(crate) fn shown(name: DeviceName) -> String {
    match opened_default(name) {
        Some(opened) => format!("{name} (here {opened})"),
        None => name.to_string(),
    }
}

/// Returns the device of `auto` in this process for `auto`, if something has opened it: plans are
/// shown without opening devices, which takes long and would fix the default.
fn opened_default(name: DeviceName) -> Option<&'static Device> {
    (name == DeviceName::Auto).then(|| DEFAULT.get()).flatten()
}

/// Waits until no other call computes on a device with a memory limit, and returns a guard for a
/// call. Calls at the same time would take the memory from each other; alone, a call divides its
/// work so that it fits. Devices without a limit have no guard.
pub(crate) fn turn(device: &Device) -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    let limited = device.memory_limit().is_some();
    limited.then(|| TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::util::pretty::pretty_format_batches;
    use datafusion::prelude::SessionContext;

    use super::*;

    #[test]
    fn names_of_devices_are_those_of_the_library() {
        for text in ["auto", "cpu", "cuda:0", "cuda:7", "simulator"] {
            assert_eq!(text.parse::<DeviceName>().unwrap().to_string(), text);
        }
        assert_eq!("cuda".parse::<DeviceName>().unwrap(), DeviceName::Cuda(0));
        for text in LibraryName::NAMES.into_iter().chain(["simulator:0"]) {
            let of_library: LibraryName = text.parse().unwrap();
            let name: DeviceName = text.parse().unwrap();
            assert_eq!(name.to_string(), of_library.to_string());
        }
        for text in ["", "gpu", "CPU", "cuda:", "cuda:-1", "cpu "] {
            let error = text.parse::<DeviceName>().unwrap_err().to_string();
            assert!(error.contains("cuda:N and simulator"), "{error}");
        }
    }

    #[test]
    fn options_have_their_full_names() {
        let options = GridstrideConfig::default().entries();
        let device = options
            .iter()
            .find(|option| option.key == "gridstride.device");
        assert_eq!(device.unwrap().value.as_deref(), Some("auto"));
        assert!(
            options
                .iter()
                .all(|option| option.key.starts_with("gridstride."))
        );
    }

    #[test]
    fn calls_and_slices_have_at_least_one_row() {
        let mut options = ConfigOptions::new();
        options.extensions.insert(GridstrideConfig::default());
        for name in ["gridstride.batch_rows", "gridstride.box_pairs"] {
            let error = options.set(name, "0").unwrap_err().strip_backtrace();
            let expected = format!("{name} is 0, and has to be 1 or more");
            assert!(error.contains(&expected), "{error}");
            options.set(name, "1").unwrap();
        }
        let found = GridstrideConfig::of(&options);
        assert_eq!((found.batch_rows, found.box_pairs), (1, 1));
        options.set("gridstride.box_tile_rows", "0").unwrap();
    }

    #[tokio::test]
    async fn explain_opens_no_device() {
        let ctx = SessionContext::new();
        crate::register(&ctx).unwrap();
        let run = async |sql: &str| ctx.sql(sql).await.unwrap().collect().await.unwrap();
        run("CREATE TABLE l AS VALUES (0, 1.0), (5, 3.0)").await;
        run("CREATE TABLE r AS SELECT * FROM l").await;
        let boxes = "column2,column2,column2,column2";
        for function in [
            "time_buckets('l', NULL, 'column1', 'column2', '5', 'count')",
            &format!("box_overlap('l', '{boxes}', 'r', '{boxes}')"),
        ] {
            let plan = run(&format!("EXPLAIN SELECT * FROM {function}")).await;
            let plan = pretty_format_batches(&plan).unwrap().to_string();
            assert!(plan.contains("device=auto"), "{plan}");
            assert!(!plan.contains("device=auto (here"), "{plan}");
            assert!(DEFAULT.get().is_none());
        }
    }

    #[test]
    fn a_device_is_opened_once() {
        let first = open(DeviceName::Simulator).unwrap();
        assert!(first.same_as(&open(DeviceName::Simulator).unwrap()));
        assert!(open(DeviceName::Cuda(1000)).is_err());
    }

    #[test]
    fn devices_are_known_by_kind_and_ordinal() {
        let simulator = Device::simulator().unwrap().with_memory_limit(1 << 20);
        for (name, expected) in [
            (DeviceName::Simulator, [false, true]),
            (DeviceName::Cpu, [true, false]),
            (DeviceName::Cuda(0), [false, false]),
        ] {
            let found = [Device::cpu(), simulator.clone()].map(|device| is_named(&device, name));
            assert_eq!(found, expected, "{name}");
        }
    }
}
