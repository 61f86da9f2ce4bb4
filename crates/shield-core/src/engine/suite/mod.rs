//! The tests that every engine runs, on the same elections and the same draws.
//!
//! An engine is right when its labels are, sample by sample, those of [`operator::elect`] on the
//! draws that the seed gives. Every key, ballot and release is encoded, decoded and used from
//! there. Behind the feature `suite`, for the tests of the crates that implement an engine.

mod bytes;
pub mod vectors;
mod wrong;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;

pub use bytes::{only_sound_bytes_are_read, sent_ballot, sent_keys, sent_release};
pub use wrong::resealed;

use super::{Engine, Key, KeysOf, MemoryBallotBox};
use crate::draws::{Draws, Urn};
use crate::election::Election;
use crate::operator;
use crate::parameters::{Class, Classes, Offset, Sampling};
use crate::seed::Seed;
use crate::setting::Setting;
use crate::votes::{Label, Vote, Votes};

/// An election with its votes: one case of the suite.
#[derive(Clone, Debug)]
pub struct Case {
    /// The election.
    pub election: Election,
    /// Its votes.
    pub votes: Votes,
}

/// The shape of a case.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// How many teachers.
    pub teachers: usize,
    /// How many classes.
    pub classes: usize,
    /// How many samples.
    pub samples: usize,
    /// The polynomial.
    pub polynomial: &'static str,
    /// The offset.
    pub offset: u32,
    /// The sampling rule.
    pub sampling: Sampling,
    /// How many votes in a hundred are missing.
    pub abstentions: u32,
}

impl Case {
    /// A case of some shape; which votes, follows from the number.
    ///
    /// Two votes in three go to one class per sample, so that rounds succeed and fail in turn.
    ///
    /// # Panics
    /// If the shape is not an election.
    pub fn new(shape: Shape, number: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(number);
        let classes = Classes::new(shape.classes).expect("a valid class count");
        let rows: Vec<Vec<Vote>> = (0..shape.samples)
            .map(|_| {
                let favourite = rng.random_range(0..shape.classes);
                let mut vote = || {
                    let absent = rng.random_ratio(shape.abstentions, 100);
                    let loyal = rng.random_ratio(2, 3);
                    let other = rng.random_range(0..shape.classes);
                    let class = if loyal { favourite } else { other };
                    (!absent).then_some(Class(u16::try_from(class).expect("a valid class")))
                };
                (0..shape.teachers).map(|_| vote()).collect()
            })
            .collect();
        let votes = Votes::from_rows(classes, rows).expect("valid votes");
        let setting = Setting {
            polynomial: shape.polynomial.parse().expect("a valid polynomial"),
            offset: Offset::new(shape.offset).expect("a valid offset"),
            sampling: shape.sampling,
        };
        let election = Election::new(shape.teachers, classes, shape.samples, setting)
            .expect("a valid election");
        Self { election, votes }
    }

    /// The labels that any right engine returns for this seed: the operator in the clear.
    pub fn expected(&self, seed: &Seed) -> Vec<Label> {
        let (classes, setting) = (self.election.classes(), self.election.setting());
        (0..self.votes.samples())
            .map(|sample| {
                let votes: Vec<Vote> = self.votes.sample(sample).collect();
                let voters = (0u32..).zip(&votes).filter(|(_, vote)| vote.is_some());
                let urn = Urn::of(voters.map(|(t, _)| t).collect(), classes, setting.offset);
                let draws = Draws::seeded(setting, &urn, seed, sample as u64);
                operator::elect(&draws, |teacher| votes[teacher as usize].expect("voted"))
            })
            .collect()
    }
}

/// Elections small enough for any engine, with everything that may go wrong: one teacher, one
/// sample, two classes, failing polynomials, no dummies, abstentions, both sampling rules.
pub fn small_elections() -> Vec<Case> {
    use Sampling::{WithReplacement, WithoutReplacement};
    let shape = |teachers, classes, samples, polynomial, offset, sampling, abstentions| Shape {
        teachers,
        classes,
        samples,
        polynomial,
        offset,
        sampling,
        abstentions,
    };
    [
        shape(1, 2, 1, "X", 0, WithReplacement, 0),
        shape(1, 3, 5, "2X^2+X", 1, WithReplacement, 0),
        shape(3, 2, 7, "3X^3", 0, WithReplacement, 0),
        shape(5, 10, 4, "2X^3+3X^2+X", 1, WithReplacement, 20),
        shape(7, 3, 6, "2X^4+X^2", 0, WithoutReplacement, 0),
        shape(4, 3, 6, "2X^4+X^2+X", 0, WithoutReplacement, 50),
        shape(12, 5, 9, "X^2", 5, WithoutReplacement, 10),
    ]
    .into_iter()
    .zip(0..)
    .map(|(shape, number)| Case::new(shape, number))
    .collect()
}

/// Runs every test of the suite on every case.
///
/// # Panics
/// If the engine is wrong: that is what it is for.
pub fn run<E: Engine>(cases: &[Case], make: impl Fn(&Election) -> Result<E, E::Error>) {
    for case in cases {
        let engine = make(&case.election).expect("the engine takes the election");
        let mut rng = ChaCha20Rng::seed_from_u64(99);
        let keys = engine.generate_keys(&mut rng).expect("keys");
        let keys = sent_keys(&engine, &keys);
        labels_are_those_of_the_operator(&engine, &keys, case, &mut rng);
        a_teacher_may_be_missing(&engine, &keys, case, &mut rng);
        bad_votes_are_refused(&engine, &keys, case, &mut rng);
        let elsewhere = case.election.clone().bound_to([7; 32]);
        let elsewhere = make(&elsewhere).expect("the engine takes the election");
        only_sound_bytes_are_read(&engine, &elsewhere, &keys, &case.votes, &mut rng);
        what_belongs_elsewhere_is_refused(&engine, &elsewhere, &keys, case, &mut rng);
    }
}

/// The labels that the engine returns: every role, batch by batch, with ballots and releases sent
/// as bytes.
///
/// # Panics
/// If any role fails.
pub fn labels<E: Engine>(
    engine: &E,
    keys: &KeysOf<E>,
    votes: &Votes,
    seed: &Seed,
    rng: &mut ChaCha20Rng,
) -> Vec<Label> {
    let mut labels = Vec::new();
    for batch in 0..engine.batches() {
        let ballots = ballots(engine, keys, votes, batch, rng);
        let release = engine
            .aggregate_here((Some(&keys.secret), &keys.evaluation), batch, &ballots, seed, rng)
            .expect("the ballots are aggregated");
        let id = keys.secret.id();
        let release = sent_release(engine, &release, batch, id);
        labels.extend(engine.decrypt(&keys.secret, batch, &release).expect("the student reads"));
    }
    labels
}

fn ballots<E: Engine>(
    engine: &E,
    keys: &KeysOf<E>,
    votes: &Votes,
    batch: usize,
    rng: &mut ChaCha20Rng,
) -> MemoryBallotBox<E::Ballot> {
    let samples = engine.batch(batch);
    let ballot = |teacher| {
        let votes = votes.teacher(teacher, samples.clone());
        let number = u32::try_from(teacher).expect("32 bits");
        let ballot = engine.encrypt_as(&keys.public, batch, number, &votes, rng);
        let ballot = ballot.expect("a ballot");
        Some(sent_ballot(engine, &ballot, batch))
    };
    MemoryBallotBox::new(samples.len(), (0..votes.teachers()).map(ballot).collect())
}

fn labels_are_those_of_the_operator<E: Engine>(
    engine: &E,
    keys: &KeysOf<E>,
    case: &Case,
    rng: &mut ChaCha20Rng,
) {
    for seed in [Seed::from_number(1), Seed::from_number(2)] {
        let found = labels(engine, keys, &case.votes, &seed, rng);
        assert_eq!(found, case.expected(&seed), "{} on {:?}", E::NAME, case.election);
    }
}

/// A teacher who sent no ballot counts like one who abstained everywhere.
fn a_teacher_may_be_missing<E: Engine>(
    engine: &E,
    keys: &KeysOf<E>,
    case: &Case,
    rng: &mut ChaCha20Rng,
) {
    let last = case.votes.teachers() - 1;
    let rows = (0..case.votes.samples()).map(|sample| {
        let votes = case.votes.sample(sample).enumerate();
        votes.map(|(teacher, vote)| vote.filter(|_| teacher != last)).collect::<Vec<_>>()
    });
    let votes = Votes::from_rows(case.votes.classes(), rows).expect("valid votes");
    let without = Case { election: case.election.clone(), votes };
    let seed = Seed::from_number(3);
    let samples = engine.batch(0);
    let mut ballots: Vec<Option<E::Ballot>> = (0..last)
        .map(|teacher| {
            let votes = case.votes.teacher(teacher, samples.clone());
            let number = u32::try_from(teacher).expect("32 bits");
            let ballot = engine.encrypt_as(&keys.public, 0, number, &votes, rng);
            Some(ballot.expect("a ballot"))
        })
        .collect();
    ballots.push(None);
    let ballots = MemoryBallotBox::new(samples.len(), ballots);
    let release = engine.aggregate(&keys.evaluation, 0, &ballots, &seed).expect("a release");
    let found = engine.decrypt(&keys.secret, 0, &release).expect("labels");
    assert_eq!(found, without.expected(&seed)[samples], "{} without a teacher", E::NAME);
}

/// Ballots and releases of another election are refused in memory, too: nothing stands in their
/// bytes there.
fn what_belongs_elsewhere_is_refused<E: Engine>(
    engine: &E,
    elsewhere: &E,
    keys: &KeysOf<E>,
    case: &Case,
    rng: &mut ChaCha20Rng,
) {
    let strangers = elsewhere.generate_keys(rng).expect("keys");
    let theirs = ballots(elsewhere, &strangers, &case.votes, 0, rng);
    // An engine may open the ballots that are drawn alone, and dummies may be all that is.
    let seeds = || (0..50).map(Seed::from_number);
    let aggregate = |seed| engine.aggregate(&keys.evaluation, 0, &theirs, &seed).err();
    let samples = engine.batch(0);
    let mut votes = samples.flat_map(|sample| case.votes.sample(sample));
    if votes.any(|vote| vote.is_some()) {
        let refused = seeds().find_map(aggregate).expect("ballots under other keys").to_string();
        assert!(refused.contains("another set of keys"), "{refused}");
    }
    let seed = Seed::from_number(4);
    let release = elsewhere.aggregate(&strangers.evaluation, 0, &theirs, &seed);
    let found = engine.decrypt(&keys.secret, 0, &release.expect("a release"));
    let refused = found.expect_err("a release under other keys").to_string();
    assert!(refused.contains("another set of keys"), "{refused}");
}

/// Ballots of too few or too many votes, or of votes for something else, are not made.
///
/// # Panics
/// If one is.
pub fn bad_votes_are_refused<E: Engine>(
    engine: &E,
    keys: &KeysOf<E>,
    case: &Case,
    rng: &mut ChaCha20Rng,
) {
    let samples = engine.batch(0).len();
    let stray = Class(u16::try_from(case.election.classes().count()).expect("16 bits"));
    let mut votes = vec![Some(Class(0)); samples];
    votes[samples - 1] = Some(stray);
    assert!(
        engine.encrypt_as(&keys.public, 0, 0, &votes, rng).is_err(),
        "a vote that is not a class"
    );
    let short = vec![Some(Class(0)); samples - 1];
    assert!(engine.encrypt_as(&keys.public, 0, 0, &short, rng).is_err(), "a vote too few");
    let long = vec![Some(Class(0)); samples + 1];
    assert!(engine.encrypt_as(&keys.public, 0, 0, &long, rng).is_err(), "a vote too many");
    let past = engine.batches();
    let none = vec![Some(Class(0)); samples];
    assert!(engine.encrypt_as(&keys.public, past, 0, &none, rng).is_err(), "a batch past the last");
}
