//! Charts as SVG: two axes, and marks and lines between them.

use std::fmt::Write as _;

use super::axis::Axis;

/// One colour for each series, readable by those who see few colours (Okabe and Ito's palette).
pub(crate) const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5a5a5a"];

/// The colour of what is only background.
pub(crate) const GREY: &str = "#cdcdcd";

/// The colour of what is marked.
pub(crate) const RED: &str = "#ff0000";

/// A place in a drawing, in pixels.
pub(crate) type Pixel = (f64, f64);

/// A drawing of some size.
pub(crate) struct Drawing {
    size: (u32, u32),
    body: String,
}

impl Drawing {
    pub(crate) fn new(size: (u32, u32)) -> Self {
        Self { size, body: String::new() }
    }

    /// The whole file.
    pub(crate) fn finish(self) -> String {
        let (width, height) = self.size;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.body
        )
    }

    pub(crate) fn dot(&mut self, (x, y): Pixel, radius: f64, colour: &str) {
        let _ = writeln!(
            self.body,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{colour}\"/>"
        );
    }

    pub(crate) fn ring(&mut self, (x, y): Pixel, colour: &str) {
        let _ = writeln!(
            self.body,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"9\" fill=\"none\" stroke=\"{colour}\" \
             stroke-width=\"2\"/>"
        );
    }

    /// A line through some places, of a style such as `stroke-width="2"`.
    pub(crate) fn line(&mut self, points: &[Pixel], colour: &str, style: &str) {
        let places: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            self.body,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" {style}/>",
            places.join(" ")
        );
    }

    /// Text of some size with its middle at half its height. The anchor is `start`, `middle` or
    /// `end`.
    pub(crate) fn text(&mut self, (x, y): Pixel, size: u32, anchor: &str, rest: &str, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        let _ = writeln!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" \
             dominant-baseline=\"central\"{rest}>{text}</text>"
        );
    }
}

/// What a chart is called, and its axes.
pub(crate) struct Names<'a> {
    pub(crate) title: &'a str,
    pub(crate) x: &'a str,
    pub(crate) y: &'a str,
}

/// A chart within a drawing: places by their values.
pub(crate) struct Chart {
    x: Axis,
    y: Axis,
    /// Left, top, right and bottom of the plot.
    frame: [f64; 4],
}

impl Chart {
    /// Draws axes and names into a part of a drawing: left, top, right and bottom.
    pub(crate) fn draw(
        drawing: &mut Drawing,
        [left, top, right, bottom]: [f64; 4],
        names: &Names,
        x: Axis,
        y: Axis,
    ) -> Self {
        let frame = [left + 98.0, top + 58.0, right - 20.0, bottom - 78.0];
        let chart = Self { x, y, frame };
        let [from, high, to, low] = frame;
        let middle = f64::midpoint(from, to);
        drawing.text((middle, top + 34.0), 24, "middle", "", names.title);
        for value in x.values() {
            let (at, _) = chart.place((value, y.start));
            drawing.line(&[(at, high), (at, low)], "#e4e4e4", "");
            drawing.text((at, low + 18.0), 20, "middle", "", &x.label(value));
        }
        for value in y.values() {
            let (_, at) = chart.place((x.start, value));
            drawing.line(&[(from, at), (to, at)], "#e4e4e4", "");
            drawing.text((from - 10.0, at), 20, "end", "", &y.label(value));
        }
        drawing.line(&[(from, high), (from, low), (to, low)], "#000000", "");
        drawing.text((middle, bottom - 28.0), 22, "middle", "", names.x);
        let (x, y) = (left + 24.0, f64::midpoint(high, low));
        let turned = format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"");
        drawing.text((x, y), 22, "middle", &turned, names.y);
        chart
    }

    /// Where the plot ends on the right.
    pub(crate) fn right(&self) -> f64 {
        self.frame[2]
    }

    /// Whether the chart has room for some values.
    pub(crate) fn holds(&self, (x, y): (f64, f64)) -> bool {
        (self.x.start..=self.x.end).contains(&x) && (self.y.start..=self.y.end).contains(&y)
    }

    /// Where some values are.
    pub(crate) fn place(&self, (x, y): (f64, f64)) -> Pixel {
        let [left, top, right, bottom] = self.frame;
        let share = |axis: &Axis, value: f64| (value - axis.start) / (axis.end - axis.start);
        (left + share(&self.x, x) * (right - left), bottom - share(&self.y, y) * (bottom - top))
    }

    /// Where some values are, one after the other.
    pub(crate) fn places(&self, values: impl IntoIterator<Item = (f64, f64)>) -> Vec<Pixel> {
        values.into_iter().map(|value| self.place(value)).collect()
    }
}
