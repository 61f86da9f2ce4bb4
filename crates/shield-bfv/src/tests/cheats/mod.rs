//! A library of cheating teachers, and what becomes of them.

mod attacks;
mod audits;
mod limits;
mod malformed;
mod soundness;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use shield_core::Seed;
use shield_core::engine::{BallotBox, Encoding, Engine, MemoryBallotBox, Presence, Revealed};

use super::{Fixture, shape};
use crate::layout::Layout;
use crate::ring::{Modulus, PLAINTEXT};
use crate::{BfvBallot, BfvEngine, Coding};

/// The class that cheats want to win.
const WANTED: usize = 3;

/// A slot that a cheat writes.
pub(crate) struct Slot<'a> {
    pub(crate) rng: &'a mut ChaCha20Rng,
    pub(crate) layout: &'a Layout,
    pub(crate) plane: usize,
    pub(crate) group: usize,
    /// Its number in the run: the class, where classes are one-hot.
    pub(crate) number: usize,
}

impl Slot<'_> {
    /// What a vote for the wanted class has there, or for another where there are fewer.
    fn vote(&self) -> u64 {
        u64::from(self.layout.is_one(WANTED % self.layout.classes(), self.plane, self.number))
    }
}

/// What a cheat writes.
type Forgery = fn(Slot<'_>) -> u64;

/// Cheats that the check must find where classes are one-hot.
const ONE_HOT: [(&str, Forgery); 10] = [
    ("minus one", |at| if at.number == WANTED { PLAINTEXT - 1 } else { 0 }),
    ("four", |at| if at.number == WANTED { 4 } else { 0 }),
    ("a thousand", |at| if at.number == WANTED { 1_000 } else { 0 }),
    ("all ones", |at| u64::from(at.number < 10)),
    ("all zeros", |_| 0),
    ("junk", |at| at.rng.random_range(0..PLAINTEXT)),
    ("padding only", |at| u64::from(at.number == 12)),
    ("a vote and padding", |at| match at.number {
        WANTED => 1,
        12 => PLAINTEXT - 1,
        _ => 0,
    }),
    // Sum and sum of squares are 1.
    ("sums of a vote", |at| {
        let t = Modulus::new(PLAINTEXT);
        match at.number {
            WANTED => PLAINTEXT - 1,
            5 => t.mul(2, t.inv(257)),
            6 => t.mul(512, t.inv(257)),
            _ => 0,
        }
    }),
    ("two votes", |at| u64::from(at.number == WANTED || at.number == 4)),
];

/// A vote for another class in every group: no cheat where there is but one group.
const DIFFERENT_COPIES: (&str, Forgery) =
    ("different copies", |at| u64::from(at.number == (WANTED + at.group) % 10));

/// Cheats that the check must find where classes are in bits.
const BITS: [(&str, Forgery); 4] = [
    ("minus ones", |at| (PLAINTEXT - at.vote()) % PLAINTEXT),
    ("a thousand", |at| 1_000 * at.vote()),
    ("different copies in a run", |at| match at.layout.run() {
        1 => 2,
        run => at.vote() ^ u64::from(at.number + 1 == run),
    }),
    ("different copies in groups", |at| match at.layout.groups() {
        1 => 2,
        groups => at.vote() ^ u64::from(at.group + 1 == groups),
    }),
];

/// Cheats that the check must find in a layout.
fn cheats(layout: &Layout) -> Vec<(&'static str, Forgery)> {
    if layout.coding() != Coding::OneHot {
        return BITS.into();
    }
    let copies = (layout.groups() > 1).then_some(DIFFERENT_COPIES);
    ONE_HOT.into_iter().chain(copies).collect()
}

/// The slots of the first ciphertext of a ballot that says what a forgery does on the samples that
/// `cheated` names, and votes for the wanted class elsewhere.
pub(crate) fn forged_slots(
    engine: &BfvEngine,
    forgery: impl Fn(Slot<'_>) -> u64,
    cheated: &[usize],
) -> Vec<u64> {
    forged_planes(engine, forgery, cheated).swap_remove(0)
}

fn forged_planes(
    engine: &BfvEngine,
    forgery: impl Fn(Slot<'_>) -> u64,
    cheated: &[usize],
) -> Vec<Vec<u64>> {
    let layout = engine.plan().layout();
    let mut rng = ChaCha20Rng::seed_from_u64(77);
    let plane = |plane: usize| {
        let mut slots = vec![0; layout.degree()];
        for group in 0..layout.groups() {
            for sample in 0..engine.batch(0).len() {
                let places = engine.places().slots(group, sample);
                for (number, &place) in places.iter().enumerate() {
                    let at = Slot { rng: &mut rng, layout, plane, group, number };
                    let honest = !cheated.contains(&sample);
                    slots[place as usize] = if honest { at.vote() } else { forgery(at) };
                }
            }
        }
        slots
    };
    (0..layout.planes()).map(plane).collect()
}

/// A ballot that says what a forgery does on the samples that `cheated` names, and votes for the
/// wanted class elsewhere.
pub(crate) fn forged(
    fixture: &Fixture,
    forgery: impl Fn(Slot<'_>) -> u64,
    cheated: &[usize],
) -> BfvBallot {
    let Fixture { engine, keys, .. } = fixture;
    let mut rng = ChaCha20Rng::seed_from_u64(78);
    let mut encrypted = |slots: Vec<u64>| {
        let context = engine.context();
        let mut ciphertext = keys.public.key.zero(context, context.limbs(), &mut rng);
        ciphertext.add_slots(context, slots);
        ciphertext
    };
    let planes = forged_planes(engine, forgery, cheated);
    let ciphertexts = planes.into_iter().map(&mut encrypted).collect();
    let presence = Presence::new(engine.batch(0).map(|_| true));
    let (key, digest) = (keys.public.id, [0; 32]);
    let ballot = BfvBallot { ciphertexts, presence, batch: 0, key, digest, proof: None };
    // Through bytes, as a cheat would send it.
    let bytes = engine.encode_ballot(&ballot);
    engine.decode_ballot(&bytes, 0, keys.public.id).expect("a ballot in form")
}

/// The fixture's ballots with some replaced.
pub(crate) fn replaced(
    fixture: &Fixture,
    cheats: &[(u32, BfvBallot)],
) -> MemoryBallotBox<BfvBallot> {
    let samples = fixture.engine.batch(0).len();
    replaced_in(&fixture.ballots, fixture.case.election.teachers(), samples, cheats)
}

/// The ballots of a box with some replaced.
pub(crate) fn replaced_in(
    ballots: &MemoryBallotBox<BfvBallot>,
    teachers: u32,
    samples: usize,
    cheats: &[(u32, BfvBallot)],
) -> MemoryBallotBox<BfvBallot> {
    let own = |teacher| ballots.open(teacher).ok().map(std::borrow::Cow::into_owned);
    let forged = |teacher| cheats.iter().find(|(t, _)| *t == teacher).map(|(_, b)| b.clone());
    let ballots = (0..teachers).map(|teacher| forged(teacher).or_else(|| own(teacher)));
    MemoryBallotBox::new(samples, ballots.collect())
}

/// Twelve teachers, ten classes, four rounds, one-hot.
fn fixture(samples: usize) -> Fixture {
    Fixture::with_coding(shape(12, 10, samples, "2X^2+2X"), Coding::OneHot)
}

/// One group, and several; every coding, with copies in a run and with padding.
fn fixtures() -> Vec<Fixture> {
    let one_hot = [(300, 1), (100, 4)].map(|(samples, groups)| {
        let fixture = fixture(samples);
        assert_eq!(fixture.engine.plan().layout().groups(), groups);
        fixture
    });
    let bits = [
        (Coding::PackedBits, 10, 600),
        (Coding::PackedBits, 10, 60),
        (Coding::PackedBits, 2, 60),
        (Coding::PackedBits, 300, 60),
        (Coding::BitsAcross, 10, 5_000),
        (Coding::BitsAcross, 10, 2_000),
        (Coding::BitsAcross, 10, 60),
    ];
    let bits = bits.map(|(coding, classes, samples)| {
        Fixture::with_coding(shape(8, classes, samples, "X^2+2X"), coding)
    });
    one_hot.into_iter().chain(bits).collect()
}

/// What the student reads with these ballots.
fn inspect(fixture: &Fixture, ballots: &MemoryBallotBox<BfvBallot>, seed: &Seed) -> Revealed {
    let Fixture { engine, keys, .. } = fixture;
    let release = engine.aggregate(&keys.evaluation, 0, ballots, seed).expect("a release");
    engine.inspect(&keys.secret, 0, &release).expect("labels")
}
