//! The places of panics in kernels.

use cuda_std::host::is_inside_kernel;
use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, PanicHookInfo};
use std::sync::Once;

use crate::error::{Place, SimError};
use crate::spin;

thread_local! {
    static SITE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Records where kernels panic, and does not print it: the error of the launch says it. Panics
/// outside of kernels go to the previous panic hook, and so do those that end the process: a second
/// one while a thread unwinds, those that do not unwind, such as the misaligned accesses that builds
/// with debug assertions find, and all of them with `panic = "abort"`. The thread is printed before.
pub(crate) fn watch() {
    static HOOK: Once = Once::new();
    if std::thread::panicking() {
        // A hook cannot be set meanwhile.
        return;
    }
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !is_inside_kernel() {
                return previous(info);
            }
            if cfg!(panic = "abort") || is_fatal(info) {
                // No error of the launch can say it.
                if let Some(place) = spin::place() {
                    eprintln!("the simulator: {place} ends the process:");
                }
                return previous(info);
            }
            // The first panic has not been taken: the thread unwinds, and this one aborts.
            if let Some(site) = SITE.take() {
                eprintln!("a panic at {site}, and while it unwound:");
                return previous(info);
            }
            SITE.set(info.location().map(ToString::to_string));
        }));
    });
}

/// Whether a panic does not unwind, which the standard library tells by its messages alone: in a
/// function that cannot unwind, and where a debug build finds undefined behaviour.
fn is_fatal(info: &PanicHookInfo) -> bool {
    let starts = |start| {
        info.payload_as_str()
            .is_some_and(|message| message.starts_with(start))
    };
    [
        "unsafe precondition(s) violated",
        "panic in a function that cannot unwind",
        "panic in a destructor during cleanup",
        "misaligned pointer dereference",
        "null pointer dereference",
        "trying to construct an enum from an invalid value",
    ]
    .into_iter()
    .any(starts)
}

/// Returns the error for the panic that a thread just unwound with.
pub(crate) fn error(place: Place, payload: &(dyn Any + Send)) -> SimError {
    let message = if let Some(message) = payload.downcast_ref::<&str>() {
        (*message).to_owned()
    } else if let Some(message) = payload.downcast_ref::<String>() {
        message.clone()
    } else {
        "with a payload that is not text".to_owned()
    };
    let site = SITE.take();
    SimError::Panic {
        place,
        site,
        message,
    }
}
