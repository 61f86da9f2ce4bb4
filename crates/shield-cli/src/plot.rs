//! Figures: privacy against accuracy, as SVG or as a page.

mod axis;
mod page;
pub(crate) mod svg;

use std::path::Path;

use shield_data as files;
use shield_privacy::tune::front::Point;

pub(crate) use axis::Axis;
use svg::{COLOURS, Chart, Drawing, GREY, Names, Pixel, RED};

use crate::failure::Failure;
use crate::inputs::write;

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

/// Whether a figure can be written to such a file.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    if matches!(extension(path).as_str(), "svg" | "html") {
        return Ok(files::check_folder(path)?);
    }
    Err(Failure::bad_input(format!("{}: a plot ends in .html or .svg", path.display())))
}

fn extension(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// Draws a figure.
pub(crate) fn draw(path: &Path, figure: &Figure) -> Result<(), Failure> {
    let text = if extension(path) == "html" { page::page(figure)? } else { drawing(figure) };
    write(path, text.as_bytes())
}

fn drawing(figure: &Figure) -> String {
    let mut drawing = Drawing::new((1200, 800));
    let (x, y) = limits(figure);
    let names = Names { title: &figure.title, x: &figure.cost, y: &figure.accuracy };
    // The legend has a strip of its own, so that it covers nothing.
    let chart = Chart::draw(&mut drawing, [0.0, 0.0, 1010.0, 800.0], &names, x, y);
    let cloud = figure.cloud.iter().map(|&(epsilon, share)| (epsilon, 100.0 * share));
    for place in cloud.filter(|&place| chart.holds(place)) {
        drawing.dot(chart.place(place), 2.0, GREY);
    }
    let value = |point: &Point| (point.epsilon.get(), 100.0 * point.accuracy());
    let stairs = chart.places(staircase(figure.front.iter().map(value)));
    drawing.line(&stairs, "#787878", "stroke-width=\"2\"");
    let mut offsets: Vec<_> = figure.front.iter().map(|point| point.offset).collect();
    offsets.sort_unstable();
    offsets.dedup();
    for (row, &offset) in offsets.iter().enumerate() {
        let colour = COLOURS[row % COLOURS.len()];
        for point in figure.front.iter().filter(|point| point.offset == offset) {
            drawing.dot(chart.place(value(point)), 5.0, colour);
        }
        let height = 90.0 + 30.0 * row as f64;
        drawing.dot((1020.0, height), 5.0, colour);
        let text = format!("front, offset {offset}");
        drawing.text((1034.0, height), 20, "start", "", &text);
    }
    let mut room = Room { right: chart.right(), taken: Vec::new() };
    for point in labelled(figure) {
        let place = chart.place(value(point));
        let colour = if Some(point) == figure.chosen { RED } else { "#000000" };
        drawing.ring(place, colour);
        let text = format!("{} (w = {})", point.polynomial, point.offset);
        // Letters of 18 pixels are about half as wide.
        let (x, y) = room.find(place, (9.0 * text.len() as f64, 18.0));
        let fill = format!(" fill=\"{colour}\"");
        drawing.text((place.0 + x, place.1 + y + 9.0), 18, "start", &fill, &text);
    }
    drawing.finish()
}

/// Where labels may go, in pixels.
struct Room {
    /// Where the plot ends.
    right: f64,
    /// The corners of what is there, upper left and lower right.
    taken: Vec<(Pixel, Pixel)>,
}

impl Room {
    /// Where to put a label of some width and height, as seen from its point: it covers no other
    /// label and does not leave the plot, if that can be had.
    fn find(&mut self, point: Pixel, (width, height): Pixel) -> Pixel {
        // Below the front and to its right there is nothing.
        let (beside, before) = (12.0, -12.0 - width);
        let places =
            [(beside, 8.0), (beside, 30.0), (before, 8.0), (before, -26.0), (beside, -26.0)];
        let corners = |&(x, y): &Pixel| {
            let (left, top) = (point.0 + x, point.1 + y);
            ((left, top), (left + width, top + height))
        };
        let is_free = |place: &&Pixel| {
            let (start, end) = corners(place);
            let apart = |&(other, other_end): &(Pixel, Pixel)| {
                end.0 < other.0 || other_end.0 < start.0 || end.1 < other.1 || other_end.1 < start.1
            };
            end.0 <= self.right && self.taken.iter().all(apart)
        };
        let place = *places.iter().find(is_free).unwrap_or(&places[0]);
        self.taken.push(corners(&place));
        place
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
    fn labels_cover_no_others_and_stay_in_the_plot() {
        let mut room = Room { right: 1000.0, taken: Vec::new() };
        let mut find = |x: i32, y: i32| {
            let (x, y) = room.find((x.into(), y.into()), (200.0, 18.0));
            format!("{x} {y}")
        };
        assert_eq!(find(100, 100), "12 8");
        // A neighbour's label goes lower, or to the left.
        assert_eq!(find(100, 110), "12 30");
        assert_eq!(find(320, 105), "12 8");
        assert_eq!(find(900, 100), "-212 8");
    }

    #[test]
    fn a_front_is_a_staircase() {
        let stairs = staircase([(1.0, 5.0), (2.0, 7.0), (4.0, 8.0)].into_iter());
        assert_eq!(stairs, [(1.0, 5.0), (2.0, 5.0), (2.0, 7.0), (4.0, 7.0), (4.0, 8.0)]);
    }
}
