//! The driver's errors in words, with what to do about them.

/// Returns a code's name, number and meaning, and what to do about it.
pub fn words(code: u32) -> String {
    let text = cust::driver::error_text(code);
    match remedy(code) {
        Some(remedy) => format!("{text}; {remedy}"),
        None => text,
    }
}

/// Returns what to do about an error whose own text does not say it.
fn remedy(code: u32) -> Option<&'static str> {
    Some(match code {
        // Not initialised, and shut down.
        3 | 4 => {
            "the driver does no more work for this process: restart the process, and look at the \
             system's log (dmesg) for messages of the driver"
        }
        // Unavailable.
        46 => {
            "another process may have the GPU for itself: `nvidia-smi` shows its processes and its \
             compute mode"
        }
        // No device, and an invalid one.
        100 | 101 => {
            "the driver shows this process no such GPU: see `nvidia-smi -L`, and check the names in \
             CUDA_VISIBLE_DEVICES and the permissions of /dev/nvidia*"
        }
        // Errors of memory, links and kernels, after which the driver refuses all work.
        214 | 220 | 700 | 702 | 709 | 710 | 714..=719 => {
            "this process cannot use the GPU any more, and has to be restarted for that; other \
             devices go on"
        }
        // PTX that is too new, or for another GPU.
        222 => "the driver is older than the kernels: install a newer driver",
        // The operating system, and permissions.
        304 | 800 => {
            "check the permissions of /dev/nvidia*, whether a container was given the GPU, and the \
             system's log (dmesg)"
        }
        // Missing functions have this code too.
        801 => "the driver may be too old: install a newer driver",
        // Not ready.
        802 => {
            "a service that the GPU needs may not run, such as NVIDIA's fabric manager: see its log"
        }
        // The library and the kernel module differ.
        803 => {
            "the driver's library and its kernel module have different versions: restart the \
             machine after an update of the driver"
        }
        // The compatibility package.
        804 => {
            "the driver's library comes from a CUDA compatibility package, which does not support \
             this GPU: remove the package from LD_LIBRARY_PATH, or update the driver"
        }
        _ => return None,
    })
}
