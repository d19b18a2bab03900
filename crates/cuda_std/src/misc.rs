//! Clocks, breakpoints and counters of profilers.

/// Stops the thread for a debugger. In the simulator it does nothing.
#[inline(always)]
pub fn breakpoint() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it touches no memory.
    unsafe {
        core::arch::asm!("brkpt;")
    }
}

/// Counts up a profiler's counter, 0 to 7. In the simulator it does nothing.
///
/// # Panics
/// If there is no such counter.
#[inline(always)]
pub fn profiler_counter(counter: u32) {
    assert!(counter <= 7, "a profiler has counters 0 to 7");
    #[cfg(target_arch = "nvptx64")]
    // The number of the counter is part of the instruction.
    // SAFETY: it touches no memory.
    unsafe {
        match counter {
            0 => core::arch::asm!("pmevent 0;"),
            1 => core::arch::asm!("pmevent 1;"),
            2 => core::arch::asm!("pmevent 2;"),
            3 => core::arch::asm!("pmevent 3;"),
            4 => core::arch::asm!("pmevent 4;"),
            5 => core::arch::asm!("pmevent 5;"),
            6 => core::arch::asm!("pmevent 6;"),
            _ => core::arch::asm!("pmevent 7;"),
        }
    }
}

/// Returns a counter of the multiprocessor's clock cycles; in the simulator, nanoseconds since the
/// first call.
#[inline(always)]
pub fn clock() -> u64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let cycles: u64;
        // SAFETY: it reads a special register.
        unsafe { core::arch::asm!("mov.u64 {}, %clock64;", out(reg64) cycles) };
        cycles
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        use std::sync::LazyLock;
        use std::time::Instant;
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed().as_nanos() as u64
    }
}
