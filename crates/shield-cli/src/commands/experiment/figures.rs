//! The figures, as SVG: the paper's fronts, right labels against cost, students against cost.

use std::path::Path;

use shield_learn::experiment::{Curves, Findings, PAPER, PaperFront, Place, ResultRow, Results};

use crate::failure::Failure;
use crate::inputs::write;
use crate::plot::svg::{COLOURS, Chart, Drawing, GREY, Names, RED};
use crate::plot::{self, Axis};

/// The colour of lines that belong to no mechanism.
const DARK: &str = COLOURS[6];

/// The size of a figure, and where its chart ends and the strip with the legend begins.
const SIZE: (u32, u32) = (1200, 800);
const WHOLE: [f64; 4] = [0.0, 0.0, 1200.0, 705.0];

/// Draws all figures into the folder.
pub(super) fn draw(folder: &Path, findings: &Findings) -> Result<(), Failure> {
    let Findings { results, fronts, curves } = findings;
    if !fronts.is_empty() {
        let drawing = paper_fronts(fronts, &results.paper_rows());
        write(&folder.join("fronts.svg"), drawing.as_bytes())?;
    }
    write(&folder.join("right-labels.svg"), right_labels(curves, results).as_bytes())?;
    write(&folder.join("students.svg"), students(results).as_bytes())
}

/// A chart with the ticks that all figures share.
fn chart(
    drawing: &mut Drawing,
    part: [f64; 4],
    names: &Names,
    x: &std::ops::Range<f64>,
    y: &std::ops::Range<f64>,
) -> Chart {
    let (x, y) = (Axis::around(x.start, x.end, 6.0), Axis::around(y.start, y.end, 8.0));
    Chart::draw(drawing, part, names, x, y)
}

/// A range around some values, with a margin on each side.
fn around(values: impl Iterator<Item = f64>, margin: f64) -> std::ops::Range<f64> {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
    if low > high {
        return 0.0..1.0;
    }
    let room = margin * (high - low).max(1e-3);
    low - room..high + room
}

/// The same for percentages: none is above 100.
fn shares(values: impl Iterator<Item = f64>, margin: f64) -> std::ops::Range<f64> {
    let range = around(values, margin);
    range.start.max(0.0)..range.end.min(100.0)
}

fn percent((epsilon, share): Place) -> Place {
    (epsilon, 100.0 * share)
}

/// The paper chose one polynomial from each space, and shows no front for its first, smallest one.
fn paper_fronts(fronts: &[PaperFront], paper: &[(String, Place)]) -> String {
    let panels = u32::try_from(fronts.len()).unwrap_or(1);
    let mut drawing = Drawing::new((620 * panels, 620));
    for (front, place) in fronts.iter().zip(1..) {
        let chosen = PAPER.get(place).and_then(|text| paper.iter().find(|(name, _)| name == text));
        let line: Vec<Place> =
            front.front.iter().map(|p| percent((p.epsilon.get(), p.ground_truth))).collect();
        let shown: Vec<Place> =
            line.iter().copied().chain(chosen.map(|(_, place)| percent(*place))).collect();
        let x = around(shown.iter().map(|place| place.0), 0.25);
        let y = around(shown.iter().map(|place| place.1), 0.25);
        let title = format!("at most {} rounds", front.max_terms);
        let names = Names { title: &title, x: "epsilon (published)", y: "GTA (%)" };
        let left = 620.0 * (place - 1) as f64;
        let chart = chart(&mut drawing, [left, 0.0, left + 620.0, 620.0], &names, &x, &y);
        let cloud = front.cloud.iter().map(|&place| percent(place));
        for place in cloud.filter(|&place| chart.holds(place)) {
            drawing.dot(chart.place(place), 2.0, GREY);
        }
        let stairs = chart.places(plot::staircase(line.iter().copied()));
        drawing.line(&stairs, COLOURS[0], "stroke-width=\"2\"");
        for place in chart.places(line) {
            drawing.dot(place, 3.0, COLOURS[0]);
        }
        if let Some((name, place)) = chosen {
            let (x, y) = chart.place(percent(*place));
            // The paper's mark of a chosen polynomial.
            let corners = [(x, y - 8.0), (x + 8.0, y), (x, y + 8.0), (x - 8.0, y), (x, y - 8.0)];
            drawing.line(&corners, RED, "stroke-width=\"2\"");
            let red = format!(" fill=\"{RED}\"");
            drawing.text((x - 130.0, y + 23.0), 19, "start", &red, name);
        }
    }
    drawing.finish()
}

/// What the axis of the proven cost is called.
fn cost_axis(results: &Results) -> String {
    format!("epsilon (data-independent, {} queries, delta {:e})", results.queries, results.delta)
}

/// The mechanisms by the order of their colours.
const SERIES: [(&str, &str, usize); 5] = [
    ("paper-", "SHIELD, the paper's polynomials (w = 1)", 1),
    ("tuned-", "SHIELD, tuned", 0),
    ("lnmax-", "LNMax (PATE, in the clear)", 3),
    ("gnmax-", "GNMax (PATE, in the clear)", 2),
    ("noisy-", "noisy argmax (SPEED)", 4),
];

/// Those that an experiment has.
fn series(results: &Results) -> Vec<(&'static str, &'static str, usize)> {
    SERIES.into_iter().filter(|(prefix, ..)| in_series(results, prefix).next().is_some()).collect()
}

fn in_series<'a>(results: &'a Results, prefix: &'a str) -> impl Iterator<Item = &'a ResultRow> {
    results.rows.iter().filter(move |row| row.key.starts_with(prefix))
}

fn exact_row(results: &Results) -> Option<&ResultRow> {
    results.rows.iter().find(|row| row.key == "exact")
}

fn right_labels(curves: &Curves, results: &Results) -> String {
    let by_series = |prefix: &str| match prefix {
        "tuned-" => curves.shield.clone(),
        "lnmax-" => curves.lnmax.clone(),
        "gnmax-" => curves.gnmax.clone(),
        _ => Vec::new(),
    };
    let marks = |prefix: &str| -> Vec<Place> {
        in_series(results, prefix)
            .map(|row| percent((row.proven().get(), row.right_labels)))
            .collect()
    };
    // The mechanisms are compared up to the dearest tuned row; the paper's may cost far more.
    let dearest = in_series(results, "tuned-").map(|row| row.proven().get()).fold(0.0, f64::max);
    let furthest = f64::max(6.5, 1.1 * dearest);
    let all: Vec<Place> = SERIES
        .iter()
        .flat_map(|(prefix, ..)| {
            by_series(prefix).into_iter().map(percent).chain(marks(prefix)).collect::<Vec<_>>()
        })
        .filter(|place| place.0 <= furthest)
        .collect();
    let top = exact_row(results).map(|row| 100.0 * row.right_labels);
    let x = 0.0..around(all.iter().map(|place| place.0), 0.04).end;
    let heights = all.iter().map(|place| place.1).chain(top);
    let best = heights.clone().fold(0.0, f64::max);
    // Labels that are wrong more often than that are of no use to a student.
    let y = shares(heights.filter(|&height| height > best - 40.0), 0.05);
    let mut drawing = Drawing::new(SIZE);
    let names = Names {
        title: "Right labels against what they cost",
        x: &cost_axis(results),
        y: "expected right labels (%)",
    };
    let chart = chart(&mut drawing, WHOLE, &names, &x, &y);
    if let Some(top) = top {
        level(&mut drawing, &chart, &x, top);
    }
    let inside = |place: &Place| x.contains(&place.0) && y.contains(&place.1);
    for (prefix, _, colour) in series(results) {
        let line = by_series(prefix).into_iter().map(percent).filter(inside);
        drawing.line(&chart.places(line), COLOURS[colour], "stroke-width=\"2\"");
        for place in chart.places(marks(prefix).into_iter().filter(inside)) {
            drawing.dot(place, 6.0, COLOURS[colour]);
        }
    }
    legend(&mut drawing, &series(results));
    drawing.finish()
}

fn students(results: &Results) -> String {
    let first = ["strong", "shapes", "plain", "supervised"];
    let Some(variant) = first
        .into_iter()
        .find(|variant| results.rows.iter().any(|row| row.students.contains_key(*variant)))
    else {
        return Drawing::new(SIZE).finish();
    };
    let spreads = |prefix: &str| -> Vec<(f64, f64, f64)> {
        in_series(results, prefix)
            .filter_map(|row| row.students.get(variant).map(|spread| (row, spread)))
            .map(|(row, spread)| {
                (row.proven().get(), 100.0 * spread.mean, 100.0 * spread.deviation)
            })
            .collect()
    };
    let all: Vec<(f64, f64, f64)> =
        SERIES.iter().flat_map(|(prefix, ..)| spreads(prefix)).collect();
    let exact = exact_row(results).and_then(|row| row.students.get(variant));
    let x = 0.0..around(all.iter().map(|place| place.0), 0.10).end;
    let ends = all.iter().flat_map(|&(_, mean, spread)| [mean - spread, mean + spread]);
    let y = shares(ends.chain(exact.map(|spread| 100.0 * spread.mean)), 0.12);
    let mut drawing = Drawing::new(SIZE);
    let names = Names {
        title: &format!("Students ({variant}): mean and deviation over splits and draws"),
        x: &cost_axis(results),
        y: "right on unseen images (%)",
    };
    let chart = chart(&mut drawing, WHOLE, &names, &x, &y);
    if let Some(spread) = exact {
        level(&mut drawing, &chart, &x, 100.0 * spread.mean);
    }
    for (place, (prefix, _, colour)) in series(results).into_iter().enumerate() {
        let colour = COLOURS[colour];
        // A little apart, so that mechanisms of one cost do not hide each other.
        let aside = (place as f64 - 1.5) * 0.008 * x.end;
        let points = spreads(prefix);
        if prefix != "paper-" {
            let means = points.iter().map(|&(epsilon, mean, _)| (epsilon + aside, mean));
            drawing.line(&chart.places(means), colour, "stroke-opacity=\"0.5\"");
        }
        let cap = 0.006 * x.end;
        for (epsilon, mean, spread) in points {
            // No share of right answers is below 0 or above 100.
            let (low, high) = ((mean - spread).max(0.0), (mean + spread).min(100.0));
            let at = epsilon + aside;
            let ends = [low, high].map(|end| [(at - cap, end), (at + cap, end)]);
            for line in [[(at, low), (at, high)], ends[0], ends[1]] {
                drawing.line(&chart.places(line), colour, "stroke-width=\"2\"");
            }
            drawing.dot(chart.place((at, mean)), 6.0, colour);
        }
    }
    legend(&mut drawing, &series(results));
    drawing.finish()
}

/// A dashed line across the chart.
fn level(drawing: &mut Drawing, chart: &Chart, x: &std::ops::Range<f64>, height: f64) {
    let line = chart.places([(x.start, height), (x.end, height)]);
    drawing.line(&line, DARK, "stroke-width=\"2\" stroke-dasharray=\"8 6\"");
}

/// What the colours mean, in two columns.
fn legend(drawing: &mut Drawing, series: &[(&str, &str, usize)]) {
    let place =
        |number: usize| (100.0 + 560.0 * (number % 2) as f64, 721.0 + 30.0 * (number / 2) as f64);
    for (number, &(_, name, colour)) in series.iter().enumerate() {
        let (x, y) = place(number);
        drawing.dot((x, y), 6.0, COLOURS[colour]);
        drawing.text((x + 18.0, y), 20, "start", "", name);
    }
    let (x, y) = place(series.len());
    drawing.line(&[(x - 12.0, y), (x + 12.0, y)], DARK, "stroke-width=\"2\"");
    drawing.text((x + 18.0, y), 20, "start", "", "exact argmax (no privacy)");
}
