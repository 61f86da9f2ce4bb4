//! Figures: privacy against accuracy, as SVG or PNG, or as a page.

mod page;
pub(crate) mod png;

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
    /// What the axis of the cost says.
    pub(crate) cost: String,
    /// What the axis of the accuracy says.
    pub(crate) accuracy: String,
    /// Every setting: (epsilon, accuracy).
    pub(crate) cloud: &'a [(f64, f64)],
    pub(crate) front: &'a [Point],
    pub(crate) chosen: Option<&'a Point>,
}

const SIZE: (u32, u32) = (1200, 800);

/// Width of the strip with the legend.
const LEGEND: u32 = 190;

/// Whether a figure can be written to such a file.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    if matches!(extension(path).as_str(), "svg" | "png" | "html") {
        return Ok(files::check_folder(path)?);
    }
    Err(Failure::bad_input(format!("{}: a plot ends in .html, .svg or .png", path.display())))
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
    if extension(path) == "html" {
        return page::write(path, figure);
    }
    register_letters();
    let drawn = files::write_atomically_by_name(path, |path| {
        if extension(path) == "png" {
            return png::write(path, SIZE, |area| paint(area, figure));
        }
        paint(&SVGBackend::new(path, SIZE).into_drawing_area(), figure)
            .map_err(|error| io::Error::other(error.to_string()))
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
    let (x, y) = limits(figure);
    let (left, right, bottom, top) = (x.start, x.end, y.start, y.end);
    // The legend has a strip of its own, so that it covers nothing.
    let (plot, legend) = area.split_horizontally(SIZE.0 - LEGEND);
    let mut chart = ChartBuilder::on(&plot)
        .caption(&figure.title, ("sans-serif", 26))
        .margin(20)
        .x_label_area_size(60)
        .y_label_area_size(80)
        .build_cartesian_2d(left..right, bottom..top)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc(&figure.cost)
        .y_desc(&figure.accuracy)
        .x_labels(x.ticks)
        .y_labels(y.ticks)
        .label_style(("sans-serif", 20))
        .axis_desc_style(("sans-serif", 24))
        .x_label_formatter(&|value| x.label(*value))
        .y_label_formatter(&|value| y.label(*value))
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
        staircase(figure.front.iter().map(place)),
        RGBColor(120, 120, 120).stroke_width(2),
    ))?;
    let mut offsets: Vec<_> = figure.front.iter().map(|point| point.offset).collect();
    offsets.sort_unstable();
    offsets.dedup();
    for (i, &offset) in offsets.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let points = figure.front.iter().filter(|point| point.offset == offset);
        chart.draw_series(points.map(|point| Circle::new(place(point), 5, colour.filled())))?;
        let row = 90 + 30 * i32::try_from(i).unwrap_or(0);
        legend.draw(&Circle::new((10, row), 5, colour.filled()))?;
        let style = ("sans-serif", 20).into_font();
        legend.draw(&Text::new(format!("front, offset {offset}"), (24, row - 5), style))?;
    }
    let mut room = Room { right: chart.plotting_area().get_pixel_range().0.end, taken: Vec::new() };
    for point in labelled(figure) {
        let (epsilon, gta) = place(point);
        let chosen = Some(point) == figure.chosen;
        let ring = if chosen { RED } else { BLACK };
        chart.draw_series([Circle::new((epsilon, gta), 9, ring.stroke_width(2))])?;
        let text = format!("{} (w = {})", point.polynomial, point.offset);
        let style = ("sans-serif", 18).into_font().color(&ring);
        let (width, height) = chart.plotting_area().estimate_text_size(&text, &style)?;
        let size = (width.try_into().unwrap_or(0), height.try_into().unwrap_or(0));
        let at = room.find(chart.plotting_area().map_coordinate(&(epsilon, gta)), size);
        chart.draw_series([EmptyElement::at((epsilon, gta)) + Text::new(text, at, style)])?;
    }
    area.present()
}

/// Where labels may go, in pixels.
struct Room {
    /// Where the plot ends.
    right: i32,
    /// The corners of what is there, upper left and lower right.
    taken: Vec<((i32, i32), (i32, i32))>,
}

impl Room {
    /// Where to put a label of some width and height, as seen from its point: it covers no other
    /// label and does not leave the plot, if that can be had.
    fn find(&mut self, point: (i32, i32), (width, height): (i32, i32)) -> (i32, i32) {
        // Below the front and to its right there is nothing.
        let (beside, before) = (12, -12 - width);
        let places = [(beside, 8), (beside, 30), (before, 8), (before, -26), (beside, -26)];
        let corners = |&(x, y): &(i32, i32)| {
            let (left, top) = (point.0 + x, point.1 + y);
            ((left, top), (left + width, top + height))
        };
        let is_free = |place: &&(i32, i32)| {
            let (start, end) = corners(place);
            let apart = |&(other, other_end): &((i32, i32), (i32, i32))| {
                end.0 < other.0 || other_end.0 < start.0 || end.1 < other.1 || other_end.1 < start.1
            };
            end.0 <= self.right && self.taken.iter().all(apart)
        };
        let place = *places.iter().find(is_free).unwrap_or(&places[0]);
        self.taken.push(corners(&place));
        place
    }
}

/// An axis that starts and ends on a tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    pub(crate) start: f64,
    pub(crate) end: f64,
    /// How many ticks there are, both ends included.
    pub(crate) ticks: usize,
    step: f64,
}

impl Axis {
    /// An axis that holds a range, with about that many ticks: steps are 1, 2 or 5 times a power
    /// of ten.
    pub(crate) fn around(low: f64, high: f64, ticks: f64) -> Self {
        let rough = (high - low).max(1e-9) / ticks;
        let power = 10f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = steps.into_iter().find(|&step| step >= rough * (1.0 - 1e-9));
        let step = step.unwrap_or(10.0 * power);
        let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
        let last = if last > first { last } else { first + 1.0 };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few ticks")]
        let count = (last - first).round() as usize + 1;
        Self { start: first * step, end: last * step, ticks: count, step }
    }

    /// A tick with the digits that tell it from the next.
    pub(crate) fn label(&self, value: f64) -> String {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "few digits")]
        let digits = (-self.step.log10()).ceil().max(0.0) as usize;
        format!("{value:.digits$}")
    }
}

/// A front as the staircase that it is: between two settings, the left one is the best there is.
pub(crate) fn staircase(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut stairs: Vec<(f64, f64)> = Vec::new();
    for (x, y) in points {
        if let Some(&(_, before)) = stairs.last() {
            stairs.push((x, before));
        }
        stairs.push((x, y));
    }
    stairs
}

/// Axes around the front, with room for labels to its right; no accuracy is above 100%.
fn limits(figure: &Figure) -> (Axis, Axis) {
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
    let (left, right) = span(epsilons, 0.0, 0.25);
    let (bottom, top) = span(accuracies, 0.05, 0.0);
    (Axis::around(left.max(0.0), right, 7.0), Axis::around(bottom, top.min(100.0), 7.0))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_start_and_end_on_ticks() {
        for (low, high) in [(0.3, 6.48), (88.1, 93.9), (0.0, 1.0), (4.999, 5.001), (99.2, 100.0)] {
            let axis = Axis::around(low, high, 7.0);
            assert!(axis.start <= low && axis.end >= high, "{axis:?}");
            assert!((2..=12).contains(&axis.ticks), "{axis:?}");
            for end in [axis.start, axis.end] {
                let steps = end / axis.step;
                assert!((steps - steps.round()).abs() < 1e-6, "{axis:?}");
            }
            let last = axis.start + axis.step * (axis.ticks - 1) as f64;
            assert!((last - axis.end).abs() < 1e-6, "{axis:?}");
        }
        let axis = Axis::around(91.0, 100.0, 7.0);
        assert!((axis.end - 100.0).abs() < 1e-9, "no axis of shares goes beyond 100: {axis:?}");
        assert_eq!(Axis::around(0.0, 0.5, 5.0).label(0.25), "0.2");
    }

    #[test]
    fn labels_cover_no_others_and_stay_in_the_plot() {
        let mut room = Room { right: 1000, taken: Vec::new() };
        let size = (200, 18);
        assert_eq!(room.find((100, 100), size), (12, 8));
        // A neighbour's label goes lower, or to the left.
        assert_eq!(room.find((100, 110), size), (12, 30));
        assert_eq!(room.find((320, 105), size), (12, 8));
        assert_eq!(room.find((900, 100), size), (-212, 8));
    }

    #[test]
    fn a_front_is_a_staircase() {
        let stairs = staircase([(1.0, 5.0), (2.0, 7.0), (4.0, 8.0)].into_iter());
        assert_eq!(stairs, [(1.0, 5.0), (2.0, 5.0), (2.0, 7.0), (4.0, 7.0), (4.0, 8.0)]);
    }
}
