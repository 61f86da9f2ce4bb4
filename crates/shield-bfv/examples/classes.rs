//! Time per sample against the number of classes, as a table and as a figure:
//!
//! ```sh
//! cargo run --release -p shield-bfv -F measure --example classes -- classes.svg [SAMPLES]
//! ```
//!
//! 250 teachers, the default polynomial, one thread, without the check of the ballots. Beside the
//! design that the planner takes stands version 0.1's, as far as it goes.

mod measure;

use std::fmt::Write as _;

use measure::Failure;
use shield::backend::Backend;
use shield::{Classes, Election, Setting};
use shield_bfv::{BallotCheck, BfvBackend, Design, Plan, ReleaseMode};

/// Numbers of classes of the planner's design.
const CLASSES: [usize; 6] = [2, 10, 100, 1_000, 10_000, 65_536];

/// Version 0.1's design is measured up to so many: its time is proportional to them from here on.
const LAST_OLD: usize = 1_000;

/// Milliseconds per sample of one design.
fn measure(election: &Election, design: Design) -> Result<f64, Failure> {
    let backend = BfvBackend::with_design(election.clone(), ReleaseMode::Reveal, design)?;
    let backend = backend.with_ballot_check(BallotCheck::Off);
    let samples = backend.batch(0).len() as f64;
    Ok(measure::aggregate(&[backend], 1)?[0] * 1e3 / samples)
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("give the name of an SVG file")?;
    let samples = arguments.next().map_or(Ok(16_384), |word| word.parse())?;
    let (mut new, mut old) = (Vec::new(), Vec::new());
    for count in CLASSES {
        let election = Election::new(250, Classes::new(count)?, samples, Setting::default())?;
        let plan = Plan::new(&election, ReleaseMode::Reveal)?;
        let bytes = plan.ballot_bytes() as f64 / plan.layout().samples().min(samples) as f64;
        new.push((count, measure(&election, plan.layout().design())?));
        if count <= LAST_OLD {
            old.push((count, measure(&election, Design::VERSION_0_1)?));
        }
        let beside = old.last().filter(|(classes, _)| *classes == count);
        println!(
            "{count:>6} classes, {}: {:.3} ms per sample, {bytes:.0} bytes per vote; version 0.1's \
             design {}",
            plan.coding(),
            new[new.len() - 1].1,
            beside.map_or("not measured".into(), |(_, ms)| format!("{ms:.3} ms")),
        );
    }
    std::fs::write(path, figure(&[("this version", "#0072b2", &new), ("0.1", "#d55e00", &old)]))?;
    Ok(())
}

/// Width, height and margin of the figure.
const SIZE: (f64, f64, f64) = (640.0, 400.0, 60.0);

/// Both axes are logarithmic, decades apart: classes from 1 to 100,000, milliseconds from 0.1 to
/// 1,000.
fn place(classes: usize, milliseconds: f64) -> (f64, f64) {
    let (width, height, margin) = SIZE;
    let x = (classes as f64).log10() / 5.0;
    let y = (milliseconds.log10() + 1.0) / 4.0;
    (margin + x * (width - 2.0 * margin), height - margin - y * (height - 2.0 * margin))
}

/// A line of the figure: its name, its colour and its points.
type Line<'a> = (&'a str, &'a str, &'a [(usize, f64)]);

fn figure(lines: &[Line<'_>]) -> String {
    let (width, height, margin) = SIZE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"{width}\" \
         height=\"{height}\" fill=\"white\"/>\n"
    );
    let text = |x: f64, y: f64, anchor: &str, words: &str| {
        format!("<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"{anchor}\">{words}</text>\n")
    };
    for (i, label) in ["1", "10", "100", "1,000", "10,000", "100,000"].iter().enumerate() {
        let (x, _) = place(10_usize.pow(i as u32), 1.0);
        let bottom = height - margin;
        let _ = writeln!(svg, "<path d=\"M{x:.0} {margin}V{bottom}\" stroke=\"#ddd\"/>");
        svg += &text(x, bottom + 18.0, "middle", label);
    }
    for (i, label) in ["0.1", "1", "10", "100", "1,000"].iter().enumerate() {
        let (_, y) = place(1, 10_f64.powi(i as i32 - 1));
        let right = width - margin;
        let _ = writeln!(svg, "<path d=\"M{margin} {y:.0}H{right}\" stroke=\"#ddd\"/>");
        svg += &text(margin - 6.0, y + 4.0, "end", label);
    }
    svg += &text(width / 2.0, height - 18.0, "middle", "classes");
    svg += &text(margin, margin - 20.0, "middle", "ms per sample");
    for (name, colour, points) in lines {
        let places: Vec<(f64, f64)> = points.iter().map(|&(k, ms)| place(k, ms)).collect();
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let path = path.join(" ");
        let _ = writeln!(
            svg,
            "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        );
        for (x, y) in &places {
            let _ =
                writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        }
        if let Some((x, y)) = places.last() {
            svg += &text(x + 8.0, y - 8.0, "end", name);
        }
    }
    svg + "</svg>\n"
}
