//! A front of settings as one page that needs nothing else: curves, what is under the pointer, and
//! a table.

use serde_json::json;
use shield_privacy::explore::page::CHART_SCRIPT;
use shield_privacy::tune::front::Point;

use super::Figure;
use crate::failure::Failure;

const PAGE: &str = include_str!("page.html");

/// The most points of the cloud that are drawn.
const CLOUD: usize = 2_000;

/// A figure as a page.
pub(super) fn page(figure: &Figure) -> Result<String, Failure> {
    let point = |point: &Point| {
        json!({
            "x": point.epsilon,
            "y": point.accuracy(),
            "text": format!("{}, offset {}", point.polynomial, point.offset),
            "polynomial": point.polynomial,
            "offset": point.offset,
            "rounds": point.terms,
            "chosen": Some(point) == figure.chosen,
        })
    };
    let step = figure.cloud.len().div_ceil(CLOUD).max(1);
    let cloud = figure.cloud.iter().filter(|place| place.0.is_finite()).step_by(step);
    let data = json!({
        "title": figure.title,
        "cost": figure.cost,
        "accuracy": figure.accuracy,
        "front": figure.front.iter().map(point).collect::<Vec<_>>(),
        "cloud": cloud.collect::<Vec<_>>(),
    });
    // Inside a script element, nothing may look like its end.
    let data = serde_json::to_string(&data).map_err(Failure::failed)?.replace('<', "\\u003c");
    let title = figure.title.replace('&', "&amp;").replace('<', "&lt;");
    Ok(PAGE
        .replace("{{title}}", &title)
        .replace("{{chart}}", CHART_SCRIPT)
        .replace("{{data}}", &data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_loads_nothing_and_text_stays_text() {
        let figure = Figure {
            title: "</script><b>7 settings".to_owned(),
            cost: "epsilon".to_owned(),
            accuracy: "</script>".to_owned(),
            cloud: &[(1.0, 0.5), (f64::INFINITY, 0.9)],
            front: &[],
            chosen: None,
        };
        let page = page(&figure).unwrap();
        assert_eq!(page.matches("</script>").count(), 3, "{page}");
        assert!(page.contains("&lt;/script>&lt;b>7 settings"));
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            let own = page.replace("http://www.w3.org/2000/svg", "");
            assert!(!own.contains(outside), "{outside}");
        }
        assert!(!page.contains("{{"), "a gap was forgotten");
    }
}
