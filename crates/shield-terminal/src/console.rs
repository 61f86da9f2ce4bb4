//! What the commands show: data on stdout, warnings and progress on stderr.

use std::fmt::{self, Display};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle, presets};
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use serde::Serialize;
use serde_json::{Map, Value, json};
use shield_core::{Progress, Watch};
use terminal_size::{Width, terminal_size};

use crate::Failure;

/// How a command shows its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Tables for people.
    Tables,
    /// One JSON document for machines.
    Json,
}

/// Writes text to stdout. A reader that has gone away (`| head`) is no error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::ReaderGone),
        Err(error) => Err(Failure::failed(format!("cannot write to stdout: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Writes one JSON document to stdout.
pub fn print_json(document: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(document).map_err(Failure::failed)?;
    print(&(text + "\n"))
}

/// Writes a warning to stderr.
pub fn warn(text: &str) {
    eprintln!("warning: {text}");
}

/// Writes a remark to stderr.
pub fn note(text: &str) {
    eprintln!("{text}");
}

/// Says what to do next, on stderr, where a person reads along.
pub fn next(output: Output, text: &str) {
    if output == Output::Tables {
        eprintln!("next: {text}");
    }
}

/// Lines above, below and under the header, none between rows.
const FRAME: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

/// Wraps a table's cells where stdout is a terminal that is too narrow for it.
fn fit(table: &mut Table) {
    if let Some((Width(width), _)) = io::stdout().is_terminal().then(terminal_size).flatten() {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
}

/// A table with a header, in a light frame; the first column to the left, the others to the right.
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    fit(&mut table);
    filled(table, header, rows)
}

/// The same where cells wrap to keep within so many columns, wherever it is printed.
pub fn table_within(
    width: u16,
    header: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    filled(table, header, rows)
}

fn filled(
    mut table: Table,
    header: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    table.load_style(FRAME).set_header(header);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

/// A table of names and values, without a header.
pub fn properties(rows: &[(&str, String)]) -> String {
    let mut table = Table::new();
    fit(table.load_style(presets::NOTHING));
    for (name, value) in rows {
        table.add_row([*name, value]);
    }
    table.trim_fmt() + "\n"
}

/// What a command found: facts with a key for machines, a name and words for people, or both.
#[derive(Debug, Default)]
pub struct Report {
    document: Map<String, Value>,
    rows: Vec<(&'static str, String)>,
}

impl Report {
    /// A fact whose words are its value.
    #[must_use]
    pub fn fact(self, key: &str, name: &'static str, value: impl Display) -> Self {
        let words = value.to_string();
        self.said(key, words.clone(), name, words)
    }

    /// A fact with other words than its value.
    #[must_use]
    pub fn said(
        self,
        key: &str,
        value: impl Serialize,
        name: &'static str,
        words: impl Into<String>,
    ) -> Self {
        self.key(key, value).row(name, words)
    }

    /// A file that was written or is to be passed on.
    #[must_use]
    pub fn file(self, key: &str, name: &'static str, path: &Path) -> Self {
        self.fact(key, name, path.display())
    }

    /// A fact for machines alone.
    #[must_use]
    pub fn key(mut self, key: &str, value: impl Serialize) -> Self {
        self.document.insert(key.to_owned(), json!(value));
        self
    }

    /// The facts of a document, for machines alone.
    #[must_use]
    pub fn keys(mut self, document: &impl Serialize) -> Self {
        if let Value::Object(facts) = json!(document) {
            self.document.extend(facts);
        }
        self
    }

    /// Facts for people alone.
    #[must_use]
    pub fn rows(mut self, rows: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        self.rows.extend(rows);
        self
    }

    /// A fact for people alone.
    #[must_use]
    pub fn row(mut self, name: &'static str, words: impl Into<String>) -> Self {
        self.rows.push((name, words.into()));
        self
    }

    /// The facts for people, as a table.
    pub fn table(&self) -> String {
        properties(&self.rows)
    }

    /// Writes what was asked for to stdout.
    pub fn print(&self, output: Output) -> Result<(), Failure> {
        show(output, &self.document, &self.table())
    }
}

/// Writes the document or the text to stdout, as was asked for.
pub fn show(output: Output, document: &impl Serialize, text: &str) -> Result<(), Failure> {
    match output {
        Output::Json => print_json(document),
        Output::Tables => print(text),
    }
}

/// Becomes true when the user presses Ctrl-C, so that a long search can end with what it has. A
/// second Ctrl-C ends the program at once.
pub fn interruption() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    let pressed = move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        note("stopping; press Ctrl-C again to end at once");
    };
    ctrlc::set_handler(pressed).map_err(Failure::failed)?;
    Ok(interrupted)
}

/// How long the rest takes at the mean pace so far; `None` before the first step. (The library's
/// own estimate follows the pace of the last moments, and after a long step says that millions of
/// seconds are left.)
fn time_left(elapsed: Duration, done: u64, all: u64) -> Option<Duration> {
    let enough = done >= FIRST_STEPS.min(all.div_ceil(2)) && done > 0;
    enough.then(|| elapsed.mul_f64(all.saturating_sub(done) as f64 / done as f64))
}

/// So many steps are done before a pace is told from them.
const FIRST_STEPS: u64 = 20;

/// What is said of the time left: nothing that rises.
#[derive(Debug, Default)]
struct Estimate {
    elapsed: Duration,
    least: Option<Duration>,
}

impl Estimate {
    /// The estimate at hand, unless it exceeds an earlier one of the same stage; then nothing is
    /// known. The clock of every stage starts at 0.
    fn tell(&mut self, elapsed: Duration, left: Option<Duration>) -> Option<Duration> {
        if elapsed < self.elapsed {
            self.least = None;
        }
        self.elapsed = elapsed;
        let left = left?;
        let risen = self.least.is_some_and(|least| left > least);
        self.least = Some(self.least.map_or(left, |least| least.min(left)));
        (!risen).then_some(left)
    }
}

/// Does some work while a bar on stderr shows what it tells of its progress, or a spinner until it
/// tells anything. Where stderr is no terminal, a line every ten seconds takes the bar's place.
pub fn watched<T>(what: &str, work: impl FnOnce(&Watch) -> T) -> T {
    watched_until(what, || false, work)
}

/// The same; the work is told to stop as soon as something is so.
pub fn watched_until<T>(
    what: &str,
    stop: impl Fn() -> bool + Send + Sync + 'static,
    work: impl FnOnce(&Watch) -> T,
) -> T {
    let bar = ProgressBar::new_spinner().with_message(what.to_owned());
    if !io::stderr().is_terminal() {
        log(&bar);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    let shown = bar.clone();
    let found = work(&Watch::new(move |now| {
        advance(&shown, now);
        if stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }));
    bar.finish_and_clear();
    found
}

/// Shows where work stands.
fn advance(bar: &ProgressBar, now: &Progress) {
    if bar.length().is_none() {
        let estimate = Arc::new(Mutex::new(Estimate::default()));
        let left = move |state: &ProgressState, out: &mut dyn fmt::Write| {
            let left = time_left(state.elapsed(), state.pos(), state.len().unwrap_or(0));
            let mut estimate = estimate.lock().unwrap_or_else(PoisonError::into_inner);
            let left = estimate.tell(state.elapsed(), left);
            // What cannot be written is not shown.
            let _ = left.map_or(Ok(()), |left| write!(out, "{:#}", HumanDuration(left)));
        };
        let style = ProgressStyle::with_template("{msg:>15} [{wide_bar}] {pos}/{len} {left:>4}")
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .with_key("left", left);
        bar.set_style(style.progress_chars("=> "));
    }
    if !now.stage.is_empty() && bar.message() != now.stage {
        bar.set_message(now.stage.clone());
        bar.reset_elapsed();
    }
    bar.set_length(now.of);
    bar.set_position(now.done);
}

/// How often progress is written to a log.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// Writes a line on stderr every ten seconds until the bar is finished: for logs.
fn log(bar: &ProgressBar) {
    let bar = bar.downgrade();
    std::thread::spawn(move || {
        let (start, mut estimate) = (Instant::now(), Estimate::default());
        loop {
            std::thread::sleep(LOG_EVERY);
            let Some(bar) = bar.upgrade().filter(|bar| !bar.is_finished()) else { return };
            let what = bar.message();
            let Some(all) = bar.length() else {
                note(&format!("{what}: {} s so far", start.elapsed().as_secs()));
                continue;
            };
            let done = bar.position();
            match estimate.tell(bar.elapsed(), time_left(bar.elapsed(), done, all)) {
                Some(left) => note(&format!("{what}: {done} of {all}, {} s left", left.as_secs())),
                None => note(&format!("{what}: {done} of {all}")),
            }
        }
    });
}

/// What stands beside every figure that depends on the votes.
pub const DO_NOT_PUBLISH: &str = "depends on the votes: must not be published";

/// A share as a percentage with two decimals.
pub fn percent(share: f64) -> String {
    format!("{:.2}%", 100.0 * share)
}

/// A duration in the unit in which it reads best.
pub fn duration(seconds: f64) -> String {
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
        assert_eq!([left(0), left(3), left(6), left(12)], [None, None, Some(30), Some(0)]);
    }

    #[test]
    fn the_time_left_never_rises_within_a_stage() {
        let (mut estimate, seconds) = (Estimate::default(), Duration::from_secs);
        let mut tell = |elapsed, left| estimate.tell(seconds(elapsed), Some(seconds(left)));
        assert_eq!(tell(5, 20), Some(seconds(20)));
        assert_eq!((tell(10, 40), tell(12, 21)), (None, None));
        assert_eq!(tell(15, 18), Some(seconds(18)));
        // The next stage.
        assert_eq!(tell(1, 30), Some(seconds(30)));
    }
}
