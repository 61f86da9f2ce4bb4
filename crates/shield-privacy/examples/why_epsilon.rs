//! Why our published epsilons are not the paper's: the same accountant with one direction of the
//! ratio, and with votes of another shape.
//!
//! ```console
//! $ cargo run --release -p shield-privacy --example why_epsilon -- examples/mnist/paper-votes.npy.gz
//! $ cargo run --release -p shield-privacy --example why_epsilon -- --histograms mnist_250_teachers.npy 1
//! ```
//!
//! The number is which samples to take: every fifth where it is left out, here all of them. The
//! second command reads counts instead of votes (a float64 array, one row per sample), as PATE's
//! authors published theirs.
//!
//! The paper takes the maximum over pairs (d, d') "such that d is the database constituted by the
//! concatenation of the teachers' database and d' is a database adjacent to d": read by the letter,
//! the votes stand on one side of the ratio and only P(votes)/P(neighbour) counts. Differential
//! privacy asks for both directions, and so does our figure. The table shows each, for votes as
//! they are and for votes with the same leader and the same number of votes for it, but the others'
//! votes all for one rival, or shared out evenly.

use std::env;
use std::error::Error;
use std::num::NonZeroUsize;
use std::path::Path;

use rayon::prelude::*;
use shield_core::{Accuracy, Classes, Histogram, Offset, Setting};
use shield_privacy::Usage;
use shield_privacy::conversion::Conversion;
use shield_privacy::moments::LawPair;
use shield_privacy::neighbours::neighbours;

const POLYNOMIALS: [(&str, f64); 4] = [
    ("2X^3+3X^2+X", 2.39),
    ("2X^4+6X^3+3X^2+X", 2.0),
    ("6X^4+6X^3+4X^2+X", 1.92),
    ("8X^4+6X^3+4X^2+X", 1.91),
];

/// Every so many samples where nothing else is said: a tenth of them gives the figure to a percent.
const STEP: usize = 5;

/// Which way the ratio is read.
#[derive(Clone, Copy, Debug)]
enum Direction {
    Both,
    VotesOverNeighbour,
    NeighbourOverVotes,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let first = arguments.next().ok_or("give a file of votes")?;
    let (path, all) = if first == "--histograms" {
        let path = arguments.next().ok_or("give a file of histograms")?;
        let histograms = read_histograms(Path::new(&path))?;
        (path, histograms)
    } else {
        let votes = shield_data::read_votes(Path::new(&first), Some(Classes::new(10)?))?;
        (first, votes.histograms().collect())
    };
    let step =
        arguments.next().map_or(Ok(STEP), |word| word.parse::<NonZeroUsize>().map(usize::from))?;
    let real: Vec<Histogram> = all.into_iter().step_by(step).collect();
    let top: f64 = real.iter().map(Histogram::top_share).sum::<f64>() / real.len() as f64;
    let shapes: [(&str, Vec<Histogram>); 3] = [
        ("as they are", real.clone()),
        ("one rival", real.iter().map(one_rival).collect::<Result<_, _>>()?),
        ("shared out", real.iter().map(shared_out).collect::<Result<_, _>>()?),
    ];
    println!("{path}, one sample in {step}, offset 1, 100 queries, delta 1e-5");
    println!("GTA of the exact argmax: {:.2}%", 100.0 * top);
    println!(
        "{:<12} {:<18} {:>6} {:>8} {:>8} {:>8} {:>8}",
        "others", "polynomial", "paper", "both", "there", "back", "GTA"
    );
    for (shape, histograms) in &shapes {
        for (text, paper) in POLYNOMIALS {
            let setting =
                Setting { polynomial: text.parse()?, offset: Offset::PAPER, ..Setting::default() };
            let laws: Vec<Vec<LawPair>> = histograms
                .par_iter()
                .map(|votes| neighbours(&setting, votes).into_iter().map(|n| n.laws).collect())
                .collect();
            let [both, there, back] =
                [Direction::Both, Direction::VotesOverNeighbour, Direction::NeighbourOverVotes]
                    .map(|direction| epsilon(&laws, direction));
            let gta = 100.0 * Accuracy::of(&setting, histograms, None).ground_truth;
            println!(
                "{shape:<12} {text:<18} {paper:>6.2} {both:>8.3} {there:>8.3} {back:>8.3} \
                 {gta:>7.2}%"
            );
        }
    }
    Ok(())
}

fn read_histograms(path: &Path) -> Result<Vec<Histogram>, Box<dyn Error>> {
    let file = npyz::NpyFile::new(std::fs::File::open(path)?)?;
    let classes = usize::try_from(*file.shape().last().ok_or("no rows")?)?;
    let counts: Vec<f64> = file.into_vec()?;
    let whole = |count: &f64| format!("{count:.0}").parse::<u32>();
    let histogram = |row: &[f64]| -> Result<Histogram, Box<dyn Error>> {
        Ok(Histogram::new(row.iter().map(whole).collect::<Result<_, _>>()?)?)
    };
    counts.chunks_exact(classes).map(histogram).collect()
}

/// The paper's accountant: for each sample the worst neighbour, averaged, times the queries, by the
/// tail bound.
fn epsilon(laws: &[Vec<LawPair>], direction: Direction) -> f64 {
    let usage = Usage::default();
    let queries = usage.queries.count() as f64;
    let mean = |order: f64| {
        let worst = |pairs: &Vec<LawPair>| {
            let moment = |pair: &LawPair| match direction {
                Direction::Both => pair.log_moment(order).max(pair.reversed().log_moment(order)),
                Direction::VotesOverNeighbour => pair.log_moment(order),
                Direction::NeighbourOverVotes => pair.reversed().log_moment(order),
            };
            pairs.iter().map(moment).fold(0.0, f64::max)
        };
        let all: Vec<f64> = laws.par_iter().map(worst).collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    let best = Conversion::TailBound.minimise(usage.delta, |order| queries * mean(order));
    best.rounded_up().get()
}

/// The same leader with the same votes; all others for one rival.
fn one_rival(histogram: &Histogram) -> Result<Histogram, shield_core::ParameterError> {
    rest_to(histogram, 1)
}

/// The same leader with the same votes; the others evenly for all other classes.
fn shared_out(histogram: &Histogram) -> Result<Histogram, shield_core::ParameterError> {
    rest_to(histogram, u32::try_from(histogram.classes() - 1).unwrap_or(1))
}

fn rest_to(histogram: &Histogram, rivals: u32) -> Result<Histogram, shield_core::ParameterError> {
    let top = histogram.counts().iter().max().copied().unwrap_or(0);
    let rest: u32 = histogram.counts().iter().sum::<u32>() - top;
    let mut counts = vec![top];
    counts.extend((0..rivals).map(|rival| rest / rivals + u32::from(rival < rest % rivals)));
    counts.resize(histogram.classes(), 0);
    Histogram::new(counts)
}
