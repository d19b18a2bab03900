//! The CPU and its memory.

use sysinfo::{CGroupLimits, CpuRefreshKind, RefreshKind, System};

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
    let limit = system.cgroup_limits().map(|limits| left(&limits));
    let free = system.available_memory().min(limit.unwrap_or(u64::MAX));
    (free > 0).then_some(free)
}

/// Returns the bytes of a container's limit that its processes have not allocated. The usage that
/// `CGroupLimits::free_memory` subtracts includes cached files, which the system drops when memory is
/// needed. Files in the memory itself, as in /dev/shm, are not subtracted: sysinfo does not tell them
/// from cached files.
fn left(limits: &CGroupLimits) -> u64 {
    limits.total_memory.saturating_sub(limits.rss)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_files_leave_a_containers_memory_free() {
        let limits = |rss| CGroupLimits {
            total_memory: 1000,
            // The remaining 900 bytes are allocations and cached files.
            free_memory: 100,
            free_swap: 0,
            rss,
        };
        assert_eq!(left(&limits(300)), 700);
        assert_eq!(left(&limits(1001)), 0);
    }
}
