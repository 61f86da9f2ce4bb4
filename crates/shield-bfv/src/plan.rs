//! The plan: from an election to a ring, a layout, a proven noise bound, flooding and sizes.
//!
//! Candidate rings are tried from the cheapest up. A ring is taken when the noise bound of the
//! whole circuit, flooding included, leaves every slot decryptable: see [`crate::noise`].

mod refusal;

use serde::Serialize;
use shield::Election;

pub use refusal::PlanError;
use refusal::{lowered, nearest};

use crate::audit::Packing;
use crate::codec;
use crate::composable;
use crate::flooding;
use crate::layout::Layout;
use crate::noise::{self, Noise, Ring};
use crate::ring::PLAINTEXT;
use crate::security::security_bits;
use crate::unanimity::Order;
use crate::validity::REPETITIONS;

/// What the student gets for each sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseMode {
    /// One clean cell among uniform junk, at a secret place: the shallow circuit.
    #[default]
    Reveal,
    /// An encryption of the one-hot label, as the paper outputs it. Such encryptions can be added
    /// up.
    Composable,
}

impl std::str::FromStr for ReleaseMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "reveal" => Ok(Self::Reveal),
            "composable" => Ok(Self::Composable),
            _ => Err(format!("`{text}` is not a release mode; it must be reveal or composable")),
        }
    }
}

impl std::fmt::Display for ReleaseMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Reveal => "reveal",
            Self::Composable => "composable",
        })
    }
}

/// The bound on the canonical norm of the error after each stage, in bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stages {
    pub(crate) fresh: Noise,
    pub(crate) tally: Noise,
    pub(crate) unanimity: Noise,
    pub(crate) sums: Noise,
    /// The check of the ballots.
    pub(crate) validity: Noise,
    pub(crate) released: Noise,
}

/// Everything that the engine decides for an election before any key is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    release: ReleaseMode,
    ring: Ring,
    layout: Layout,
    order: Order,
    stages: Stages,
    reveal_limbs: usize,
    flooding: u32,
    margin: f64,
    samples: usize,
    audit: Packing,
}

/// Ring degree, bits of a prime, number of primes: the cheapest first.
const RINGS: [(usize, u32, usize); 16] = [
    (8_192, 51, 3),
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
    (32_768, 51, 12),
    (32_768, 51, 13),
    (32_768, 51, 14),
    (32_768, 51, 16),
    (32_768, 51, 17),
];

/// Most classes: with more, a position no longer fits twice in the smallest ring's row.
const MAX_CLASSES: usize = 1_024;

/// Most rounds of a reveal: it counts successes modulo t, and the count must not come round to
/// zero.
const MAX_REVEAL_ROUNDS: usize = PLAINTEXT as usize - 2;

impl Plan {
    /// The plan for an election.
    pub fn new(election: &Election, release: ReleaseMode) -> Result<Self, PlanError> {
        let polynomial = &election.setting().polynomial;
        let classes = election.classes().count();
        if classes > MAX_CLASSES {
            return Err(PlanError::Classes { classes, largest: MAX_CLASSES });
        }
        let Some(order) = Order::new(polynomial.degree()) else {
            let degree = polynomial.degree();
            return Err(PlanError::Degree { degree, nearest: lowered(polynomial) });
        };
        let rounds = polynomial.round_count();
        if release == ReleaseMode::Reveal && rounds > MAX_REVEAL_ROUNDS {
            return Err(PlanError::Rounds { rounds, largest: MAX_REVEAL_ROUNDS });
        }
        Self::search(election, order, rounds, release).ok_or_else(|| PlanError::Noise {
            rounds,
            release,
            nearest: nearest(election, order, rounds, release),
        })
    }

    fn search(
        election: &Election,
        order: Order,
        rounds: usize,
        release: ReleaseMode,
    ) -> Option<Self> {
        RINGS
            .iter()
            .map(|&(degree, prime_bits, limbs)| Ring { degree, prime_bits, limbs, events: 0.0 })
            .find_map(|ring| Self::try_ring(election, order, rounds, release, ring))
    }

    /// The plan in one ring, if the noise leaves room.
    fn try_ring(
        election: &Election,
        order: Order,
        rounds: usize,
        release: ReleaseMode,
        ring: Ring,
    ) -> Option<Self> {
        let samples = election.samples();
        let layout = Layout::new(ring.degree, election.classes().count(), samples, rounds)?;
        let teachers = election.teachers() as usize;
        let events = noise::events(layout.ciphertexts(), layout.groups(), teachers);
        let ring = Ring { events, ..ring };
        let degree = election.setting().polynomial.degree() as usize;
        let drawn = layout.positions().saturating_mul(degree);
        let ballots = drawn.min(teachers);
        let tally = ring.tally(ballots, layout.positions());
        let unanimity = order.noise(ring, tally);
        let sums = ring.class_sum(unanimity, layout.run());
        let slots = layout.run() * layout.groups();
        let validity = ring.validity(teachers, layout.positions(), slots);
        let (released, ciphertexts, reveal_limbs) = match release {
            ReleaseMode::Reveal => {
                let moved = (0..layout.groups().ilog2()).fold(sums, |e, _| ring.rotation(e));
                let larger = if moved.bound() > validity.bound() { moved } else { validity };
                let level = ring.lowest_level(larger);
                let (a, b) = (ring.drop_to(unanimity, level), ring.drop_to(moved, level));
                let terms = layout.ciphertexts() * layout.groups();
                (ring.masked(a, b, terms), layout.ciphertexts(), level)
            }
            ReleaseMode::Composable => {
                let released = composable::noise(ring, &layout, unanimity);
                (released, 1, ring.limbs)
            }
        };
        let check = ring.drop_to(validity, reveal_limbs);
        let released = ring.masked(released, check, REPETITIONS);
        let released = ring.combine(released, ring.drop_to(ring.fresh(), ring.limbs), 1.0);
        let flooding = flooding::bits(released.bound(), ciphertexts);
        let total = (2_f64.powf(flooding::magnitude(flooding)) + released.bound()).log2();
        let margin = ring.limit(released.limbs()) - total;
        let stages = Stages { fresh: ring.fresh(), tally, unanimity, sums, validity, released };
        let audit = Packing::new(ring, &layout, teachers)?;
        let plan = Self {
            release,
            ring,
            layout,
            order,
            stages,
            reveal_limbs,
            flooding,
            margin,
            samples,
            audit,
        };
        (margin >= 0.0 && plan.security_bits() >= 128).then_some(plan)
    }

    /// What the student gets.
    pub fn release(&self) -> ReleaseMode {
        self.release
    }

    /// Where everything lies in a ciphertext.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The common degree of the rounds.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Coefficients of the ring.
    pub fn ring_degree(&self) -> usize {
        self.ring.degree
    }

    /// Bits of each prime of the ciphertext modulus.
    pub fn moduli_bits(&self) -> Vec<u32> {
        vec![self.ring.prime_bits; self.ring.limbs]
    }

    /// Bits of the ciphertext modulus.
    pub fn log_q(&self) -> u32 {
        self.ring.prime_bits * self.ring.limbs as u32
    }

    /// The plaintext modulus.
    pub fn plaintext_modulus(&self) -> u64 {
        PLAINTEXT
    }

    /// Security by the table of [`crate::security`].
    pub fn security_bits(&self) -> u32 {
        security_bits(self.ring.degree, self.log_q()).unwrap_or(0)
    }

    /// Samples in a full batch.
    pub fn samples_per_batch(&self) -> usize {
        self.layout.samples()
    }

    /// Batches of the election.
    pub fn batches(&self) -> usize {
        self.samples.div_ceil(self.samples_per_batch())
    }

    /// Products of ciphertexts a batch.
    pub fn products(&self) -> usize {
        let unanimity = self.layout.ciphertexts() * self.order.products();
        match self.release {
            ReleaseMode::Reveal => unanimity,
            ReleaseMode::Composable => unanimity + composable::products(&self.layout),
        }
    }

    /// Products of ciphertexts in sequence.
    pub fn depth(&self) -> u32 {
        match self.release {
            ReleaseMode::Reveal => self.order.depth(),
            ReleaseMode::Composable => self.order.depth() + composable::depth(&self.layout),
        }
    }

    /// Rotations of ciphertexts a batch.
    pub fn rotations(&self) -> usize {
        let sums = self.layout.run().ilog2() as usize;
        let (ciphertexts, groups) = (self.layout.ciphertexts(), self.layout.groups());
        let check = REPETITIONS * (sums + groups.ilog2() as usize);
        let release = match self.release {
            ReleaseMode::Reveal => ciphertexts * (sums + groups - 1),
            ReleaseMode::Composable => ciphertexts * sums + composable::rotations(&self.layout),
        };
        check + release
    }

    /// Bits by which the released noise stays below what would spoil a slot, at worst.
    pub fn noise_margin_bits(&self) -> f64 {
        self.margin
    }

    /// Bits of each of the three uniform integers that flood a coefficient.
    pub fn flooding_bits(&self) -> u32 {
        self.flooding
    }

    /// Bytes of one teacher's ballot for one batch.
    pub fn ballot_bytes(&self) -> usize {
        codec::ballot_bytes(self)
    }

    /// Bytes of the public key.
    pub fn public_key_bytes(&self) -> usize {
        codec::public_key_bytes(self)
    }

    /// Bytes of the evaluation key.
    pub fn evaluation_key_bytes(&self) -> usize {
        codec::evaluation_key_bytes(self)
    }

    /// Bytes that the student downloads for one batch.
    pub fn result_bytes(&self) -> usize {
        codec::release_bytes(self)
    }

    /// Ciphertexts in a release.
    pub(crate) fn released_ciphertexts(&self) -> usize {
        match self.release {
            ReleaseMode::Reveal => self.layout.ciphertexts(),
            ReleaseMode::Composable => 1,
        }
    }

    /// How an audit packs the checks of single teachers.
    pub(crate) fn audit(&self) -> Packing {
        self.audit
    }

    /// Bytes of an audit of one batch.
    pub fn audit_bytes(&self) -> usize {
        codec::audit_bytes(self)
    }

    pub(crate) fn ring(&self) -> Ring {
        self.ring
    }

    pub(crate) fn reveal_limbs(&self) -> usize {
        self.reveal_limbs
    }

    /// Bits of the noise bound after each stage: the canonical norm, of log2 Q bits.
    pub fn noise_bits(&self) -> [(&'static str, f64); 6] {
        let Stages { fresh, tally, unanimity, sums, validity, released } = self.stages;
        [
            ("fresh", fresh.bits()),
            ("tally", tally.bits()),
            ("unanimity", unanimity.bits()),
            ("sums over classes", sums.bits()),
            ("check of the ballots", validity.bits()),
            ("release, before flooding", released.bits()),
        ]
    }

    #[cfg(test)]
    pub(crate) fn stages(&self) -> Stages {
        self.stages
    }
}

#[cfg(test)]
mod tests;
