//! Progress bars on stderr, all of one style.
//!
//! A bar appears on a terminal once its work has lasted a second, and goes when the work is done.
//! With `--quiet`, and with `--json` in a pipe, no bar is shown.

use std::io::{IsTerminal, stderr, stdout};
use std::path::Path;
use std::thread;
use std::time::Duration;

use files::Monitor;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::report::{Mode, mode, warn};

/// Work that is shorter has no bar.
const DELAY: Duration = Duration::from_secs(1);

/// The time between two drawings of a bar.
const TICK: Duration = Duration::from_millis(100);

/// The width of the name of the work.
const NAME: &str = "{msg:>11}";

/// The texts of a bar of bytes: with a known total, and without.
const BYTES: [&str; 2] = [
    "{bytes} of {total_bytes}, {bytes_per_sec}",
    "{bytes}, {bytes_per_sec}",
];

/// Returns a bar of bytes that are read or written. A `total` of 0 is unknown.
pub fn bytes(name: &'static str, total: u64) -> ProgressBar {
    start(bar(name, total, BYTES[0], BYTES[1]))
}

/// Returns a monitor of files that are read. It shows their bytes in a bar, and prints warnings.
pub fn monitor(bar: &ProgressBar) -> Monitor {
    let bar = bar.clone();
    Monitor::new(move |bytes| bar.inc(bytes), warn)
}

/// Reads files with a bar of their bytes.
pub fn reading<V>(
    paths: impl IntoIterator<Item: AsRef<Path>>,
    read: impl FnOnce(&Monitor) -> V,
) -> V {
    let bar = bytes("reading", total_size(paths));
    let value = read(&monitor(&bar));
    bar.finish_and_clear();
    value
}

/// Returns what shows the time, and what its prefix says, until [`show_bytes`] makes it a bar.
pub fn without_extent(name: &'static str) -> ProgressBar {
    start(bar(name, 0, "", "{elapsed}{prefix}"))
}

/// Makes what [`without_extent`] has returned a bar of bytes. A `total` of 0 is unknown.
pub fn show_bytes(bar: &ProgressBar, total: u64) {
    let (template, total) = template(total, BYTES[0], BYTES[1]);
    if let Some(total) = total {
        bar.set_length(total);
    }
    bar.set_style(style(&template));
}

/// Returns a bar of items, of which `unit` is the plural.
pub fn count(name: &'static str, total: u64, unit: &str) -> ProgressBar {
    let known = format!("{{human_pos}} of {{human_len}} {unit}, {{per_sec}}");
    let unknown = format!("{{human_pos}} {unit}, {{per_sec}}");
    start(bar(name, total, &known, &unknown))
}

/// Does work whose extent is unknown, with its name and the time so far instead of a bar.
pub fn phase<V>(name: &'static str, work: impl FnOnce() -> V) -> V {
    let bar = spinner(name);
    let value = work();
    bar.finish_and_clear();
    value
}

/// Returns what [`phase`] shows, for work of several parts. `set_message` names the next part.
pub fn spinner(name: &'static str) -> ProgressBar {
    start(bar(name, 0, "", "{elapsed}"))
}

/// Returns the bytes of all those files that have a size.
pub fn total_size(paths: impl IntoIterator<Item: AsRef<Path>>) -> u64 {
    let size = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
    paths.into_iter().map(|path| size(path.as_ref())).sum()
}

/// Returns a hidden bar.
fn bar(name: &'static str, total: u64, known: &str, unknown: &str) -> ProgressBar {
    let (template, total) = template(total, known, unknown);
    ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden())
        .with_style(style(&template))
        .with_message(name)
}

fn template(total: u64, known: &str, unknown: &str) -> (String, Option<u64>) {
    match total {
        0 => (format!("{NAME} {{spinner}} {unknown}"), None),
        _ => (
            format!("{NAME} [{{bar:32}}] {known}, {{eta}} left"),
            Some(total),
        ),
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).expect("the templates are valid");
    style.progress_chars("=> ")
}

/// Shows a bar after a while, if it is still in use.
fn start(bar: ProgressBar) -> ProgressBar {
    let is_read = match mode() {
        Mode::Table => true,
        Mode::Json => stdout().is_terminal(),
        Mode::Quiet => false,
    };
    if is_read && stderr().is_terminal() {
        let later = bar.downgrade();
        let show = move || {
            thread::sleep(DELAY);
            if let Some(bar) = later.upgrade().filter(|bar| !bar.is_finished()) {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                bar.enable_steady_tick(TICK);
            }
        };
        // Without a thread there is no bar.
        let _ = thread::Builder::new().name("progress".into()).spawn(show);
    }
    bar
}

#[cfg(test)]
mod tests {
    use indicatif::InMemoryTerm;

    use super::*;

    /// Returns the text of a bar in the middle of its work.
    fn shown(bar: &ProgressBar, position: u64) -> String {
        let terminal = InMemoryTerm::new(4, 120);
        bar.set_draw_target(ProgressDrawTarget::term_like(Box::new(terminal.clone())));
        bar.set_position(position);
        bar.force_draw();
        let shown = terminal.contents();
        bar.finish_and_clear();
        assert_eq!(terminal.contents(), "");
        shown
    }

    #[test]
    fn bars_show_the_name_the_rate_and_the_remaining_time() {
        let text = shown(&bytes("reading", 3 << 20), 1 << 20);
        assert!(text.starts_with("    reading [=========="), "{text}");
        assert!(text.contains("] 1.00 MiB of 3.00 MiB, "), "{text}");
        assert!(text.contains("/s, ") && text.ends_with(" left"), "{text}");
        let text = shown(&count("writing", 9000, "pairs"), 4500);
        assert!(text.contains("] 4,500 of 9,000 pairs, "), "{text}");
    }

    #[test]
    fn without_a_total_the_name_and_the_time_are_shown() {
        let text = shown(&bytes("reading", 0), 1 << 20);
        assert!(
            text.contains(" 1.00 MiB, ") && !text.contains("left"),
            "{text}"
        );
        let bar = without_extent("sketching");
        bar.set_prefix(", 12 letters");
        let text = shown(&bar, 0);
        assert!(
            text.contains("s, 12 letters") && !text.contains("left"),
            "{text}"
        );
        let bar = without_extent("sketching");
        show_bytes(&bar, 3 << 20);
        let text = shown(&bar, 1 << 20);
        assert!(text.contains("] 1.00 MiB of 3.00 MiB, "), "{text}");
        let text = shown(&spinner("sorting"), 0);
        assert!(text.starts_with("    sorting "), "{text}");
    }
}
