//! The plan: from an election to a ring, a layout, a proven noise bound, flooding and sizes.
//!
//! Every coding of the classes is tried in every ring. A ring can be taken when the noise bound of
//! the whole circuit, flooding included, leaves every slot decryptable: see [`crate::noise`]. Of
//! all that can, the one with the least work for the whole election is taken, the opening of the
//! ballots included: see [`Plan::work`].

mod audit;
mod cost;
mod figures;
pub(crate) mod memory;
mod refusal;
mod sizes;

use shield_core::Election;

pub(crate) use audit::AuditPlan;
pub use cost::{Calibration, Work};
pub use refusal::PlanError;
use refusal::{lowered, nearest};
pub(crate) use sizes::{CHECK_POLYS, RANGE};

use crate::flooding;
use crate::layout::{Coding, Layout};
use crate::noise::{self, Lengths, Noise, Ring};
use crate::quorum::{OpeningPlan, Trustees};
use crate::ring::PLAINTEXT;
use crate::unanimity::Order;
use crate::validity::{self, REPETITIONS};

/// The bound on the canonical norm of the error after each stage, in bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stages {
    pub(crate) ballot: Noise,
    pub(crate) tally: Noise,
    pub(crate) unanimity: Noise,
    pub(crate) successes: Noise,
    /// The check of the ballots.
    pub(crate) validity: Noise,
    pub(crate) released: Noise,
}

/// Everything that the engine decides for an election before any key is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    ring: Ring,
    layout: Layout,
    order: Order,
    stages: Stages,
    /// Levels of the products in sequence of unanimity, and of those over bits.
    unanimity_levels: Vec<usize>,
    success_levels: Vec<usize>,
    reveal_limbs: usize,
    flooding: u32,
    margin: f64,
    samples: usize,
    teachers: u32,
    /// Draws of one sample.
    draws: usize,
    /// The cost of every coding that was considered, in butterflies; none where no ring has room.
    considered: Vec<(Coding, Option<f64>)>,
    audit: AuditPlan,
    /// Where trustees hold the key: how they open a release.
    opening: Option<OpeningPlan>,
}

/// Ring degree, bits of a prime, number of primes: the cheapest first.
const RINGS: [(usize, u32, usize); 10] = [
    (8_192, 51, 4),
    (8_192, 42, 5),
    (16_384, 51, 5),
    (16_384, 51, 6),
    (16_384, 51, 7),
    (16_384, 51, 8),
    (32_768, 51, 8),
    (32_768, 51, 9),
    (32_768, 51, 10),
    (32_768, 51, 11),
];

/// Most rounds: successes are counted modulo t, and the count must not come round to zero.
const MAX_ROUNDS: usize = PLAINTEXT as usize - 2;

/// The codings that a plan chooses from.
const CODINGS: [Coding; 3] = [Coding::OneHot, Coding::PackedBits, Coding::BitsAcross];

/// The bound on the noise of the successes, from that of unanimity, and the level of each product
/// in sequence.
fn success_noise(ring: Ring, layout: &Layout, unanimity: Noise) -> (Noise, Vec<usize>) {
    let mut levels = Vec::new();
    let stages = layout.run_stages();
    let mut descend = |noise: Noise| {
        let noise = ring.before_product(noise);
        levels.push(noise.limbs());
        noise
    };
    let successes = match layout.coding() {
        Coding::OneHot => stages.iter().fold(unanimity, |e, s| ring.sum_of_rotations(e, s.len())),
        Coding::PackedBits => stages.iter().fold(unanimity, |noise, _| {
            let noise = descend(noise);
            ring.product(noise, ring.rotation(noise))
        }),
        Coding::BitsAcross => {
            let steps = layout.planes().next_power_of_two().ilog2();
            (0..steps).fold(unanimity, |noise, _| {
                let noise = descend(noise);
                ring.product(noise, noise)
            })
        }
    };
    (successes, levels)
}

/// Draws of one sample: the degrees of all rounds.
fn draws(polynomial: &shield_core::Polynomial) -> usize {
    polynomial.terms().iter().map(|term| term.degree as usize * term.rounds as usize).sum()
}

impl Plan {
    /// The plan for an election: the coding of classes that takes the least work.
    pub fn new(election: &Election) -> Result<Self, PlanError> {
        Self::of_codings(election, &CODINGS, None, Lengths::Assumed)
    }

    /// The plan for an election whose key trustees hold.
    pub fn with_trustees(election: &Election, trustees: Trustees) -> Result<Self, PlanError> {
        Self::of_codings(election, &CODINGS, Some(trustees), Lengths::Assumed)
    }

    /// The plan for ballots with a proof, for whatever such ballots hold: see `proof`. The student
    /// holds the key, or trustees do.
    pub fn with_proofs(election: &Election, trustees: Option<Trustees>) -> Result<Self, PlanError> {
        Self::of_codings(election, &CODINGS, trustees, Lengths::Proven)
    }

    /// The plan with a given coding, for comparisons.
    pub fn with_coding(election: &Election, coding: Coding) -> Result<Self, PlanError> {
        Self::of_codings(election, &[coding], None, Lengths::Assumed)
    }

    fn of_codings(
        election: &Election,
        codings: &[Coding],
        trustees: Option<Trustees>,
        lengths: Lengths,
    ) -> Result<Self, PlanError> {
        let polynomial = &election.setting().polynomial;
        let degree = polynomial.degree();
        if Order::new(degree, Coding::OneHot).is_none() {
            return Err(PlanError::Degree { degree, nearest: lowered(polynomial) });
        }
        let rounds = polynomial.round_count();
        if rounds > MAX_ROUNDS {
            return Err(PlanError::Rounds { rounds, largest: MAX_ROUNDS });
        }
        let plan = |rounds| Self::search(election, rounds, codings, trustees, lengths);
        plan(rounds).ok_or_else(|| PlanError::Noise { rounds, nearest: nearest(rounds, plan) })
    }

    fn search(
        election: &Election,
        rounds: usize,
        codings: &[Coding],
        trustees: Option<Trustees>,
        lengths: Lengths,
    ) -> Option<Self> {
        let mut considered = Vec::with_capacity(codings.len());
        let mut best: Option<(f64, Self)> = None;
        for &coding in codings {
            let rings = RINGS.iter().map(|&(degree, prime_bits, limbs)| Ring {
                degree,
                prime_bits,
                limbs,
                events: 0.0,
                trustees: trustees.map_or(0, |trustees| trustees.count() as u32),
                lengths,
            });
            let plans =
                rings.filter_map(|ring| Self::try_ring(election, rounds, coding, ring, trustees));
            let costs = plans.map(|plan| (plan.cost(), plan));
            let found = costs.min_by(|(a, _), (b, _)| a.total_cmp(b));
            considered.push((coding, found.as_ref().map(|(cost, _)| *cost)));
            best = match (best, found) {
                (Some(best), Some(found)) => Some(if found.0 < best.0 { found } else { best }),
                (best, found) => best.or(found),
            };
        }
        best.map(|(_, plan)| Self { considered, ..plan })
    }

    /// The plan in one ring, if the noise leaves room.
    fn try_ring(
        election: &Election,
        rounds: usize,
        coding: Coding,
        ring: Ring,
        trustees: Option<Trustees>,
    ) -> Option<Self> {
        let samples = election.samples();
        let polynomial = &election.setting().polynomial;
        let order = Order::new(polynomial.degree(), coding)?;
        let classes = election.classes().count();
        let layout = Layout::new(coding, ring.degree, classes, samples, rounds)?;
        let cells = layout.ciphertexts();
        let teachers = election.teachers() as usize;
        let sent = teachers.saturating_mul(layout.planes());
        let events = noise::events(cells * layout.released_planes(), layout.groups(), sent);
        let ring = Ring { events, ..ring };
        let drawn = layout.positions().saturating_mul(polynomial.degree() as usize);
        let tally = ring.tally(drawn.min(teachers), layout.positions());
        let (unanimity, unanimity_levels) = order.noise(ring, tally);
        let (successes, success_levels) = success_noise(ring, &layout, unanimity);
        let validity = validity::noise(ring, &layout, teachers);
        // In the tree they are summed before they are moved: one more wrap, no more noise.
        let summed = ring.combine(successes, successes, 0.0);
        let moved = (0..layout.groups().ilog2()).fold(summed, |e, _| ring.rotation(e));
        let check = ring.drop_to(validity, moved.limbs());
        let larger = if moved.bound() > check.bound() { moved } else { check };
        let reveal_limbs = ring.lowest_level(larger);
        let outcome = if coding == Coding::OneHot { unanimity } else { tally };
        let [outcome, moved] = [outcome, moved].map(|noise| ring.drop_to(noise, reveal_limbs));
        // Every cell's successes enter a target once, in whichever sum they are.
        let released = ring.masked(outcome, moved, cells * layout.groups());
        let check = ring.drop_to(validity, reveal_limbs);
        let released = ring.masked(released, check, REPETITIONS);
        let released = ring.combine(released, ring.drop_to(ring.fresh(), ring.limbs), 1.0);
        let stages =
            Stages { ballot: ring.ballot(), tally, unanimity, successes, validity, released };
        let audit = AuditPlan::new(ring, &layout, teachers)?;
        let mut plan = Self {
            ring,
            layout,
            order,
            stages,
            unanimity_levels,
            success_levels,
            reveal_limbs,
            flooding: 0,
            margin: 0.0,
            samples,
            teachers: election.teachers(),
            draws: draws(polynomial),
            considered: Vec::new(),
            audit,
            opening: None,
        };
        plan.flooding = flooding::bits(released.bound(), plan.released_ciphertexts());
        let total = (2_f64.powf(flooding::magnitude(plan.flooding)) + released.bound()).log2();
        plan.margin = ring.limit(released.limbs()) - total;
        if let Some(trustees) = trustees {
            let opening = OpeningPlan::new(trustees, ring, released, plan.released_ciphertexts())?;
            (plan.flooding, plan.margin) = (opening.flooding, opening.margin);
            plan.opening = Some(opening);
        }
        (plan.margin >= 0.0 && plan.security_bits() >= 128).then_some(plan)
    }

    /// Where everything lies in a ciphertext.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// How classes are written in slots.
    pub fn coding(&self) -> Coding {
        self.layout.coding()
    }

    /// Why classes are written as they are: what every coding would cost, beside this one.
    pub fn coding_reason(&self) -> String {
        let own = self.cost();
        let compare = |(coding, cost): &(Coding, Option<f64>)| match cost {
            Some(_) if *coding == self.coding() => format!("{coding} takes the least work"),
            Some(cost) => format!("{coding} {:.1} times as much", cost / own),
            None => format!("{coding} does not fit into any ring"),
        };
        let (own, other): (Vec<_>, Vec<_>) =
            self.considered.iter().partition(|(coding, _)| *coding == self.coding());
        own.into_iter().chain(other).map(compare).collect::<Vec<_>>().join(", ")
    }

    /// Bytes that one teacher sends for the whole election.
    pub fn teacher_bytes(&self) -> usize {
        self.batches() * self.ballot_bytes()
    }

    /// Bytes that the server takes in for the whole election: ballots of all teachers, and its key.
    pub fn server_bytes(&self) -> usize {
        self.teachers as usize * self.teacher_bytes() + self.evaluation_key_bytes()
    }

    /// Bytes that the student fetches for the whole election.
    pub fn student_bytes(&self) -> usize {
        self.batches() * self.result_bytes()
    }

    /// Seconds that one thread takes for a full batch, by a calibration.
    pub fn seconds_per_batch(&self, calibration: &Calibration) -> f64 {
        calibration.seconds(self.work())
    }

    /// The common degree of the rounds.
    pub fn order(&self) -> Order {
        self.order
    }
}

#[cfg(test)]
mod tests;
