//! The figures, each as SVG and PNG: the paper's fronts, right labels against cost, students
//! against cost.

use std::io;
use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::Color;
use shield::files::write_atomically_by_name;
use shield_learn::experiment::{Curves, Findings, PAPER, PaperFront, Place, ResultRow, Results};

use crate::failure::Failure;
use crate::plot::{self, Axis, COLOURS};

type Outcome<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;
type Chart<'a, B> = ChartContext<'a, B, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

const GREY: RGBColor = RGBColor(205, 205, 205);
const DARK: RGBColor = RGBColor(90, 90, 90);
const LETTERS: &str = "sans-serif";

/// Where the strip with the legend begins, from the top of a figure of 800 lines.
const LEGEND_FROM: i32 = 705;

/// Draws all figures into the folder.
pub(super) fn draw(folder: &Path, findings: &Findings) -> Result<(), Failure> {
    let Findings { results, fronts, curves } = findings;
    if !fronts.is_empty() {
        let chosen = results.paper_rows();
        let size = (620 * u32::try_from(fronts.len()).unwrap_or(1), 620);
        save(
            folder,
            "fronts",
            size,
            |area| paint_fronts(area, fronts, &chosen),
            |area| paint_fronts(area, fronts, &chosen),
        )?;
    }
    save(
        folder,
        "right-labels",
        (1200, 800),
        |area| paint_right_labels(area, curves, results),
        |area| paint_right_labels(area, curves, results),
    )?;
    save(
        folder,
        "students",
        (1200, 800),
        |area| paint_students(area, results),
        |area| paint_students(area, results),
    )
}

/// One figure in both formats. A closure each, since the two backends are different types.
fn save<'a>(
    folder: &Path,
    name: &str,
    size: (u32, u32),
    svg: impl FnOnce(&DrawingArea<SVGBackend<'_>, Shift>) -> Outcome<SVGBackend<'a>>,
    png: impl FnOnce(&DrawingArea<BitMapBackend<'_>, Shift>) -> Outcome<BitMapBackend<'a>>,
) -> Result<(), Failure> {
    plot::register_letters();
    let drawn = write_atomically_by_name(&folder.join(format!("{name}.svg")), |path| {
        svg(&SVGBackend::new(path, size).into_drawing_area())
            .map_err(|error| io::Error::other(error.to_string()))
    });
    let drawn = drawn.and_then(|()| {
        write_atomically_by_name(&folder.join(format!("{name}.png")), |path| {
            plot::png::write(path, size, png)
        })
    });
    drawn.map_err(|error| Failure::failed(format!("cannot draw {name}: {error}")))
}

/// A chart with the axes that all figures share.
fn chart<'a, B: DrawingBackend>(
    area: &'a DrawingArea<B, Shift>,
    title: &str,
    (x, x_name): (std::ops::Range<f64>, &str),
    (y, y_name): (std::ops::Range<f64>, &str),
) -> Result<Chart<'a, B>, DrawingAreaErrorKind<B::ErrorType>> {
    let (x, y) = (Axis::around(x.start, x.end, 6.0), Axis::around(y.start, y.end, 8.0));
    let mut chart = ChartBuilder::on(area)
        .caption(title, (LETTERS, 24))
        .margin(18)
        .x_label_area_size(58)
        .y_label_area_size(78)
        .build_cartesian_2d(x.start..x.end, y.start..y.end)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(228, 228, 228))
        .x_desc(x_name)
        .y_desc(y_name)
        .label_style((LETTERS, 20))
        .axis_desc_style((LETTERS, 22))
        .x_labels(x.ticks)
        .y_labels(y.ticks)
        .x_label_formatter(&|value| x.label(*value))
        .y_label_formatter(&|value| y.label(*value))
        .draw()?;
    Ok(chart)
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

fn paint_fronts<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    fronts: &[PaperFront],
    paper: &[(String, Place)],
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    area.fill(&WHITE)?;
    // The paper chose one polynomial from each space, and shows no front for its first, smallest
    // one.
    let panels = area.split_evenly((1, fronts.len()));
    for ((panel, front), place) in panels.iter().zip(fronts).zip(1..) {
        let chosen = PAPER.get(place).and_then(|text| paper.iter().find(|(name, _)| name == text));
        let line: Vec<Place> =
            front.front.iter().map(|p| percent((p.epsilon.get(), p.ground_truth))).collect();
        let shown: Vec<Place> =
            line.iter().copied().chain(chosen.map(|(_, place)| percent(*place))).collect();
        let x = around(shown.iter().map(|place| place.0), 0.25);
        let y = around(shown.iter().map(|place| place.1), 0.25);
        let mut chart = chart(
            panel,
            &format!("at most {} rounds", front.max_terms),
            (x.clone(), "epsilon (published)"),
            (y.clone(), "GTA (%)"),
        )?;
        let cloud = front.cloud.iter().map(|&place| percent(place));
        let inside = cloud.filter(|place| x.contains(&place.0) && y.contains(&place.1));
        chart.draw_series(inside.map(|place| Circle::new(place, 2, GREY.filled())))?;
        let stairs = plot::staircase(line.iter().copied());
        chart.draw_series(LineSeries::new(stairs, COLOURS[0].stroke_width(2)))?;
        chart.draw_series(line.iter().map(|&place| Circle::new(place, 3, COLOURS[0].filled())))?;
        if let Some((name, place)) = chosen {
            let place = percent(*place);
            chart.draw_series([diamond(place)])?;
            let style = (LETTERS, 19).into_font().color(&RED);
            let label = EmptyElement::at(place) + Text::new(name.clone(), (-130, 14), style);
            chart.draw_series([label])?;
        }
    }
    area.present()
}

type Diamond<B> =
    plotters::element::ComposedElement<Place, B, Polygon<(i32, i32)>, PathElement<(i32, i32)>>;

/// A red-edged diamond: the paper's mark of a chosen polynomial.
fn diamond<B: DrawingBackend>(place: Place) -> Diamond<B> {
    let corners = vec![(0, -8), (8, 0), (0, 8), (-8, 0)];
    let edge: Vec<(i32, i32)> = corners.iter().chain(&corners[..1]).copied().collect();
    EmptyElement::at(place)
        + Polygon::new(corners, WHITE.filled())
        + PathElement::new(edge, RED.stroke_width(2))
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

fn paint_right_labels<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    curves: &Curves,
    results: &Results,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    area.fill(&WHITE)?;
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
    // The legend has a strip of its own, so that it covers nothing.
    let (plot, strip) = area.split_vertically(LEGEND_FROM);
    let mut chart = chart(
        &plot,
        "Right labels against what they cost",
        (x.clone(), &cost_axis(results)),
        (y.clone(), "expected right labels (%)"),
    )?;
    if let Some(top) = top {
        level(&mut chart, &x, top)?;
    }
    for (prefix, _, colour) in series(results) {
        let colour = COLOURS[colour];
        let line: Vec<Place> = by_series(prefix)
            .into_iter()
            .map(percent)
            .filter(|place| x.contains(&place.0) && y.contains(&place.1))
            .collect();
        chart.draw_series(LineSeries::new(line, colour.stroke_width(2)))?;
        let inside = |place: &Place| x.contains(&place.0) && y.contains(&place.1);
        let marks: Vec<Place> = marks(prefix).into_iter().filter(inside).collect();
        chart.draw_series(marks.into_iter().map(|place| Circle::new(place, 6, colour.filled())))?;
    }
    legend(&strip, &series(results))?;
    area.present()
}

fn paint_students<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    results: &Results,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    area.fill(&WHITE)?;
    let first = ["strong", "shapes", "plain", "supervised"];
    let Some(variant) = first
        .into_iter()
        .find(|variant| results.rows.iter().any(|row| row.students.contains_key(variant)))
    else {
        return area.present();
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
    // The legend has a strip of its own, so that it covers nothing.
    let (plot, strip) = area.split_vertically(LEGEND_FROM);
    let mut chart = chart(
        &plot,
        &format!("Students ({variant}): mean and deviation over splits and draws"),
        (x.clone(), &cost_axis(results)),
        (y, "right on unseen images (%)"),
    )?;
    if let Some(spread) = exact {
        level(&mut chart, &x, 100.0 * spread.mean)?;
    }
    for (place, (prefix, _, colour)) in series(results).into_iter().enumerate() {
        let colour = COLOURS[colour];
        // A little apart, so that mechanisms of one cost do not hide each other.
        let aside = (place as f64 - 1.5) * 0.008 * x.end;
        let points = spreads(prefix);
        let means: Vec<Place> = points.iter().map(|&(e, mean, _)| (e + aside, mean)).collect();
        if prefix != "paper-" {
            chart.draw_series(LineSeries::new(means, colour.mix(0.5).stroke_width(1)))?;
        }
        let cap = 0.006 * x.end;
        chart.draw_series(points.iter().flat_map(|&(epsilon, mean, spread)| {
            // No share of right answers is below 0 or above 100.
            let (low, high) = ((mean - spread).max(0.0), (mean + spread).min(100.0));
            let at = epsilon + aside;
            let bar = [(at, low), (at, high)];
            let ends = [low, high].map(|end| [(at - cap, end), (at + cap, end)]);
            [bar, ends[0], ends[1]].map(|line| PathElement::new(line, colour.stroke_width(2)))
        }))?;
        let middle = |&(epsilon, mean, _): &(f64, f64, f64)| {
            Circle::new((epsilon + aside, mean), 6, colour.filled())
        };
        chart.draw_series(points.iter().map(middle))?;
    }
    legend(&strip, &series(results))?;
    area.present()
}

/// A dashed line across the chart.
fn level<B: DrawingBackend>(
    chart: &mut Chart<'_, B>,
    x: &std::ops::Range<f64>,
    height: f64,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    let ends = [(x.start, height), (x.end, height)];
    chart.draw_series(DashedLineSeries::new(ends, 8, 6, DARK.stroke_width(2)))?;
    Ok(())
}

/// What the colours mean, in two columns.
fn legend<B: DrawingBackend>(
    strip: &DrawingArea<B, Shift>,
    series: &[(&str, &str, usize)],
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    let place = |number: i32| (100 + 560 * (number % 2), 16 + 30 * (number / 2));
    let style = || (LETTERS, 20).into_font();
    for (&(_, name, colour), number) in series.iter().zip(0..) {
        let (x, y) = place(number);
        strip.draw(&Circle::new((x, y), 6, COLOURS[colour].filled()))?;
        strip.draw(&Text::new(name, (x + 18, y - 5), style()))?;
    }
    let (x, y) = place(i32::try_from(series.len()).unwrap_or(0));
    strip.draw(&PathElement::new([(x - 12, y), (x + 12, y)], DARK.stroke_width(2)))?;
    strip.draw(&Text::new("exact argmax (no privacy)", (x + 18, y - 5), style()))
}
