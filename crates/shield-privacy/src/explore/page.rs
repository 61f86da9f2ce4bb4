//! The calculator's page: markup, style and scripts that need nothing from elsewhere.

use super::Calculator;
use shield_core::{Histogram, Polynomial};

/// The look of the calculator's page and of the server's.
pub const STYLE: &str = concat!(include_str!("base.css"), include_str!("calculator.css"));

/// The script that draws curves, for pages that load nothing.
pub const CHART_SCRIPT: &str = include_str!("chart.js");

/// The script that makes the calculator move.
pub const SCRIPT: &str = concat!(include_str!("chart.js"), include_str!("calculator.js"));

const CALCULATOR: &str = include_str!("calculator.html");
const PAGE: &str = include_str!("page.html");

/// The values that the calculator starts with.
#[derive(Clone, Debug)]
pub struct Shape {
    /// How many teachers vote on a sample.
    pub teachers: u32,
    /// How many classes there are.
    pub classes: usize,
    /// How many labels are asked for.
    pub queries: usize,
    /// The names of the classes; empty if they have none.
    pub names: Vec<String>,
}

impl Default for Shape {
    fn default() -> Self {
        Self { teachers: 250, classes: 10, queries: 100, names: Vec::new() }
    }
}

impl Shape {
    /// The shape of the votes that a calculator was given.
    pub fn of(calculator: &Calculator) -> Self {
        calculator.observed().map_or_else(Self::default, |votes| Self {
            teachers: votes.teachers,
            classes: votes.histograms.first().map_or(10, Histogram::classes),
            queries: votes.histograms.len(),
            names: votes.names.clone(),
        })
    }
}

/// The calculator as a part of a page. Its script sends questions to `address`, as JSON.
pub fn calculator(address: &str, shape: &Shape) -> String {
    CALCULATOR
        .replace("{{address}}", address)
        .replace("{{polynomial}}", &Polynomial::default().to_string())
        .replace("{{teachers}}", &shape.teachers.to_string())
        .replace("{{classes}}", &shape.classes.to_string())
        .replace("{{queries}}", &shape.queries.to_string())
        // The last, for names may hold anything.
        .replace("{{names}}", &escaped(&shape.names.join("\u{1f}")))
}

/// Text as an attribute's value.
fn escaped(text: &str) -> String {
    let escapes = [("&", "&amp;"), ("\"", "&quot;"), ("<", "&lt;"), (">", "&gt;"), ("{", "&#123;")];
    escapes.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// A whole page with nothing but the calculator. Style and script carry the nonce.
pub fn document(nonce: &str, shape: &Shape) -> String {
    PAGE.replace("{{nonce}}", nonce)
        .replace("{{style}}", STYLE)
        .replace("{{script}}", SCRIPT)
        .replace("{{calculator}}", &calculator("calculator", shape))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_gap_is_left_and_nothing_is_loaded() {
        let page = document("n0nce", &Shape::default());
        assert!(!page.contains("{{"), "a gap was forgotten");
        assert_eq!(page.matches("nonce=\"n0nce\"").count(), 2);
        let names = vec!["\"><script>".to_owned(), "{{nonce}} & Söhne".to_owned()];
        let named = document("n0nce", &Shape { names, ..Shape::default() });
        assert!(!named.contains("\"><script>") && named.matches("n0nce").count() == 2);
        for outside in ["https://", " src=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
    }
}
