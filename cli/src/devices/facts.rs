//! The facts about a machine that a diagnosis is made from.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;

use gridstride::device::{DriverInfo, DriverState};

/// The variable with which the driver hides GPUs.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

/// NVIDIA's number on the PCI bus.
const VENDOR: &str = "0x10de";

/// The state of the machine.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Whether the driver works.
    pub state: DriverState,
    /// The newest CUDA version that the driver supports.
    pub cuda_version: Option<(u32, u32)>,
    /// The version of the kernel module that is loaded.
    pub module_version: Option<String>,
    /// NVIDIA's GPUs on the PCI bus; `None` if the system does not list the bus.
    pub gpus_on_bus: Option<usize>,
    /// Whether the device files of GPUs are there, such as /dev/nvidia0.
    pub has_device_files: bool,
    /// Device files that this user may not open.
    pub forbidden_files: Vec<String>,
    /// The value of `CUDA_VISIBLE_DEVICES`, if it is set.
    pub visible: Option<String>,
    pub place: Place,
    /// The GPUs that can be opened: ordinals and compute capabilities.
    pub gpus: Vec<(usize, (u32, u32))>,
}

/// The environment of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Directly on Linux.
    Linux,
    /// In a container of Docker, Podman and the like.
    Container,
    /// In a pod of Kubernetes.
    Pod,
    /// In the Windows Subsystem for Linux.
    Wsl,
    /// On another system.
    Other,
}

impl Facts {
    /// Returns the facts of this machine. `gpus` are those that can be opened.
    pub fn now(driver: &DriverInfo, gpus: Vec<(usize, (u32, u32))>) -> Facts {
        let files = device_files();
        Facts {
            state: driver.state.clone(),
            cuda_version: driver.cuda_version,
            module_version: fs::read_to_string("/proc/driver/nvidia/version")
                .ok()
                .and_then(|text| module_version(&text)),
            gpus_on_bus: gpus_on_bus(),
            has_device_files: !files.is_empty(),
            forbidden_files: match driver.state {
                DriverState::Ready { .. } => Vec::new(),
                _ => files.into_iter().filter(is_forbidden).collect(),
            },
            visible: std::env::var(VISIBLE).ok(),
            place: Place::here(),
            gpus,
        }
    }
}

/// Returns the version in the text of the kernel module, whose first line is such as
/// `NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024`.
fn module_version(text: &str) -> Option<String> {
    let words = text.lines().next()?.split_whitespace();
    let is_version = |word: &&str| {
        let mut numbers = word.split('.');
        word.contains('.') && numbers.all(|number| number.parse::<u32>().is_ok())
    };
    words.into_iter().find(is_version).map(str::to_owned)
}

/// Returns the number of NVIDIA's display and compute controllers.
fn gpus_on_bus() -> Option<usize> {
    let devices = fs::read_dir("/sys/bus/pci/devices").ok()?;
    let is_gpu = |folder: &Path| {
        let read = |name| fs::read_to_string(folder.join(name)).unwrap_or_default();
        read("vendor").trim() == VENDOR && read("class").starts_with("0x03")
    };
    Some(
        devices
            .flatten()
            .filter(|device| is_gpu(&device.path()))
            .count(),
    )
}

/// Returns the device files of GPUs, and of their driver if there is one of a GPU.
fn device_files() -> Vec<String> {
    let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
    let names = fs::read_dir("/dev")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(name);
    let mut names: Vec<_> = names.filter(|name| name.starts_with("nvidia")).collect();
    names.sort();
    let is_gpu = |name: &String| name["nvidia".len()..].parse::<u32>().is_ok();
    match names.iter().any(is_gpu) {
        true => {
            let is_file =
                |name: &String| is_gpu(name) || name == "nvidiactl" || name == "nvidia-uvm";
            let names = names.into_iter().filter(is_file);
            names.map(|name| format!("/dev/{name}")).collect()
        }
        false => Vec::new(),
    }
}

fn is_forbidden(file: &String) -> bool {
    let opened = OpenOptions::new().read(true).write(true).open(file);
    opened.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}

impl Place {
    fn here() -> Place {
        let exists = |path: &str| Path::new(path).exists();
        let is_set = |name: &str| std::env::var_os(name).is_some();
        match () {
            _ if !cfg!(target_os = "linux") => Place::Other,
            _ if is_set("KUBERNETES_SERVICE_HOST") => Place::Pod,
            _ if exists("/.dockerenv") || exists("/run/.containerenv") || is_set("container") => {
                Place::Container
            }
            _ if exists("/dev/dxg") => Place::Wsl,
            _ => Place::Linux,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_the_kernel_module_is_found() {
        for (text, version) in [
            (
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024\n\
                 GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n",
                Some("550.54.14"),
            ),
            (
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86  Release Build\n",
                Some("570.86"),
            ),
            ("NVRM version: unknown\nGCC version: 12.2.0\n", None),
            ("", None),
        ] {
            assert_eq!(module_version(text).as_deref(), version);
        }
    }
}
