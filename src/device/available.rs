//! How much more memory the host can give.
//!
//! Systems that overcommit grant any allocation, and end the process once its pages are written to and there is nothing
//! left to make them of. So the machine is asked before a large allocation.

use super::MemoryKind;
use crate::{Error, Result};

/// The smallest allocation in bytes before which the machine is asked. Asking reads a few files of `/proc` and
/// `/sys`, which takes a fifth of a millisecond; making the pages of such an allocation takes tens of times that.
const LARGE: u64 = 64 << 20;

/// The name of an allocation in errors, until the public operation puts its own name there.
pub const ALLOCATION: &str = "allocation";

/// Memory of the host, in bytes: RAM and swap space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemMemory {
    pub free: u64,
    pub total: u64,
}

/// Refuses allocations of `bytes` bytes together if the machine, or the control group that the process is in, has
/// less left.
///
/// # Errors
/// [`Error::Allocation`].
pub fn require_available(bytes: usize) -> Result<()> {
    let bytes = bytes as u64;
    match bytes < LARGE {
        true => Ok(()),
        false => refuse_beyond(SystemMemory::now(), bytes),
    }
}

/// Refuses allocations larger than the free memory. Grants all where that is unknown.
fn refuse_beyond(memory: Option<SystemMemory>, bytes: u64) -> Result<()> {
    match memory {
        Some(memory) if bytes > memory.free => Err(no_host_memory(bytes, Some(memory))),
        _ => Ok(()),
    }
}

/// The error of the host's memory.
pub fn no_host_memory(requested: u64, memory: Option<SystemMemory>) -> Error {
    Error::Allocation {
        operation: ALLOCATION,
        memory: MemoryKind::Host,
        requested,
        free: memory.map(|memory| memory.free),
        total: memory.map(|memory| memory.total),
    }
}

impl SystemMemory {
    /// What the system says now; `None` if it does not say.
    #[cfg(target_os = "linux")]
    fn now() -> Option<SystemMemory> {
        use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

        let mut system = System::new().ok()?;
        system.refresh_memory();
        let machine = SystemMemory {
            free: system.available_memory() + system.free_swap(),
            total: system.total_memory() + system.total_swap(),
        };
        let process = sysinfo::get_current_pid().ok()?;
        system.refresh_processes_specifics(
            ProcessesToUpdate::Some(&[process]),
            false,
            // Each thread of the process would be one more file to read.
            ProcessRefreshKind::nothing().without_tasks(),
        );
        let limits = (system.process(process)).and_then(|process| process.cgroup_limits());
        Some(match limits {
            Some(limits) => machine.within(limits.total_memory, limits.rss, system.free_swap()),
            None => machine,
        })
    }

    /// Other systems do not overcommit without bounds, or do not say what they have.
    #[cfg(not(target_os = "linux"))]
    fn now() -> Option<SystemMemory> {
        None
    }

    /// The memory left within a control group with `limit` bytes of RAM, of which its processes use `used`. The group's own
    /// limit of swap space, and what its siblings use of a limit that they share, are not known here.
    ///
    /// Files that the system keeps in memory count against the limit, but not here: they give way to allocations.
    #[cfg(any(target_os = "linux", test))]
    fn within(self, limit: u64, used: u64, free_swap: u64) -> SystemMemory {
        SystemMemory {
            free: (self.free).min(limit.saturating_sub(used).saturating_add(free_swap)),
            total: self.total.min(limit.saturating_add(free_swap)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: SystemMemory = SystemMemory {
        free: 20 << 30,
        total: 32 << 30,
    };

    #[test]
    fn more_than_the_machine_has_left_is_refused() {
        assert!(refuse_beyond(Some(MACHINE), 20 << 30).is_ok());
        let error = refuse_beyond(Some(MACHINE), (20 << 30) + 1).unwrap_err();
        assert_eq!(
            error.during("distances").to_string(),
            "distances: the host cannot allocate 21474836481 bytes: 21474836480 of 34359738368 bytes are free"
        );
        assert!(refuse_beyond(None, u64::MAX).is_ok());
    }

    #[test]
    fn a_control_group_bounds_what_the_machine_has() {
        // 16 GiB of which 10 are in use, and 1 GiB of free swap space.
        let within = MACHINE.within(16 << 30, 10 << 30, 1 << 30);
        let expected = SystemMemory {
            free: 7 << 30,
            total: 17 << 30,
        };
        assert_eq!(within, expected);
        assert_eq!(MACHINE.within(64 << 30, 10 << 30, 0), MACHINE);
        assert_eq!(MACHINE.within(1 << 30, 2 << 30, 0).free, 0);
        assert_eq!(MACHINE.within(u64::MAX, 0, 1 << 30), MACHINE);
    }

    #[test]
    fn sizes_beyond_the_address_space_are_said_as_such() {
        let error = no_host_memory(u64::MAX, None).during("matmul");
        assert_eq!(
            error.to_string(),
            "matmul: the host cannot allocate more bytes than the address space has"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_says_what_it_has() {
        let memory = SystemMemory::now().unwrap();
        assert!(0 < memory.free && memory.free <= memory.total, "{memory:?}");
        assert!(require_available(usize::MAX).is_err());
    }
}
