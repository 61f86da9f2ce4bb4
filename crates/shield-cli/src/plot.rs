//! Figures: privacy against accuracy, as SVG or PNG.

use std::io;
use std::path::Path;
use std::sync::Once;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};
use shield::files;
use shield::tune::front::Point;

use crate::failure::Failure;

/// What a figure shows.
#[derive(Debug)]
pub(crate) struct Figure<'a> {
    pub(crate) title: String,
    /// What stands at the axis of the cost.
    pub(crate) cost: String,
    /// Every setting: (epsilon, accuracy).
    pub(crate) cloud: &'a [(f64, f64)],
    pub(crate) front: &'a [Point],
    pub(crate) chosen: Option<&'a Point>,
}

const SIZE: (u32, u32) = (1200, 800);

/// Whether a figure can be written to such a file.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    if matches!(extension(path).as_str(), "svg" | "png") {
        return Ok(files::check_folder(path)?);
    }
    Err(Failure::bad_input(format!("{}: a plot ends in .svg or .png", path.display())))
}

fn extension(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// Bitmaps need letters of their own; what draws an SVG later has some.
pub(crate) fn register_letters() {
    static FONT: Once = Once::new();
    FONT.call_once(|| {
        // It fails only on bytes that are no font.
        let _ = register_font("sans-serif", FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    });
}

/// Draws a figure.
pub(crate) fn draw(path: &Path, figure: &Figure) -> Result<(), Failure> {
    register_letters();
    let drawn = files::write_atomically_by_name(path, |path| {
        let drawn = if extension(path) == "svg" {
            paint(&SVGBackend::new(path, SIZE).into_drawing_area(), figure)
                .map_err(|error| error.to_string())
        } else {
            paint(&BitMapBackend::new(path, SIZE).into_drawing_area(), figure)
                .map_err(|error| error.to_string())
        };
        drawn.map_err(io::Error::other)
    });
    drawn.map_err(|error| {
        Failure::failed(format!("{}: cannot draw the plot: {error}", path.display()))
    })
}

/// One colour for each offset, readable by those who see few colours (Okabe and Ito's palette).
pub(crate) const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
];

fn paint<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    figure: &Figure,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    area.fill(&WHITE)?;
    let ((left, right), (bottom, top)) = limits(figure);
    let mut chart = ChartBuilder::on(area)
        .caption(&figure.title, ("sans-serif", 26))
        .margin(20)
        .x_label_area_size(60)
        .y_label_area_size(80)
        .build_cartesian_2d(left..right, bottom..top)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc(&figure.cost)
        .y_desc("ground-truth accuracy (%)")
        .label_style(("sans-serif", 20))
        .axis_desc_style(("sans-serif", 24))
        .y_label_formatter(&|value| format!("{value:.1}"))
        .draw()?;

    let inside = |&&(epsilon, gta): &&(f64, f64)| {
        (left..right).contains(&epsilon) && (bottom..top).contains(&(100.0 * gta))
    };
    let shown = figure.cloud.iter().filter(inside);
    chart.draw_series(shown.map(|&(epsilon, gta)| {
        Circle::new((epsilon, 100.0 * gta), 2, RGBColor(205, 205, 205).filled())
    }))?;
    let place = |point: &Point| (point.epsilon.get(), 100.0 * point.accuracy());
    chart.draw_series(LineSeries::new(
        figure.front.iter().map(place),
        RGBColor(120, 120, 120).stroke_width(2),
    ))?;
    let mut offsets: Vec<_> = figure.front.iter().map(|point| point.offset).collect();
    offsets.sort_unstable();
    offsets.dedup();
    for (i, &offset) in offsets.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let points = figure.front.iter().filter(|point| point.offset == offset);
        chart
            .draw_series(points.map(|point| Circle::new(place(point), 5, colour.filled())))?
            .label(format!("front, offset {offset}"))
            .legend(move |(x, y)| Circle::new((x + 10, y), 5, colour.filled()));
    }
    for point in labelled(figure) {
        let (epsilon, gta) = place(point);
        let chosen = Some(point) == figure.chosen;
        let ring = if chosen { RED } else { BLACK };
        chart.draw_series([Circle::new((epsilon, gta), 9, ring.stroke_width(2))])?;
        let text = format!("{} (w = {})", point.polynomial, point.offset);
        // Below the front and to its right nothing stands.
        let style = ("sans-serif", 18).into_font().color(&ring);
        chart.draw_series([EmptyElement::at((epsilon, gta)) + Text::new(text, (12, 8), style)])?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.9))
        .border_style(RGBColor(180, 180, 180))
        .label_font(("sans-serif", 20))
        .draw()?;
    area.present()
}

/// The front with some room around it; of the cloud, what lies in that window.
fn limits(figure: &Figure) -> ((f64, f64), (f64, f64)) {
    let span = |values: Vec<f64>, low_room: f64, high_room: f64| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !(low.is_finite() && high.is_finite()) {
            return (0.0, 1.0);
        }
        let width = (high - low).max(0.02 * high.abs()).max(1e-6);
        (low - low_room * width, high + high_room * width)
    };
    let epsilons = figure.front.iter().map(|point| point.epsilon.get()).collect();
    let accuracies = figure.front.iter().map(|point| 100.0 * point.accuracy()).collect();
    // Labels stand to the right of their points.
    (span(epsilons, 0.05, 0.35), span(accuracies, 0.10, 0.06))
}

/// A handful of points along the front, and the chosen one.
fn labelled<'a>(figure: &Figure<'a>) -> Vec<&'a Point> {
    const LABELS: usize = 5;
    let count = figure.front.len();
    let (low, high) = match (figure.front.first(), figure.front.last()) {
        (Some(first), Some(last)) => (first.accuracy(), last.accuracy()),
        _ => return Vec::new(),
    };
    // Even steps of accuracy, so that labels do not overlap.
    let mut points: Vec<&Point> = Vec::new();
    for i in 0..LABELS.min(count) {
        let level = high - (high - low) * i as f64 / LABELS as f64;
        let place = figure.front.partition_point(|point| point.accuracy() < level).min(count - 1);
        let point = &figure.front[place];
        if !points.contains(&point) {
            points.push(point);
        }
    }
    if let Some(chosen) = figure.chosen {
        // Its label matters most: drop those that would cover it.
        points.retain(|point| (point.accuracy() - chosen.accuracy()).abs() > 0.06 * (high - low));
        points.push(chosen);
    }
    points
}
