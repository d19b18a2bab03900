//! Checks the host's memory before allocations, and makes errors of all kinds of memory.
//!
//! Systems that overcommit grant any allocation, and kill the process when it writes to more pages
//! than there is memory. So large allocations are compared with the free memory first.

use super::MemoryKind;
use crate::{Error, Result};

/// The smallest allocation in bytes that is checked. A check reads a few files of `/proc` and
/// `/sys`, which takes 0.2 ms. Making the pages of such an allocation takes tens of times longer.
const LARGE: u64 = 64 << 20;

/// The operation in memory errors until the public operation replaces it by its name.
const ALLOCATION: &str = "allocation";

/// The memory of a device, or the host's RAM and swap space, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryState {
    pub free: u64,
    pub total: u64,
}

/// Refuses allocations of `bytes` bytes in all if the machine, or the process's control group, has
/// less memory left.
#[doc(hidden)]
pub fn require_available(bytes: usize) -> Result<()> {
    let bytes = bytes as u64;
    match bytes < LARGE {
        true => Ok(()),
        false => refuse_beyond(MemoryState::now(), bytes),
    }
}

/// Refuses allocations larger than the free memory. Grants all if the free memory is unknown.
fn refuse_beyond(memory: Option<MemoryState>, bytes: u64) -> Result<()> {
    match memory {
        Some(state) if bytes > state.free => Err(no_memory(MemoryKind::Host, bytes, memory)),
        _ => Ok(()),
    }
}

/// Returns the error of an allocation of `requested` bytes.
pub fn no_memory(memory: MemoryKind, requested: u64, state: Option<MemoryState>) -> Error {
    Error::Allocation {
        operation: ALLOCATION,
        memory,
        requested,
        free: state.map(|state| state.free),
        total: state.map(|state| state.total),
    }
}

impl MemoryState {
    /// Returns the host's memory at present; `None` if the system does not report it.
    #[cfg(target_os = "linux")]
    fn now() -> Option<MemoryState> {
        use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

        let mut system = System::new().ok()?;
        system.refresh_memory();
        let machine = MemoryState {
            free: system.available_memory() + system.free_swap(),
            total: system.total_memory() + system.total_swap(),
        };
        let process = sysinfo::get_current_pid().ok()?;
        system.refresh_processes_specifics(
            ProcessesToUpdate::Some(&[process]),
            false,
            // Otherwise sysinfo reads a file per thread of the process.
            ProcessRefreshKind::nothing().without_tasks(),
        );
        let limits = (system.process(process)).and_then(|process| process.cgroup_limits());
        Some(match limits {
            Some(limits) => machine.within(limits.total_memory, limits.rss, system.free_swap()),
            None => machine,
        })
    }

    /// Other systems bound their overcommitment, or do not report their memory.
    #[cfg(not(target_os = "linux"))]
    fn now() -> Option<MemoryState> {
        None
    }

    /// Returns the memory of a control group with `limit` bytes of RAM whose processes use `used`
    /// bytes. Limits of swap space, and limits that the group shares with others, are unknown here.
    ///
    /// Cached files count against the limit, but not here, because allocations evict them.
    #[cfg(any(target_os = "linux", test))]
    fn within(self, limit: u64, used: u64, free_swap: u64) -> MemoryState {
        MemoryState {
            free: (self.free).min(limit.saturating_sub(used).saturating_add(free_swap)),
            total: self.total.min(limit.saturating_add(free_swap)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: MemoryState = MemoryState {
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
        let expected = MemoryState {
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
        let error = no_memory(MemoryKind::Host, u64::MAX, None).during("matmul");
        assert_eq!(
            error.to_string(),
            "matmul: the host cannot allocate more bytes than the address space has"
        );
    }

    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore = "miri does not have what sysinfo asks the system")]
    #[test]
    fn the_system_says_what_it_has() {
        let memory = MemoryState::now().unwrap();
        assert!(0 < memory.free && memory.free <= memory.total, "{memory:?}");
        assert!(require_available(usize::MAX).is_err());
    }
}
