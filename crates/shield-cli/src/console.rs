//! What the commands show: data on stdout, warnings and progress on stderr.

use std::fmt;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle, presets};
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use serde::Serialize;

use crate::failure::Failure;

/// How a command shows its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Tables for people.
    Tables,
    /// One JSON document for machines.
    Json,
}

/// Writes text to stdout. A reader that has gone away (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::ReaderGone),
        Err(error) => Err(Failure::failed(format!("cannot write to stdout: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Writes one JSON document to stdout.
pub(crate) fn print_json(document: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(document).map_err(Failure::failed)?;
    print(&(text + "\n"))
}

/// Writes a warning to stderr.
pub(crate) fn warn(text: &str) {
    eprintln!("warning: {text}");
}

/// Writes a remark to stderr.
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}

/// Says what to do next, on stderr, where a person reads along.
pub(crate) fn next(output: Output, text: &str) {
    if output == Output::Tables {
        eprintln!("next: {text}");
    }
}

/// Lines above, below and under the header, none between rows.
const FRAME: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

/// A table with a header, in a light frame; the first column to the left, the others to the right.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(FRAME).set_content_arrangement(ContentArrangement::Dynamic).set_header(header);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

/// A table of names and values, without a header.
pub(crate) fn properties(rows: &[(&str, String)]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    for (name, value) in rows {
        table.add_row([*name, value]);
    }
    table.trim_fmt() + "\n"
}

/// Becomes true when the user presses Ctrl-C, so that a long search can end with what it has. A
/// second Ctrl-C ends the program at once.
pub(crate) fn interruption() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::failed)?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            if tokio::signal::ctrl_c().await.is_ok() {
                flag.store(true, Ordering::Relaxed);
                note("stopping; press Ctrl-C again to end at once");
            }
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(130);
            }
        });
    });
    Ok(interrupted)
}

/// How often progress is written to a log.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// Writes a line on stderr every ten seconds until the bar is finished: for logs.
fn log(bar: &ProgressBar, what: &'static str) {
    let bar = bar.downgrade();
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(LOG_EVERY);
            let Some(bar) = bar.upgrade().filter(|bar| !bar.is_finished()) else { return };
            let (done, all) = (bar.position(), bar.length().unwrap_or(0));
            match time_left(bar.elapsed(), done, all) {
                Some(left) => note(&format!("{what}: {done} of {all}, {} s left", left.as_secs())),
                None => note(&format!("{what}: {done} of {all}")),
            }
        }
    });
}

/// How long the rest takes at the mean pace so far; `None` before the first step. (The library's
/// own estimate follows the pace of the last moments, and after a long step says that millions of
/// seconds are left.)
fn time_left(elapsed: Duration, done: u64, all: u64) -> Option<Duration> {
    (done > 0).then(|| elapsed.mul_f64(all.saturating_sub(done) as f64 / done as f64))
}

/// A progress bar over a known amount of work. Where stderr is no terminal, a line every ten
/// seconds takes its place.
pub(crate) fn progress(steps: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(steps);
    if !io::stderr().is_terminal() {
        log(&bar, what);
    }
    let left = |state: &ProgressState, out: &mut dyn fmt::Write| {
        let left = time_left(state.elapsed(), state.pos(), state.len().unwrap_or(0));
        // What cannot be written is not shown.
        let _ = left.map_or(Ok(()), |left| write!(out, "{:#}", HumanDuration(left)));
    };
    let style = ProgressStyle::with_template("{msg:>12} [{wide_bar}] {pos}/{len} {left:>4}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("left", left);
    bar.set_style(style.progress_chars("=> "));
    bar.set_message(what);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// A spinner for work of unknown length; shown only where stderr is a terminal.
pub(crate) fn spinner(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_message(what);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// What stands beside every figure that depends on the votes.
pub(crate) const DO_NOT_PUBLISH: &str = "depends on the votes: must not be published";

/// A share as a percentage with two decimals.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.2}%", 100.0 * share)
}

/// A duration in the unit in which it reads best.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s >= 100.0 => format!("{s:.0} s"),
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.1} us", s * 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_follows_the_mean_pace() {
        let left = |done| time_left(Duration::from_secs(30), done, 12).map(|left| left.as_secs());
        assert_eq!([left(0), left(3), left(12)], [None, Some(90), Some(0)]);
    }
}
