//! Why devices cannot be used, and what to do about it.

use gridstride::Error;
use gridstride::device::DriverState;
use serde::Serialize;

use super::facts::{Facts, Place};

/// The oldest driver that reads the kernels' PTX, version 7.0, as the CUDA version that it supports.
const OLDEST_DRIVER: (u32, u32) = (11, 0);

/// The oldest driver that reads the kernels of compute capability 9.0, PTX 8.0.
const OLDEST_DRIVER_FOR_9_0: (u32, u32) = (12, 0);

/// The oldest GPUs that the kernels run on.
const OLDEST_GPU: (u32, u32) = (7, 0);

/// Codes of the driver.
const STUB_LIBRARY: u32 = 34;
const NO_DEVICE: u32 = 100;
const INVALID_DEVICE: u32 = 101;
const SYSTEM_NOT_READY: u32 = 802;
const SYSTEM_DRIVER_MISMATCH: u32 = 803;
const COMPAT_NOT_SUPPORTED: u32 = 804;

/// A device that cannot be used, or can be used in part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The device: `cuda` for all GPUs, or for example `cuda:0`.
    pub device: String,
    /// A sentence.
    pub reason: String,
    /// A sentence, or several.
    pub remedy: String,
}

impl Problem {
    fn new(reason: impl Into<String>, remedy: impl Into<String>) -> Problem {
        Problem {
            device: "cuda".into(),
            reason: reason.into(),
            remedy: remedy.into(),
        }
    }

    fn of(self, device: String) -> Problem {
        Problem { device, ..self }
    }
}

/// Returns the problem of a device that does not open although the driver works.
pub fn unusable(device: &str, error: &Error) -> Problem {
    let (reason, remedy) = match error {
        Error::Unavailable { reason, .. } if reason.contains("feature") => (
            sentence(reason),
            "Build it with its default features: cargo install --path cli.",
        ),
        Error::Unavailable { reason, .. } => (sentence(reason), BUSY),
        error => (sentence(&error.to_string()), BUSY),
    };
    Problem::new(reason, remedy).of(device.into())
}

/// Returns the problem of a device whose copies cannot be measured.
pub fn unmeasured(device: &str, error: &Error) -> Problem {
    let reason = format!("The copies could not be measured: {error}");
    let remedy = match device.starts_with("cuda") {
        true => BUSY,
        false => "Close programs that hold memory, or leave out --measure.",
    };
    Problem::new(sentence(&reason), remedy).of(device.into())
}

const BUSY: &str = "See in nvidia-smi whether another program holds the GPU or its memory, whether its compute mode \
                    is exclusive, and whether it has errors.";

/// Returns why GPUs cannot be used; empty if all can be.
pub fn diagnose(facts: &Facts) -> Vec<Problem> {
    match &facts.state {
        DriverState::NotBuilt => vec![Problem::new(
            "This program was built without its feature cuda.",
            "Build it with its default features: cargo install --path cli.",
        )],
        DriverState::Missing { reason } => vec![without_library(facts, reason)],
        DriverState::Failed { code, reason } => vec![without_start(facts, *code, reason)],
        DriverState::Ready { gpus: 0 } => vec![without_gpus(facts)],
        DriverState::Ready { gpus } => with_gpus(facts, *gpus),
        other => vec![Problem::new(
            format!("The driver is in an unknown state: {other:?}."),
            "Run nvidia-smi.",
        )],
    }
}

/// The driver's library cannot be loaded.
fn without_library(facts: &Facts, reason: &str) -> Problem {
    // The other names that were tried are not there for the same reason.
    let reason = sentence(reason.split("; ").next().unwrap_or(reason));
    if let Some(remedy) = start_with_gpus(facts.place) {
        let what = match facts.module_version {
            Some(_) => "The container has no access to the driver of its host",
            None => "The container has no access to GPUs, or its host has none",
        };
        return Problem::new(format!("{what}: {}", lowered(&reason)), remedy);
    }
    match (facts.place, &facts.module_version, facts.gpus_on_bus) {
        (Place::Wsl, ..) => Problem::new(
            reason,
            "Install the NVIDIA driver in Windows, not in Linux, and restart the subsystem: wsl --shutdown.",
        ),
        (_, Some(version), _) => Problem::new(
            format!(
                "The driver's kernel module {version} is loaded, but not its library: {}",
                lowered(&reason)
            ),
            format!(
                "Install the library libcuda.so.1 of the same version {version} (Debian: libcuda1, Ubuntu: \
                 libnvidia-compute), or name its folder in LD_LIBRARY_PATH."
            ),
        ),
        (_, None, Some(0)) => Problem::new(
            "There is no NVIDIA GPU on the PCI bus.",
            "The CPU works without further steps. If a GPU is built in, check that it has power and is enabled in \
             the firmware, or in a virtual machine that it is passed through.",
        ),
        (Place::Linux, None, Some(count)) => Problem::new(
            format!(
                "{} on the PCI bus, but no driver: {}",
                match count {
                    1 => "There is 1 NVIDIA GPU".to_owned(),
                    _ => format!("There are {count} NVIDIA GPUs"),
                },
                lowered(&reason)
            ),
            "Install the NVIDIA driver (Debian: apt install nvidia-driver, Ubuntu: ubuntu-drivers install), and \
             restart the machine.",
        ),
        _ => Problem::new(
            reason,
            "If the machine has an NVIDIA GPU, install its driver from https://www.nvidia.com/drivers, and restart \
             the machine.",
        ),
    }
}

/// The driver's library is there, but the driver does not start.
fn without_start(facts: &Facts, code: u32, reason: &str) -> Problem {
    let reason = sentence(&format!("the driver does not start: {reason}"));
    match code {
        NO_DEVICE | INVALID_DEVICE => without_gpus(facts),
        _ if !facts.forbidden_files.is_empty() => forbidden(&facts.forbidden_files),
        STUB_LIBRARY => Problem::new(
            reason,
            "The library found is the toolkit's stub for linking. Remove folders that end in /stubs from \
             LD_LIBRARY_PATH.",
        ),
        SYSTEM_NOT_READY => Problem::new(
            reason,
            "Start the fabric manager that connects the GPUs, of the driver's version: systemctl start \
             nvidia-fabricmanager.",
        ),
        SYSTEM_DRIVER_MISMATCH => Problem::new(
            reason,
            match start_with_gpus(facts.place) {
                Some(_) => {
                    "The driver's library in the container is not of the version of the host's kernel module: \
                     remove /usr/local/cuda/compat from LD_LIBRARY_PATH, and libcuda packages from the image."
                }
                None => {
                    "The driver's library and kernel module are of different versions, as they are after an \
                     update: restart the machine."
                }
            },
        ),
        COMPAT_NOT_SUPPORTED => Problem::new(
            reason,
            "The library found is that of forward compatibility, which this GPU does not support: remove \
             /usr/local/cuda/compat from LD_LIBRARY_PATH, or update the driver.",
        ),
        _ => Problem::new(
            reason,
            "See whether nvidia-smi works, and what the driver says in the system's log: dmesg | grep -i nvrm. A \
             restart of the machine or an update of the driver may help.",
        ),
    }
}

/// The driver works, and finds no GPUs.
fn without_gpus(facts: &Facts) -> Problem {
    if let Some(value) = &facts.visible
        && hides_all(value)
    {
        return Problem::new(
            format!("CUDA_VISIBLE_DEVICES={value:?} hides all GPUs."),
            "Unset the variable, or list GPUs in it by their numbers: CUDA_VISIBLE_DEVICES=0,1.",
        );
    }
    if !facts.forbidden_files.is_empty() {
        return forbidden(&facts.forbidden_files);
    }
    if let Some(value) = &facts.visible {
        return Problem::new(
            format!("The driver finds no GPU, and CUDA_VISIBLE_DEVICES is {value:?}."),
            "Unset the variable: numbers and names of GPUs that are not there hide all that follow.",
        );
    }
    match start_with_gpus(facts.place) {
        Some(remedy) if !facts.has_device_files => {
            return Problem::new("The container was started without GPUs.", remedy);
        }
        _ => {}
    }
    match (facts.gpus_on_bus, facts.has_device_files) {
        (Some(0), _) => Problem::new(
            "The driver is installed, but there is no NVIDIA GPU on the PCI bus.",
            "Check that the GPU has power and is enabled in the firmware, or in a virtual machine that it is \
             passed through.",
        ),
        (_, false) => Problem::new(
            "The driver finds no GPU, and there is no device file such as /dev/nvidia0.",
            "Load the kernel module and make the device files: sudo modprobe nvidia && sudo nvidia-modprobe -u -c 0.",
        ),
        _ => Problem::new(
            "The driver finds no GPU.",
            "See what nvidia-smi lists, and what the driver says in the system's log: dmesg | grep -i nvrm.",
        ),
    }
}

/// The driver works, and there are GPUs.
fn with_gpus(facts: &Facts, gpus: usize) -> Vec<Problem> {
    let mut problems = Vec::new();
    let shown = |(major, minor): (u32, u32)| format!("{major}.{minor}");
    let older = |oldest| facts.cuda_version.filter(|version| *version < oldest);
    if let Some(version) = older(OLDEST_DRIVER) {
        problems.push(Problem::new(
            format!(
                "The driver supports CUDA {} at most, and the kernels need {}.",
                shown(version),
                shown(OLDEST_DRIVER)
            ),
            "Update the NVIDIA driver to version 450 or newer.",
        ));
    }
    for &(ordinal, capability) in &facts.gpus {
        let of_gpu = |problem: Problem| problem.of(format!("cuda:{ordinal}"));
        if capability < OLDEST_GPU {
            problems.push(of_gpu(Problem::new(
                format!(
                    "The GPU has compute capability {}, and the kernels need {} or newer.",
                    shown(capability),
                    shown(OLDEST_GPU)
                ),
                "Use a GPU of the generation Volta or newer, or --device cpu.",
            )));
        } else if capability == (9, 0)
            && let Some(version) = older(OLDEST_DRIVER_FOR_9_0)
        {
            problems.push(of_gpu(Problem::new(
                format!(
                    "The driver supports CUDA {} at most, and matrix products on this GPU need {}.",
                    shown(version),
                    shown(OLDEST_DRIVER_FOR_9_0)
                ),
                "Update the NVIDIA driver to version 525 or newer.",
            )));
        }
    }
    if let (Some(value), Some(all)) = (&facts.visible, facts.gpus_on_bus)
        && gpus < all
    {
        problems.push(Problem::new(
            format!("CUDA_VISIBLE_DEVICES={value:?} shows {gpus} of the {all} GPUs."),
            "Unset the variable to use all of them.",
        ));
    }
    problems
}

/// Whether a value of `CUDA_VISIBLE_DEVICES` shows no GPU: those after a negative number are hidden.
fn hides_all(value: &str) -> bool {
    let first = value.split(',').next().unwrap_or_default().trim();
    first.is_empty() || first.starts_with('-') || first == "NoDevFiles" || first == "none"
}

fn forbidden(files: &[String]) -> Problem {
    let files = files.join(", ");
    Problem::new(
        format!("This user may not open {files}."),
        format!(
            "`ls -l {}` shows the group that may; join it: sudo usermod -aG GROUP $USER, then log in again. In a job \
             of a cluster, ask for a GPU.",
            files.replace(", ", " ")
        ),
    )
}

/// Returns how to start a container so that it has GPUs.
fn start_with_gpus(place: Place) -> Option<&'static str> {
    match place {
        Place::Container => Some(
            "Start the container with GPUs: docker run --gpus all, or podman run --device nvidia.com/gpu=all. The \
             host needs the NVIDIA driver and the NVIDIA Container Toolkit.",
        ),
        Place::Pod => Some(
            "Ask for a GPU in the container's resources: limits: {nvidia.com/gpu: 1}. The cluster needs NVIDIA's \
             device plugin.",
        ),
        Place::Linux | Place::Wsl | Place::Other => None,
    }
}

/// Begins with a capital, and ends with a stop.
fn sentence(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

/// The sentence as the end of another.
fn lowered(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_lowercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}

#[cfg(test)]
mod tests;
