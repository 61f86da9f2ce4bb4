//! The plan: from an election and its noise to a ring, a pairing, levels, a proven noise bound,
//! flooding, sizes and a time.
//!
//! **Range.** A difference of noisy counts beyond R gets an arbitrary sign. With n ballots of at
//! most B each, a difference of counts is at most n B, so it passes R only if the noise passes
//! R - n B. A wrong label needs a pair of the winner out of range. At most one class has more than
//! half of all votes, so at most K - 1 pairs differ by more than n B / 2, and a union bound over
//! these and all others is below 2^-50 per sample for the R taken: for the worst votes, which are
//! unanimous. What is out of range may show more of the noisy counts than the label, so its chance
//! is the one that the price of a label pays for ([`SHOWN`]).
//!
//! **Everything else** is tried out: rings, runs, blocks and where the first prime is dropped, each
//! by running the circuit on bounds alone (`circuit::Estimate`). Of all that leave room
//! for noise and flooding at 128 bits of security, the fastest is taken.

mod figures;
mod kind;
mod refusal;
mod rings;

use shield_core::Election;
use shield_core::shared_noise::SharedNoise;
use shield_privacy::shared_argmax::SHOWN;
use shield_privacy::skellam::Sensitivity;

use super::circuit::{Bounded, Circuit, Estimate};
use super::comparison::Blocks;
use super::mlwe::{Grid, Module, Route};
use super::pairing::Pairing;
use super::sign::MAX_RANGE;
use super::wins::Steps;
use crate::flooding;
use crate::noise::{Lengths, Noise, Ring};
use crate::proof::REPETITIONS;
use crate::quorum::{OpeningPlan, Trustees};

pub use kind::BallotKind;
pub use refusal::ArgmaxPlanError;
use rings::Candidate;
pub(crate) use rings::Rings;

/// Most classes: the comparisons grow with their square.
pub const MAX_CLASSES: usize = 64;

/// Bits of every prime.
const PRIME_BITS: u32 = 51;

/// Seconds of one core for one transform, divided by N log2 N, with AVX-512 IFMA. Without it,
/// everything takes about eight times as long; what is chosen is the same.
const TRANSFORM: f64 = 2.4e-10;

/// The most votes that a class can have.
fn votes_of(teachers: u32, sensitivity: Sensitivity) -> u64 {
    u64::from(teachers) * u64::from(sensitivity.bound())
}

/// The bound on the noise after each stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stages {
    pub(crate) tally: Noise,
    pub(crate) difference: Noise,
    pub(crate) sign: Noise,
    pub(crate) released: Noise,
}

/// Everything that the engine decides for an election before any key is made.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgmaxPlan {
    ring: Ring,
    pairing: Pairing,
    grid: Option<Grid>,
    teachers: usize,
    blocks: Blocks,
    start: usize,
    wins: usize,
    steps: Steps,
    stages: Stages,
    flooding: u32,
    margin: f64,
    failure_bits: f64,
    products: usize,
    relinearisations: usize,
    rotations: usize,
    seconds: f64,
    samples: usize,
    classes: usize,
    /// Where trustees hold the key: how they open a release.
    opening: Option<OpeningPlan>,
}

/// The pairings that are worth a try in runs of that many slots.
fn pairings(classes: usize, run: usize, module: Option<Module>) -> Vec<Pairing> {
    let block = module.map_or(1, |module| run / module.degree());
    let sparing = (block > 2).then(|| Pairing::sparing(classes, run, block));
    let all = std::iter::once(Pairing::new(classes, run)).chain(sparing);
    all.filter(|pairing| !pairing.evaluations().is_empty()).collect()
}

/// The numbers of an election that a plan depends on.
#[derive(Clone, Copy)]
struct Demand {
    teachers: usize,
    classes: usize,
    samples: usize,
    range: usize,
    trustees: Option<Trustees>,
    lengths: Lengths,
    /// Of tiny ballots: the module, and how many classes are voted for.
    module: Option<(Module, usize)>,
}

impl ArgmaxPlan {
    /// The plan for an election's teachers, classes and samples, with checked ballots.
    pub fn new(
        election: &Election,
        noise: &SharedNoise,
        sensitivity: Sensitivity,
        threshold: Option<u32>,
    ) -> Result<Self, ArgmaxPlanError> {
        Self::of_kind(BallotKind::Checked, election, noise, sensitivity, threshold)
    }

    /// The same for an election whose key trustees hold.
    pub fn with_trustees(
        election: &Election,
        noise: &SharedNoise,
        sensitivity: Sensitivity,
        threshold: Option<u32>,
        trustees: Trustees,
    ) -> Result<Self, ArgmaxPlanError> {
        let of = (sensitivity, threshold);
        let (kind, lengths) = (BallotKind::Checked, Lengths::Assumed);
        Self::held_by(election, noise, of, Rings::Secure, Some(trustees), kind, lengths)
    }

    /// The plan with either kind of ballots.
    pub fn of_kind(
        kind: BallotKind,
        election: &Election,
        noise: &SharedNoise,
        sensitivity: Sensitivity,
        threshold: Option<u32>,
    ) -> Result<Self, ArgmaxPlanError> {
        let of = (sensitivity, threshold);
        Self::held_by(election, noise, of, Rings::Secure, None, kind, Lengths::Assumed)
    }

    /// The same for ballots of votes with a proof, for whatever such ballots hold: see `proof`.
    pub fn with_proofs(
        election: &Election,
        noise: &SharedNoise,
        threshold: Option<u32>,
        trustees: Option<Trustees>,
    ) -> Result<Self, ArgmaxPlanError> {
        let of = (Sensitivity::Vote, threshold);
        let (kind, lengths) = (BallotKind::Checked, Lengths::Proven);
        Self::held_by(election, noise, of, Rings::Secure, trustees, kind, lengths)
    }

    pub(crate) fn held_by(
        election: &Election,
        noise: &SharedNoise,
        (sensitivity, threshold): (Sensitivity, Option<u32>),
        rings: Rings,
        trustees: Option<Trustees>,
        kind: BallotKind,
        lengths: Lengths,
    ) -> Result<Self, ArgmaxPlanError> {
        // A threshold is the count of a class more.
        let classes = election.classes().count() + usize::from(threshold.is_some());
        if classes > MAX_CLASSES {
            return Err(ArgmaxPlanError::Classes { classes });
        }
        let teachers = election.teachers();
        let votes = votes_of(teachers, sensitivity);
        let above = |votes: &u32| u64::from(*votes) > votes_of(teachers, sensitivity);
        if let Some(threshold) = threshold.filter(above) {
            return Err(ArgmaxPlanError::Threshold { threshold, votes });
        }
        let law = noise.difference_law(teachers);
        let failure = |range: usize| {
            let tail = |votes: u64| law.at_least(range as i64 + 1 - votes as i64);
            // A threshold may differ as much from the winner, or from all others. It has no noise,
            // and one noise is beyond a point at most twice as often as the difference of two.
            let far = if threshold.is_some() { 2 * classes } else { classes - 1 } as f64;
            let near = (classes * classes) as f64;
            (far * tail(votes) + near * tail(votes / 2)).max(f64::MIN_POSITIVE)
        };
        let range = (1..=MAX_RANGE)
            .find(|&range| range as u64 >= votes && failure(range) <= SHOWN)
            .ok_or(ArgmaxPlanError::Range { votes, noise: noise.scale().get() })?;
        let (teachers, samples) = (teachers as usize, election.samples());
        let voted = election.classes().count();
        let module = match kind {
            BallotKind::Checked => None,
            BallotKind::Tiny => Some((rings.module(noise, voted)?, voted)),
        };
        let demand = Demand { teachers, classes, samples, range, trustees, lengths, module };
        let mut best: Option<Self> = None;
        let candidates = rings.candidates();
        let mut run = classes.next_power_of_two();
        loop {
            let pairings = pairings(classes, run, module.map(|(module, _)| module));
            for (pairing, &candidate) in
                pairings.iter().flat_map(|p| candidates.iter().map(move |c| (p, c)))
            {
                if let Some(plan) = Self::try_out(demand, pairing, candidate, rings)
                    && best.as_ref().is_none_or(|best| plan.total() < best.total())
                {
                    best = Some(plan);
                }
            }
            let single = pairings.iter().all(|pairing| pairing.evaluations().len() == 1);
            if single || run >= 4_096 {
                break;
            }
            run *= 2;
        }
        let mut plan = best.ok_or(ArgmaxPlanError::Noise { range })?;
        plan.failure_bits = -failure(plan.blocks.range()).log2();
        Ok(plan)
    }

    /// Seconds of all batches.
    fn total(&self) -> f64 {
        self.seconds * self.batches() as f64
    }

    /// The plan with one candidate, if the noise leaves room.
    fn try_out(
        demand: Demand,
        pairing: &Pairing,
        candidate: Candidate,
        rings: Rings,
    ) -> Option<Self> {
        let Candidate { degree, limbs, mut start, babies } = candidate;
        let blocks = Blocks { babies, count: (demand.range + 1).div_ceil(babies).max(2) };
        let grid = match demand.module {
            None => None,
            Some((module, voted)) => {
                // The differences of tiny ballots begin one prime lower.
                start -= 1;
                Some(Grid::new(module, degree, voted, pairing)?)
            }
        };
        let positions = degree / pairing.run();
        let log_q = PRIME_BITS * limbs as u32;
        if positions < 2 || blocks.range() > MAX_RANGE || !rings.accepts(degree, log_q) {
            return None;
        }
        let evaluations = pairing.evaluations().len();
        let steps = Steps::new(pairing);
        // More random polynomials than the bounds of a batch speak of.
        let route = grid.map(|grid| Route::new(grid.module(), evaluations));
        let front = route.map_or(0, |route| route.events(evaluations));
        let operations =
            evaluations * (4 * (babies + blocks.count) + 64) + steps.masks() + 64 + front;
        let events = ((8 * operations + 4 * demand.teachers) as f64).log2().max(12.0);
        let trustees = demand.trustees.map_or(0, |trustees| trustees.count() as u32);
        let lengths = demand.lengths;
        let ring = Ring { degree, prime_bits: PRIME_BITS, limbs, events, trustees, lengths };
        let estimate = Estimate::default();
        let circuit = Circuit { ring, arithmetic: &estimate };

        let fresh = ring.fresh();
        let [tally, difference] = match route {
            None => Self::differences(demand.teachers, pairing, ring, &estimate),
            Some(route) => {
                route.spend(&estimate, limbs, evaluations);
                route.noise(ring)
            }
        };
        let dropped = ring.drop_to(difference, start);
        let factor = if route.is_some() { 1.0 } else { 2.0 };
        let scaled = ring.combine(Noise::new(0.0, start), dropped, factor);
        let difference = Noise::new(scaled.bound() + ring.wrap(), start);

        let coefficients = vec![0; blocks.babies * blocks.count];
        let y = || Bounded { value: (), noise: difference };
        let mut sign = difference;
        for _ in 0..evaluations {
            sign = circuit.sign(y(), blocks, &coefficients).noise;
        }
        if sign.bits() > ring.limit(sign.limbs()) {
            return None;
        }
        let fits = |&l: &usize| ring.drop_to(sign, l).bound() >= ring.switch(l);
        let wins = (1..sign.limbs()).find(fits).unwrap_or(sign.limbs());
        let released = steps.noise(ring, ring.drop_to(sign, wins));
        let rotations = steps.rotations(evaluations);
        (0..rotations).for_each(|_| estimate.rotation(wins));
        (0..steps.masks()).for_each(|_| estimate.masked(wins));
        estimate.spend(12.0 * wins as f64);
        let released = ring.combine(released, Noise::new(fresh.bound(), wins), 1.0);
        let mut flooding = flooding::bits(released.bound(), 1);
        let total = (2_f64.powf(flooding::magnitude(flooding)) + released.bound()).log2();
        let mut margin = ring.limit(wins) - total;
        let mut opening = None;
        if let Some(trustees) = demand.trustees {
            let found = OpeningPlan::new(trustees, ring, released, 1)?;
            (flooding, margin, opening) = (found.flooding, found.margin, Some(found));
        }
        let seconds = estimate.work() * degree as f64 * f64::from(degree.ilog2()) * TRANSFORM;
        (margin >= 0.0 && margin.is_finite()).then(|| Self {
            ring,
            pairing: pairing.clone(),
            grid,
            teachers: demand.teachers,
            blocks,
            start,
            wins,
            steps,
            stages: Stages { tally, difference, sign, released },
            flooding,
            margin,
            failure_bits: 0.0,
            products: estimate.products(),
            relinearisations: estimate.relinearisations(),
            rotations: rotations
                + route.map_or(pairing.furthest(), |route| route.rotations(evaluations)),
            seconds,
            samples: demand.samples,
            classes: demand.classes,
            opening,
        })
    }

    /// The noise of the sum of checked ballots and of its differences, whose cost is counted.
    fn differences(
        teachers: usize,
        pairing: &Pairing,
        ring: Ring,
        estimate: &Estimate,
    ) -> [Noise; 2] {
        let (limbs, evaluations) = (ring.limbs, pairing.evaluations().len());
        let teachers = teachers as f64;
        let tally = Noise::new(teachers * (ring.ballot().bound() + ring.wrap()), limbs);
        estimate.spend(teachers * 1.6 * limbs as f64);
        if ring.lengths == Lengths::Proven {
            // Three transforms an answer, and about as much again to turn, round and hash.
            estimate.spend(teachers * 6.0 * REPETITIONS as f64 * limbs as f64);
        }
        let furthest = (0..pairing.furthest()).fold(tally, |e, _| ring.rotation(e));
        (0..pairing.furthest()).for_each(|_| estimate.rotation(limbs));
        let distances = |i| pairing.distances(i).len();
        let most = (0..evaluations).map(distances).max().unwrap_or(1);
        let difference = if most == 1 {
            ring.combine(tally, furthest, 1.0)
        } else {
            (0..evaluations).for_each(|i| (0..distances(i)).for_each(|_| estimate.masked(limbs)));
            ring.masked(tally, furthest, most)
        };
        [tally, difference]
    }
}
