//! Messages on standard error.

use log::{Level, LevelFilter, Log, Metadata, Record};

struct Stderr;

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata) -> bool {
        // Ballista informs of much that only its developers need, and so do the libraries below.
        let target = metadata.target();
        let quiet = log::max_level() < LevelFilter::Debug;
        target.starts_with("gridstride")
            || target.starts_with("ballista") && (!quiet || metadata.level() <= Level::Warn)
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            eprintln!("{}: {}", record.level(), record.args());
        }
        if is_lost_report(record.target(), &record.args().to_string()) {
            // Ballista's executor forgets a report that it could not send, and the query would wait
            // for ever. The scheduler counts an executor that ends as lost and fails the query. This
            // message is the only sign of it that Ballista gives.
            eprintln!("ERROR: a finished task could not be reported to the scheduler: stopping");
            std::process::exit(1);
        }
    }

    fn flush(&self) {}
}

/// Whether a message says that the end of a task could not be reported to the scheduler.
fn is_lost_report(target: &str, message: &str) -> bool {
    target.starts_with("ballista_executor")
        && (message.starts_with("Fail to update tasks")
            || message.starts_with("Fail to connect to scheduler"))
}

/// The names of levels, the fewest messages first.
pub const LEVELS: [&str; 4] = ["error", "warn", "info", "debug"];

/// Writes messages of a [level](LEVELS) and more important ones to standard error. Another text is no
/// level and means none.
pub fn log_to_stderr(level: &str) {
    // An error means that a logger is set already.
    let _ = log::set_logger(&Stderr);
    log::set_max_level(level.parse().unwrap_or(LevelFilter::Off));
}

#[cfg(test)]
mod tests {
    use super::is_lost_report;

    #[test]
    fn a_report_that_was_not_sent_is_noticed() {
        let target = "ballista_executor::executor_server";
        assert!(is_lost_report(
            target,
            "Fail to update tasks [..] due to .."
        ));
        assert!(is_lost_report(
            target,
            "Fail to connect to scheduler a:1 due to .."
        ));
        assert!(!is_lost_report(
            target,
            "Fail to update heartbeat to scheduler a:1 due to .."
        ));
        assert!(!is_lost_report("gridstride", "Fail to update tasks"));
    }
}
