//! Reports of progress and of oddities while files are read.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Follows the reading of files: counts their bytes, and takes warnings.
///
/// Clones share the count and the callbacks, which are called on the threads that read. The default
/// only counts.
///
/// # Examples
/// ```
/// use std::io::Read;
///
/// use files::Monitor;
///
/// let monitor = Monitor::new(|_| (), |warning| eprintln!("warning: {warning}"));
/// let mut text = String::new();
/// files::open("Cargo.toml".as_ref(), &monitor)?.read_to_string(&mut text)?;
/// assert_eq!(monitor.bytes_read(), text.len() as u64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Monitor(Arc<Shared>);

struct Shared {
    bytes: AtomicU64,
    on_read: Box<dyn Fn(u64) + Send + Sync>,
    on_warning: Box<dyn Fn(&str) + Send + Sync>,
}

impl Monitor {
    /// Calls `on_read` with each number of bytes that are read, as they are in the files, and
    /// `on_warning` with sentences about doubtful files.
    pub fn new(
        on_read: impl Fn(u64) + Send + Sync + 'static,
        on_warning: impl Fn(&str) + Send + Sync + 'static,
    ) -> Monitor {
        Monitor(Arc::new(Shared {
            bytes: AtomicU64::new(0),
            on_read: Box::new(on_read),
            on_warning: Box::new(on_warning),
        }))
    }

    /// Returns the bytes that were read of all files, as they are in the files.
    pub fn bytes_read(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Adds bytes that were read.
    pub(crate) fn add(&self, bytes: u64) {
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        (self.0.on_read)(bytes);
    }

    /// Passes a warning on.
    pub(crate) fn warn(&self, sentence: &str) {
        (self.0.on_warning)(sentence);
    }
}

impl Default for Monitor {
    fn default() -> Monitor {
        Monitor::new(|_| (), |_| ())
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Monitor");
        debug.field("bytes_read", &self.bytes_read());
        debug.finish_non_exhaustive()
    }
}
