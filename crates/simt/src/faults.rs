//! Accesses to memory that a thread does not have, and threads that use up their stack.
//!
//! The system answers them with a signal. The handler lets the thread's coroutine end at once, and
//! the launch fails with an error that names the thread. Signals from elsewhere go to the handler
//! that the process had before. On systems other than Linux on x86-64 and aarch64 nothing is handled.

/// A fault of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) cause: Cause,
    /// The places in the machine code of the calls that led to it, the innermost first.
    calls: [usize; CALLS],
}

/// The cause of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64"),
        not(miri)
    )),
    expect(dead_code, reason = "nothing is handled there")
)]
pub(crate) enum Cause {
    /// An access to memory; without an address if no memory can have it.
    Access {
        access: &'static str,
        address: Option<usize>,
    },
    /// The stack is used up.
    StackOverflow,
    /// The thread ran for too long without waiting for others.
    Spinning,
}

/// The number of calls that are remembered.
const CALLS: usize = 24;

impl Fault {
    /// Returns file and line in the kernel's source, or the address in the machine code.
    pub(crate) fn site(&self) -> String {
        let calls = self.calls.iter().copied().take_while(|&call| call != 0);
        crate::source::line_of_calls(calls)
    }
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
))]
mod system {
    use super::{CALLS, Cause, Fault};
    use crate::spin;
    use corosensei::trap::{CoroutineTrapHandler, TrapHandlerRegs};
    use cuda_std::host;
    use std::cell::Cell;
    use std::ffi::{c_int, c_void};
    use std::fmt::{self, Write as _};
    use std::mem::MaybeUninit;
    use std::ptr;
    use std::sync::{Once, OnceLock};

    /// The coroutine that runs.
    #[derive(Clone, Copy)]
    struct Watched {
        handler: CoroutineTrapHandler<()>,
        /// Whether the host unwinds.
        host_is_unwinding: bool,
    }

    thread_local! {
        static WATCHED: Cell<Option<Watched>> = const { Cell::new(None) };
        static HAS_FAULT: Cell<bool> = const { Cell::new(false) };
        static FAULT: Cell<Fault> = const {
            Cell::new(Fault {
                cause: Cause::StackOverflow,
                calls: [0; CALLS],
            })
        };
    }

    /// Runs a coroutine with `resume`. Returns its fault instead, if it has one: the coroutine has
    /// then ended, and what is on its stack is never dropped.
    pub(crate) fn watch<R>(
        handler: CoroutineTrapHandler<()>,
        resume: impl FnOnce() -> R,
    ) -> Result<R, Box<Fault>> {
        struct Unwatch;
        impl Drop for Unwatch {
            fn drop(&mut self) {
                WATCHED.set(None);
            }
        }
        WATCHED.set(Some(Watched {
            handler,
            host_is_unwinding: std::thread::panicking(),
        }));
        let unwatch = Unwatch;
        let result = resume();
        drop(unwatch);
        if !HAS_FAULT.get() {
            return Ok(result);
        }
        HAS_FAULT.set(false);
        Err(Box::new(FAULT.get()))
    }

    /// The handlers before, of SIGSEGV and SIGBUS.
    static BEFORE: OnceLock<[libc::sigaction; 2]> = OnceLock::new();

    const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

    /// Installs the handler, once for the process.
    pub(crate) fn install() {
        static INSTALL: Once = Once::new();
        INSTALL.call_once(|| {
            let before = SIGNALS.map(|signal| {
                let mut before = MaybeUninit::zeroed();
                // SAFETY: only asks for the present action, whose all-zero value is valid.
                unsafe {
                    libc::sigaction(signal, ptr::null(), before.as_mut_ptr());
                    before.assume_init()
                }
            });
            // The handler reads it, so it is set first.
            let _ = BEFORE.set(before);
            // SAFETY: all zeros are a valid action, with no signals blocked. The handler has the
            // signature that SA_SIGINFO asks for.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handle as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
                for signal in SIGNALS {
                    libc::sigaction(signal, &action, ptr::null_mut());
                }
            }
        });
    }

    /// The stack of the handler of a thread of the OS while this lives: the thread's own is that of a
    /// coroutine, which may be used up.
    pub(crate) struct SignalStack {
        before: libc::stack_t,
        _memory: Box<[MaybeUninit<u8>]>,
    }

    impl SignalStack {
        pub(crate) fn new() -> Option<Self> {
            /// Enough for the registers of all processors, and for walking up the calls.
            const BYTES: usize = 64 << 10;
            let mut memory = Box::new_uninit_slice(BYTES);
            let stack = libc::stack_t {
                ss_sp: memory.as_mut_ptr().cast(),
                ss_flags: 0,
                ss_size: BYTES,
            };
            let mut before = MaybeUninit::uninit();
            // SAFETY: the memory lives until `drop` has put the stack before back.
            let result = unsafe { libc::sigaltstack(&stack, before.as_mut_ptr()) };
            (result == 0).then(|| Self {
                // SAFETY: the call has succeeded, and then it has written the stack before.
                before: unsafe { before.assume_init() },
                _memory: memory,
            })
        }
    }

    impl Drop for SignalStack {
        fn drop(&mut self) {
            // SAFETY: the stack that the thread had before, which its owner keeps until the thread
            // ends.
            unsafe { libc::sigaltstack(&self.before, ptr::null_mut()) };
        }
    }

    unsafe extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: the system passes both to handlers with SA_SIGINFO.
        let (information, registers) =
            unsafe { (&*info, &mut *context.cast::<libc::ucontext_t>()) };
        if let Some(handled) = spin::is_request(information) {
            if handled && let Some(watched) = WATCHED.get() {
                end(watched, Cause::Spinning, registers);
            }
            return;
        }
        // The system's own faults have positive codes; those from other processes have none.
        if information.si_code > 0
            && let Some(watched) = WATCHED.get()
        {
            let address = match information.si_code {
                // No address, such as for those that are no addresses of the processor.
                SI_KERNEL => None,
                // SAFETY: faults have an address.
                _ => Some(unsafe { information.si_addr() } as usize),
            };
            // Of its own stack, a thread cannot access the page at the end.
            let is_in_stack = |address| watched.handler.stack_ptr_in_bounds(address);
            let cause = if address.is_some_and(is_in_stack) {
                Cause::StackOverflow
            } else {
                let access = access_of(registers);
                Cause::Access { access, address }
            };
            if end(watched, cause, registers) {
                return;
            }
        }
        if host::is_inside_kernel() {
            // Such as in a destructor while the thread unwinds.
            tell();
        }
        // SAFETY: the arguments are those of this handler.
        unsafe { go_on(signal, info, context) };
    }

    /// Prints which thread ends the process, as a handler may: without memory of the heap or locks.
    fn tell() {
        struct Line([u8; 400], usize);
        impl fmt::Write for Line {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                let rest = &mut self.0[self.1..];
                let count = text.len().min(rest.len());
                rest[..count].copy_from_slice(&text.as_bytes()[..count]);
                self.1 += count;
                Ok(())
            }
        }
        if let Some(place) = spin::place() {
            let mut line = Line([0; 400], 0);
            let text =
                "accessed memory that it does not have, or used up its stack, and cannot be ended";
            // It returns no error.
            let _ = writeln!(line, "the simulator: {place} {text}");
            // SAFETY: the line has these bytes.
            unsafe { libc::write(libc::STDERR_FILENO, line.0.as_ptr().cast(), line.1) };
        }
    }

    const SI_KERNEL: c_int = 0x80;

    /// Makes the coroutine end when the handler returns. Returns `false` if that is not possible.
    fn end(watched: Watched, cause: Cause, registers: &mut libc::ucontext_t) -> bool {
        let (instruction, stack) = place(registers);
        // A thread that unwinds cannot be ended: its panic is not over.
        let is_unwinding = std::thread::panicking() && !watched.host_is_unwinding;
        if is_unwinding
            || !watched.handler.stack_ptr_in_bounds(stack) && cause != Cause::StackOverflow
        {
            return false;
        }
        FAULT.set(Fault {
            cause,
            calls: calls_at(instruction),
        });
        HAS_FAULT.set(true);
        // Nothing runs on the coroutine between here and its end.
        WATCHED.set(None);
        // SAFETY: the coroutine runs, since it is watched, and the signal interrupted it, since the
        // stack pointer is in its stack or the stack is used up. The registers are set to the result.
        // corosensei also asks that the coroutine writes nothing but its own stack. Kernels do not keep
        // this: a lock (allocator, stdout) or `RefCell` (detector) held here stays held, so a later
        // launch may hang. Accepted, because otherwise the process would end.
        let values = unsafe { watched.handler.setup_trap_handler(|| ()) };
        set(registers, &values);
        true
    }

    /// Returns the places of the calls that led to an instruction, from within the handler.
    fn calls_at(instruction: usize) -> [usize; CALLS] {
        let mut calls = [0; CALLS];
        let (mut count, mut is_found) = (0, false);
        // SAFETY: no other thread's symbols are resolved here. Walking up the calls takes no memory of
        // the heap. It could wait for a thread that loads a library, but not for this one, whose code
        // is that of a kernel.
        unsafe {
            backtrace::trace_unsynchronized(|frame| {
                let place = frame.ip() as usize;
                if !is_found {
                    is_found = place == instruction;
                    if !is_found {
                        return true;
                    }
                }
                // Other calls have the address of the instruction behind them.
                calls[count] = if count == 0 { place + 1 } else { place };
                count += 1;
                count < CALLS
            });
        }
        if count == 0 {
            calls[0] = instruction + 1;
        }
        calls
    }

    /// Calls the handler that the process had before.
    ///
    /// # Safety
    /// The arguments are those of a handler.
    unsafe fn go_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        let index = usize::from(signal == SIGNALS[1]);
        let before = BEFORE.get().map(|before| before[index]);
        match before {
            Some(action) if !matches!(action.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) => {
                // SAFETY: the action's address is that of a function. Functions without SA_SIGINFO
                // take the first argument alone, and C lets them be called with more.
                unsafe {
                    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                        std::mem::transmute(action.sa_sigaction);
                    handler(signal, info, context);
                }
            }
            // SAFETY: all zeros are the default action. An access is made again after this handler, and
            // ends the process. A signal that was sent comes once, so it is sent again; it waits until
            // this handler has returned. `info` is that of the signal.
            _ => unsafe {
                let action: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, &action, ptr::null_mut());
                if (*info).si_code <= 0 {
                    libc::raise(signal);
                }
            },
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn place(registers: &libc::ucontext_t) -> (usize, usize) {
        let values = &registers.uc_mcontext.gregs;
        let [instruction, stack] = [libc::REG_RIP, libc::REG_RSP];
        (
            values[instruction as usize] as usize,
            values[stack as usize] as usize,
        )
    }

    #[cfg(target_arch = "aarch64")]
    fn place(registers: &libc::ucontext_t) -> (usize, usize) {
        let values = &registers.uc_mcontext;
        (values.pc as usize, values.sp as usize)
    }

    #[cfg(target_arch = "x86_64")]
    fn access_of(registers: &libc::ucontext_t) -> &'static str {
        /// The bit of a page fault's code that is set for writes.
        const IS_WRITE: i64 = 1 << 1;
        match registers.uc_mcontext.gregs[libc::REG_ERR as usize] & IS_WRITE {
            0 => "read",
            _ => "write",
        }
    }

    #[cfg(target_arch = "aarch64")]
    fn access_of(_registers: &libc::ucontext_t) -> &'static str {
        "access"
    }

    #[cfg(target_arch = "x86_64")]
    fn set(registers: &mut libc::ucontext_t, values: &TrapHandlerRegs) {
        let TrapHandlerRegs {
            rip,
            rsp,
            rbp,
            rdi,
            rsi,
        } = *values;
        let registers = &mut registers.uc_mcontext.gregs;
        for (register, value) in [
            (libc::REG_RIP, rip),
            (libc::REG_RSP, rsp),
            (libc::REG_RBP, rbp),
            (libc::REG_RDI, rdi),
            (libc::REG_RSI, rsi),
        ] {
            registers[register as usize] = value as i64;
        }
    }

    #[cfg(target_arch = "aarch64")]
    fn set(registers: &mut libc::ucontext_t, values: &TrapHandlerRegs) {
        let TrapHandlerRegs {
            pc,
            sp,
            x29,
            x0,
            x1,
            lr,
        } = *values;
        let registers = &mut registers.uc_mcontext;
        (registers.pc, registers.sp) = (pc, sp);
        registers.regs[0] = x0;
        registers.regs[1] = x1;
        registers.regs[29] = x29;
        registers.regs[30] = lr;
    }
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
)))]
mod system {
    use super::Fault;
    use corosensei::trap::CoroutineTrapHandler;

    pub(crate) fn watch<R>(
        _handler: CoroutineTrapHandler<()>,
        resume: impl FnOnce() -> R,
    ) -> Result<R, Box<Fault>> {
        Ok(resume())
    }

    pub(crate) fn install() {}

    pub(crate) struct SignalStack;

    impl SignalStack {
        pub(crate) fn new() -> Option<Self> {
            Some(Self)
        }
    }
}

pub(crate) use system::{SignalStack, install, watch};
