//! The CPU and its memory.

use sysinfo::{CpuRefreshKind, RefreshKind, System};

/// The host's properties, as far as the system tells them.
pub struct Host {
    /// The CPU's product name.
    pub name: Option<String>,
    /// Physical cores.
    pub cores: Option<usize>,
    pub memory_free: Option<u64>,
    pub memory_total: Option<u64>,
}

/// Returns the bytes that the host's memory has for new allocations, if the system tells: within
/// the limit of a container.
pub fn free_memory() -> Option<u64> {
    let mut system = System::new().ok()?;
    system.refresh_memory();
    free(&system)
}

fn free(system: &System) -> Option<u64> {
    let limit = system.cgroup_limits().map(|limits| limits.free_memory);
    let free = system.available_memory().min(limit.unwrap_or(u64::MAX));
    (free > 0).then_some(free)
}

impl Host {
    pub fn now() -> Host {
        let nothing = Host {
            name: None,
            cores: None,
            memory_free: None,
            memory_total: None,
        };
        let Ok(mut system) = System::new() else {
            return nothing;
        };
        system.refresh_specifics(RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing()));
        system.refresh_memory();
        let name = system
            .cpus()
            .first()
            .map(|cpu| cpu.brand().trim().to_owned());
        let known = |bytes: u64| (bytes > 0).then_some(bytes);
        Host {
            name: name.filter(|name| !name.is_empty()),
            cores: System::physical_core_count().ok(),
            memory_free: free(&system),
            memory_total: known(system.total_memory()),
        }
    }
}
