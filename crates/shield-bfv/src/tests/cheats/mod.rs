//! A library of cheating teachers, and what becomes of them.

mod attacks;
mod audits;
mod bits;
mod limits;
mod soundness;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use shield::backend::{Backend, BackendBytes, BallotBox, MemoryBallotBox, Presence};

use super::{Fixture, shape};
use crate::ring::{Modulus, PLAINTEXT};
use crate::{BfvBallot, Coding, Design, ReleaseMode};

/// The class that cheats want to win.
const WANTED: usize = 3;

/// What a cheat writes into slot `class` of a run, in group `group` of sample `sample`.
pub(crate) type Forgery = fn(&mut ChaCha20Rng, usize, usize) -> u64;

/// Cheats that the check must find: a name, what they write on the samples they cheat on.
const CHEATS: [(&str, Forgery); 10] = [
    ("minus one", |_, _, class| if class == WANTED { PLAINTEXT - 1 } else { 0 }),
    ("four", |_, _, class| if class == WANTED { 4 } else { 0 }),
    ("a thousand", |_, _, class| if class == WANTED { 1_000 } else { 0 }),
    ("all ones", |_, _, class| u64::from(class < 10)),
    ("all zeros", |_, _, _| 0),
    ("junk", |rng, _, _| rng.random_range(0..PLAINTEXT)),
    ("padding only", |_, _, class| u64::from(class == 12)),
    ("a vote and padding", |_, _, class| match class {
        WANTED => 1,
        12 => PLAINTEXT - 1,
        _ => 0,
    }),
    // Sum and sum of squares are 1.
    ("sums of a vote", |_, _, class| {
        let t = Modulus::new(PLAINTEXT);
        match class {
            WANTED => PLAINTEXT - 1,
            5 => t.mul(2, t.inv(257)),
            6 => t.mul(512, t.inv(257)),
            _ => 0,
        }
    }),
    ("two votes", |_, _, class| u64::from(class == WANTED || class == 4)),
];

/// A vote for another class in every group: no cheat where there is but one group.
const DIFFERENT_COPIES: Forgery = |_, group, class| u64::from(class == (WANTED + group) % 10);

/// A ballot that says what a forgery does on the samples that `cheated` names, and votes for the
/// wanted class elsewhere.
pub(crate) fn forged(fixture: &Fixture, forgery: Forgery, cheated: &[usize]) -> BfvBallot {
    forged_planes(fixture, |rng, _, group, slot| forgery(rng, group, slot), cheated)
}

/// The same, for ballots of several ciphertexts: a forgery is told which.
fn forged_planes(
    fixture: &Fixture,
    forgery: impl Fn(&mut ChaCha20Rng, usize, usize, usize) -> u64,
    cheated: &[usize],
) -> BfvBallot {
    let Fixture { backend, keys, .. } = fixture;
    let (layout, context) = (backend.plan().layout(), backend.context());
    let samples = backend.batch(0).len();
    let mut rng = ChaCha20Rng::seed_from_u64(77);
    let mut plane = |plane: usize| {
        let mut slots = vec![0; context.degree()];
        for group in 0..layout.groups() {
            for sample in 0..samples {
                let places = backend.places().slots(group, sample);
                for (slot, &place) in places.iter().enumerate() {
                    slots[place as usize] = if cheated.contains(&sample) {
                        forgery(&mut rng, plane, group, slot)
                    } else {
                        u64::from(layout.is_one(WANTED, plane, slot))
                    };
                }
            }
        }
        let mut ciphertext = keys.public.key.zero(context, context.limbs(), &mut rng);
        ciphertext.add_slots(context, slots);
        ciphertext
    };
    let ciphertexts = (0..layout.planes()).map(&mut plane).collect();
    let presence = Presence::new((0..samples).map(|_| true));
    let (key, digest) = (keys.public.id, [0; 32]);
    let ballot = BfvBallot { ciphertexts, presence, batch: 0, key, digest };
    // Through bytes, as a cheat would send it.
    let bytes = backend.encode_ballot(&ballot);
    backend.decode_ballot(&bytes, 0, keys.public.id).expect("a ballot in form")
}

/// The fixture's ballots with some replaced.
pub(crate) fn replaced(
    fixture: &Fixture,
    cheats: &[(u32, BfvBallot)],
) -> MemoryBallotBox<BfvBallot> {
    let own = |teacher| fixture.ballots.open(teacher).ok().map(std::borrow::Cow::into_owned);
    let forged = |teacher| cheats.iter().find(|(t, _)| *t == teacher).map(|(_, b)| b.clone());
    let teachers = fixture.case.election.teachers();
    let ballots = (0..teachers).map(|teacher| forged(teacher).or_else(|| own(teacher)));
    MemoryBallotBox::new(fixture.backend.batch(0).len(), ballots.collect())
}

/// Twelve teachers, ten classes, four rounds, one-hot.
fn fixture(samples: usize, release: ReleaseMode) -> Fixture {
    let shape = shape(12, 10, samples, "2X^2+2X");
    match release {
        ReleaseMode::Reveal => Fixture::with_design(shape, Design::linear(Coding::OneHot)),
        ReleaseMode::Composable => Fixture::new(shape, release),
    }
}

/// One group, and several.
fn fixtures() -> [Fixture; 2] {
    [(300, 1), (100, 4)].map(|(samples, groups)| {
        let fixture = fixture(samples, ReleaseMode::Reveal);
        assert_eq!(fixture.backend.plan().layout().groups(), groups);
        fixture
    })
}
