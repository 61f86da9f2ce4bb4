//! An upper bound, over all pairs of a cell, of a moment or a hockey stick of the loss.
//!
//! Steps 4 to 7 of the proof in the [parent module](super), in its notation. Ranges of the failure
//! probabilities u_p come first, then ranges of what the terms pass on (B_p), then the largest
//! log-ratios of the two special classes, of the bystanders and of "no label".

use super::cell::{Cell, Range};
use super::log_sum::LogSum;
use crate::hockey_stick::{Dominating, Ratio};
use crate::loss_distribution::LARGEST_LOSS;
use crate::moments::log_bregman;
use crate::rounds::{Rounds, geometric};

/// What is bounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Objective {
    /// E[(P/Q)^l] - 1, for this order l.
    Moment(f64),
    /// sum (P - t Q)_+, for this t >= 1.
    HockeyStick(f64),
}

/// One output, or several: its probability is at most e^`numerator` under P and at most
/// e^`denominator` under Q, and its log-ratio ln(P/Q) lies between 0 and `x` (either sign).
#[derive(Clone, Copy, Debug)]
struct Part {
    numerator: f64,
    denominator: f64,
    x: f64,
}

impl Part {
    /// At least what the output adds to the objective.
    fn of(self, objective: Objective) -> f64 {
        let Self { numerator, denominator, x } = self;
        if x == 0.0 {
            return 0.0;
        }
        match objective {
            // Q b(r) and, where r >= 1, also P b(r)/r: both grow with the distance of r from 1.
            Objective::Moment(order) => {
                let log_mass = if x > 0.0 { denominator.min(numerator - x) } else { denominator };
                (log_mass + log_bregman(order, x)).exp()
            }
            // (P - tQ)_+ = Q (r - t)_+ = P (1 - t/r)_+.
            Objective::HockeyStick(t) => {
                let beyond = -(t * (-x).exp() - 1.0);
                if beyond <= 0.0 {
                    return 0.0;
                }
                (numerator.min(denominator + x) + beyond.ln()).exp()
            }
        }
    }

    /// The same for all convex objectives at once: at most Q b(P/Q) for every b that is convex
    /// and 0 with its slope at 1, if Q is the mass returned and P/Q the ratio.
    fn mass_and_ratio(self) -> (f64, Ratio) {
        let Self { numerator, denominator, x } = self;
        if x > LARGEST_LOSS {
            (numerator.min(0.0).exp(), Ratio::Infinite)
        } else if x > 0.0 {
            (denominator.min(numerator - x).exp(), Ratio::Log(x))
        } else {
            (denominator.exp(), Ratio::Log(x))
        }
    }
}

/// What is known of one degree over a cell.
#[derive(Clone, Copy, Debug)]
struct Degree {
    power: u32,
    /// ln of the sum of phi_p over the bystanders, at most.
    log_bystanders: f64,
    /// Range of ln B_p before, and after, the vote moved.
    before: Range,
    after: Range,
    /// Range of ln rho_p = ln(B_p before / B_p after): at most 0.
    log_rho: Range,
    /// Scratch: weights and values of weighted means.
    weight: Range,
    value: f64,
}

/// Evaluates bounds; keeps its scratch space between cells.
#[derive(Debug)]
pub(crate) struct Envelope<'a> {
    rounds: &'a Rounds,
    objective: Objective,
    degrees: Vec<Degree>,
}

/// Rounding errors in a bound are sums of positive terms, each right to about 1e-11; this covers
/// them.
const ROUND_UP: f64 = 1.0 + 1e-8;

impl<'a> Envelope<'a> {
    pub(crate) fn new(rounds: &'a Rounds, objective: Objective) -> Self {
        Self { rounds, objective, degrees: Vec::with_capacity(rounds.terms.len()) }
    }

    /// At least the objective of every pair in the cell, in both directions.
    pub(crate) fn bound(&mut self, cell: &Cell) -> f64 {
        let objective = self.objective;
        let outlook = self.outlook(cell);
        let [forward, backward] = Direction::BOTH.map(|direction| {
            let rest: f64 = outlook.rest(direction).iter().map(|part| part.of(objective)).sum();
            let together = outlook.together(direction).of(objective);
            rest + together.min(self.by_degree(direction).map(|part| part.of(objective)).sum())
        });
        let worst = forward.max(backward) * ROUND_UP;
        if worst.is_nan() || forward.is_nan() || backward.is_nan() { f64::INFINITY } else { worst }
    }

    /// For either direction of the ratio, a pair of laws that dominates every pair in the cell.
    ///
    /// Of the two bounds of the bystanders' part (step 7) the one with the smaller objective is
    /// used: each holds for every convex objective.
    pub(crate) fn dominating(&mut self, cell: &Cell) -> [Dominating; 2] {
        let objective = self.objective;
        let outlook = self.outlook(cell);
        Direction::BOTH.map(|direction| {
            let mut parts = outlook.rest(direction).to_vec();
            let together = outlook.together(direction);
            let by_degree: f64 = self.by_degree(direction).map(|part| part.of(objective)).sum();
            if together.of(objective) <= by_degree {
                parts.push(together);
            } else {
                parts.extend(self.by_degree(direction));
            }
            Dominating::of_parts(parts.iter().filter(|part| part.x != 0.0).map(|part| {
                let (mass, ratio) = part.mass_and_ratio();
                (mass * ROUND_UP, ratio)
            }))
        })
    }

    fn outlook(&mut self, cell: &Cell) -> Outlook {
        let bystander = cell.bystander(self.rounds);
        let failure = self.survey(cell, bystander);
        let loser = self.loser(cell);
        let gainer = self.gainer(cell);
        Outlook { loser, gainer, failure, others: self.bystanders(cell, bystander) }
    }

    /// The bystanders' part where the output also says which degree won. After [`Self::outlook`].
    fn by_degree(&self, direction: Direction) -> impl Iterator<Item = Part> + '_ {
        self.degrees.iter().map(move |d| {
            let class = Class {
                before: d.log_bystanders + d.before.high,
                after: d.log_bystanders + d.after.high,
                log_ratio: -d.log_rho.low,
            };
            class.less_likely_before(direction)
        })
    }

    /// Fills in the degrees, from the highest down; returns what is known of "no label".
    fn survey(&mut self, cell: &Cell, bystander: Range) -> Class {
        let mut survival = Class { before: 0.0, after: 0.0, log_ratio: 0.0 };
        let (mut before, mut after) = (Range::new(0.0, 0.0), Range::new(0.0, 0.0));
        let mut log_rho = Range::new(0.0, 0.0);
        self.degrees.clear();
        for term in self.rounds.terms.iter().rev() {
            if term.degree == 1 {
                let others = cell.others(self.rounds);
                self.degrees.push(Degree {
                    power: 1,
                    log_bystanders: (others.high / self.rounds.size).ln(),
                    before,
                    after,
                    log_rho,
                    weight: Range::new(0.0, 0.0),
                    value: 0.0,
                });
                let never = f64::NEG_INFINITY;
                return Class { before: never, after: never, log_ratio: 0.0 };
            }
            let a = f64::from(term.rounds);
            let (u, delta, log_bystanders) = self.unlucky(cell, bystander, term.degree);
            let v = Range::new((u.low + delta.low).min(1.0), (u.high + delta.high).min(1.0));
            let (u_low, u_high) = (geometric(term.rounds, u.low), geometric(term.rounds, u.high));
            let (v_low, v_high) = (geometric(term.rounds, v.low), geometric(term.rounds, v.high));
            let log = |low: f64, high: f64| Range::new(low.ln(), high.ln());
            let (gain_u, gain_v) = (log(u_low.sum, u_high.sum), log(v_low.sum, v_high.sum));
            // ln G(u) - ln G(u + delta), from the ends and from the slope: the ends are exact where
            // u is known, the slope where delta is small.
            let gain = Range::new(
                (gain_u.low - gain_v.high).max(-delta.high * v_high.slope / u_low.sum),
                (gain_u.high - gain_v.low).min(-delta.low * u_low.slope / v_high.sum).min(0.0),
            );
            let step = |delta: f64, u: f64| {
                if delta > 0.0 { -a * (delta / u).ln_1p() } else { 0.0 }
            };
            let add = |x: Range, y: Range| Range::new(x.low + y.low, x.high + y.high);
            self.degrees.push(Degree {
                power: term.degree,
                log_bystanders,
                before: add(before, gain_u),
                after: add(after, gain_v),
                log_rho: add(log_rho, gain),
                weight: Range::new(0.0, 0.0),
                value: 0.0,
            });
            before = add(before, Range::new(a * u.low.ln(), a * u.high.ln()));
            after = add(after, Range::new(a * v.low.ln(), a * v.high.ln()));
            log_rho = add(log_rho, Range::new(step(delta.high, u.low), step(delta.low, u.high)));
            survival = Class { before: before.high, after: after.high, log_ratio: -log_rho.low };
        }
        survival
    }

    /// For one degree of at least 2: the range of u_p before the move, the range of what the move
    /// adds to it, and ln of the bystanders' sum of phi_p, at most.
    fn unlucky(&self, cell: &Cell, bystander: Range, degree: u32) -> (Range, Range, f64) {
        let rounds = self.rounds;
        let share = |entries: f64| entries / rounds.size;
        let phi = |entries: f64| rounds.log_unanimous(degree, entries).exp();
        let others = cell.others(rounds);
        // Mean of phi_p(c)/(c/M) over the bystanders' entries: at least its value at the mean (it
        // is convex), at most the chord over the bystanders' range. `miss` is one minus that.
        let (mut hit_low, mut hit_high, mut miss) = (0.0, 0.0, Range::new(0.0, 0.0));
        let mut log_bystanders = f64::NEG_INFINITY;
        if others.high > 0.0 {
            let hit =
                |entries: f64| (rounds.log_unanimous(degree, entries) - share(entries).ln()).exp();
            let low = bystander.clamp(cell.concentration.low);
            let high = bystander.clamp(cell.concentration.high);
            let along = if bystander.is_point() {
                1.0
            } else {
                (high - bystander.low) / (bystander.high - bystander.low)
            };
            let chord = |f: &dyn Fn(f64) -> f64| {
                (1.0 - along) * f(bystander.low) + along * f(bystander.high)
            };
            hit_low = hit(low);
            hit_high = chord(&hit).max(hit_low);
            let miss_high = rounds.miss(degree, low);
            miss = Range::new(chord(&|c| rounds.miss(degree, c)).min(miss_high), miss_high);
            log_bystanders = (share(others.high) * hit_high).ln();
        }
        // (c/M)(1 - phi/(c/M)) is concave in c: least at an end of the range.
        let lost = |entries: f64| share(entries) * rounds.miss(degree, entries);
        let least = |range: Range| lost(range.low).min(lost(range.high));
        let most = |range: Range| share(range.high) * rounds.miss(degree, range.low);
        let success_high =
            phi(cell.loser.high) + phi(cell.gainer.high) + share(others.high) * hit_high;
        let success_low = phi(cell.loser.low) + phi(cell.gainer.low) + share(others.low) * hit_low;
        let low = least(cell.loser) + least(cell.gainer) + share(others.low) * miss.low;
        let high = most(cell.loser) + most(cell.gainer) + share(others.high) * miss.high;
        let low = low.max(1.0 - success_high - 1e-15).max(0.0);
        let high = high.min(1.0 - success_low + 1e-15).min(1.0).max(low);
        // What the move takes from the loser's phi_p and gives to the gainer's. A longer move takes
        // more and gives more; what it takes grows at most, what it gives at least, with its
        // length.
        let step = |entries: f64| rounds.step(degree, entries);
        let stretch = rounds.stretch;
        let given = rounds.longest_step(degree, cell.gainer.high + stretch);
        let delta_low = (step(cell.loser.low) - given).max(0.0);
        let delta_high =
            (stretch * (step(cell.loser.high) - step(cell.gainer.low + 1.0))).max(delta_low);
        (Range::new(low, high), Range::new(delta_low, delta_high), log_bystanders)
    }

    /// The class that loses the vote: ln(P/P') is the mean of ln-ratios that grow with the degree,
    /// so it is largest where the weights lean towards high degrees: at the largest entries, the
    /// smallest u.
    fn loser(&mut self, cell: &Cell) -> Class {
        let rounds = self.rounds;
        let (most, fewest) = (cell.loser.high, cell.loser.low);
        let mut envelope = f64::NEG_INFINITY;
        let (mut before, mut after) = (LogSum::default(), LogSum::default());
        let (mut numerator, mut denominator) = (LogSum::default(), LogSum::default());
        let (mut last_entry, mut least) = (LogSum::default(), LogSum::default());
        // From the lowest degree up, so that the envelope of the values grows with the degree.
        for d in self.degrees.iter().rev() {
            envelope = envelope.max(d.log_rho.high);
            let log_most = rounds.log_unanimous(d.power, most);
            let log_less = rounds.log_unanimous(d.power, most - 1.0);
            before.add(log_most + d.before.high);
            after.add(log_less + d.after.high);
            least.add(rounds.log_unanimous(d.power, fewest - rounds.stretch) + d.after.low);
            let log_ratio = rounds.log_step_ratio(d.power, fewest);
            if most == fewest && rounds.stretch <= 1.0 {
                numerator.add(log_most + d.after.low + envelope);
            } else if log_ratio.is_finite() {
                numerator.add(log_less + log_ratio + d.after.low + envelope);
            } else {
                // Without replacement, a class may need its last entry to be unanimous at all.
                last_entry.add(log_most + d.before.high);
                continue;
            }
            denominator.add(log_less + d.after.low);
        }
        let log_ratio = log_mean_and(numerator.log() - denominator.log(), last_entry, least);
        Class { before: before.log(), after: after.log(), log_ratio }
    }

    /// The class that gains it: ln(P'/P) is a mean of ratios that need not be monotone in the
    /// degree, so the best of three bounds is taken.
    fn gainer(&mut self, cell: &Cell) -> Class {
        let rounds = self.rounds;
        let (fewest, most) = (cell.gainer.low, cell.gainer.high);
        let (mut before, mut after) = (LogSum::default(), LogSum::default());
        let (mut last_entry, mut least) = (LogSum::default(), LogSum::default());
        for d in &mut self.degrees {
            let log_most = rounds.log_unanimous(d.power, most);
            d.weight = Range::new(
                rounds.log_unanimous(d.power, fewest) + d.before.low,
                log_most + d.before.high,
            );
            before.add(d.weight.high);
            let log_after = rounds.log_unanimous(d.power, most + rounds.stretch) + d.after.high;
            after.add(log_after);
            least.add(d.weight.low);
            let log_ratio = rounds.log_step_ratio(d.power, fewest + rounds.stretch);
            d.value = log_ratio - d.log_rho.low;
            if log_ratio.is_infinite() {
                last_entry.add(log_after);
                d.weight = NOTHING;
            }
        }
        let weight = |entries: f64, d: &Degree, log_b: f64| {
            if d.weight == NOTHING {
                return f64::NEG_INFINITY;
            }
            rounds.log_unanimous(d.power, entries) + log_b
        };
        // Values made to grow with the degree, weights that lean to high degrees ...
        let rising = log_mean(self.degrees.iter().rev(), |d| weight(most, d, d.before.low));
        // ... or values made to fall, and weights that lean to low degrees.
        let falling = log_mean(self.degrees.iter(), |d| weight(fewest, d, d.before.high));
        let mean = rising.min(falling).min(self.interval_mean());
        let log_ratio = log_mean_and(mean, last_entry, least);
        Class { before: before.log(), after: after.log(), log_ratio }
    }

    /// The bystanders together: none has a larger ratio than the smallest of them, and together
    /// they have no more than what the loser (or the gainer) leaves.
    fn bystanders(&mut self, cell: &Cell, bystander: Range) -> Class {
        let rounds = self.rounds;
        let (mut before, mut after) = (LogSum::default(), LogSum::default());
        let (mut loser, mut gainer) = (LogSum::default(), LogSum::default());
        for d in &mut self.degrees {
            d.value = -d.log_rho.low;
            before.add(d.log_bystanders + d.before.high);
            after.add(d.log_bystanders + d.after.high);
            loser.add(rounds.log_unanimous(d.power, cell.loser.low) + d.before.low);
            gainer.add(rounds.log_unanimous(d.power, cell.gainer.low + 1.0) + d.after.low);
        }
        let log_ratio = log_mean(self.degrees.iter(), |d| {
            rounds.log_unanimous(d.power, bystander.low) + d.before.high
        });
        let left = |taken: LogSum| (1.0 - taken.log().exp() + 1e-15).max(0.0).ln();
        let (before, after) = (before.log().min(left(loser)), after.log().min(left(gainer)));
        let log_ratio = if after == f64::NEG_INFINITY { 0.0 } else { log_ratio.max(0.0) };
        Class { before, after, log_ratio }
    }

    /// The largest mean of the values over all weights in their ranges: the weights of all values
    /// above some threshold are as large as may be, the others as small.
    fn interval_mean(&self) -> f64 {
        let mean_above = |threshold: f64| {
            let (mut numerator, mut denominator) = (LogSum::default(), LogSum::default());
            for d in &self.degrees {
                let weight = if d.value >= threshold { d.weight.high } else { d.weight.low };
                if weight > f64::NEG_INFINITY {
                    numerator.add(weight + d.value);
                    denominator.add(weight);
                }
            }
            numerator.log() - denominator.log()
        };
        self.degrees.iter().map(|d| mean_above(d.value)).fold(f64::NEG_INFINITY, f64::max)
    }
}

/// The weight of a degree that takes no part in a mean.
const NOTHING: Range = Range { low: f64::NEG_INFINITY, high: f64::NEG_INFINITY };

/// ln of a mean ratio plus what comes on top of it: outputs that need the last entry, over the
/// least that the denominator can be. 0 where there is neither.
fn log_mean_and(log_mean: f64, extra: LogSum, least: LogSum) -> f64 {
    let mut total = LogSum::default();
    if !log_mean.is_nan() {
        total.add(log_mean);
    }
    if extra.log() > f64::NEG_INFINITY {
        total.add(extra.log() - least.log());
    }
    total.log().max(0.0)
}

/// ln of the weighted mean of the exponentials of the values, each replaced by the largest so far.
fn log_mean<'a>(
    degrees: impl Iterator<Item = &'a Degree>,
    log_weight: impl Fn(&Degree) -> f64,
) -> f64 {
    let mut envelope = f64::NEG_INFINITY;
    let (mut numerator, mut denominator) = (LogSum::default(), LogSum::default());
    for d in degrees {
        let weight = log_weight(d);
        if d.value < f64::INFINITY {
            envelope = envelope.max(d.value);
        }
        if weight > f64::NEG_INFINITY {
            numerator.add(weight + envelope);
            denominator.add(weight);
        }
    }
    let mean = numerator.log() - denominator.log();
    // No weight at all: nothing is known of the mean but that it is no larger than the largest
    // value.
    if mean.is_nan() { envelope } else { mean }
}

/// A class, or several: the largest probability before and after the move (as logarithms), and the
/// largest |ln(P/P')|.
#[derive(Clone, Copy, Debug)]
struct Class {
    before: f64,
    after: f64,
    log_ratio: f64,
}

impl Class {
    /// The part of a class that the move makes less likely.
    fn more_likely_before(self, direction: Direction) -> Part {
        match direction {
            Direction::Forward => {
                Part { numerator: self.before, denominator: self.after, x: self.log_ratio }
            }
            Direction::Backward => {
                Part { numerator: self.after, denominator: self.before, x: -self.log_ratio }
            }
        }
    }

    /// The part of a class that the move makes more likely.
    fn less_likely_before(self, direction: Direction) -> Part {
        Self { log_ratio: -self.log_ratio, ..self }.more_likely_before(direction)
    }
}

/// Which law is P: that before the move, or that after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

impl Direction {
    const BOTH: [Self; 2] = [Self::Forward, Self::Backward];
}

/// What is known of the outputs over a cell.
#[derive(Clone, Copy, Debug)]
struct Outlook {
    loser: Class,
    gainer: Class,
    others: Class,
    /// "No label".
    failure: Class,
}

impl Outlook {
    /// All outputs but the bystanders. Only the loser is more likely before the move.
    fn rest(&self, direction: Direction) -> [Part; 3] {
        [
            self.loser.more_likely_before(direction),
            self.gainer.less_likely_before(direction),
            self.failure.less_likely_before(direction),
        ]
    }

    /// The bystanders, all with the ratio of the smallest.
    fn together(&self, direction: Direction) -> Part {
        self.others.less_likely_before(direction)
    }
}
