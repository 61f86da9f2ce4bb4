//! The server's work on one batch, stage by stage: draws, tally, unanimity, sums, reveal, flooding.

use std::borrow::Cow;

use rayon::prelude::*;
use shield::backend::{BallotBox, Presence, urns};
use shield::{Drawn, Draws, Election, Seed, Urn};

use crate::ballot::BfvBallot;
use crate::composable;
use crate::error::BfvError;
use crate::flooding;
use crate::keys::EvaluationKey;
use crate::layout::{Places, move_step};
use crate::plan::{Plan, ReleaseMode};
use crate::release::Release;
use crate::reveal::{Reveal, Rounds, Safeguards};
use crate::ring::Context;
use crate::scheme::{Ciphertext, Digits, plaintext_slots};
use crate::tally::{self, Selection};
use crate::unanimity;
use crate::validity::{self, BallotCheck, Coding, Examination, Validity};

/// Purpose of the random streams of re-randomisation and flooding: one a ciphertext.
const FLOOD: &str = "shield 2026 bfv flooding of one ciphertext";

/// Purpose of the random streams that hide samples nobody asked for: one per ciphertext.
const HIDE: &str = "shield 2026 bfv junk for samples that were not asked for";

/// Purpose of the seed that masks and flooding come from.
const BOUND: &str = "shield 2026 bfv seed bound to the tallies of a batch";

/// One batch to aggregate.
pub(crate) struct Aggregation<'a> {
    pub(crate) context: &'a Context,
    pub(crate) election: &'a Election,
    pub(crate) plan: &'a Plan,
    pub(crate) places: &'a Places,
    pub(crate) key: &'a EvaluationKey,
    pub(crate) seed: &'a Seed,
    pub(crate) batch: usize,
    pub(crate) samples: std::ops::Range<usize>,
    pub(crate) safeguards: Safeguards,
    pub(crate) check: BallotCheck,
    pub(crate) asked: Asked<'a>,
}

/// Which samples of a batch are to be labelled.
#[derive(Clone, Copy)]
pub(crate) enum Asked<'a> {
    /// All of them.
    All,
    /// These; the cells of the others are junk.
    Only(&'a Presence),
}

/// What the draws select: ballots, and plaintexts to add.
struct Selected {
    ballots: Vec<Selection>,
    /// Slots to add to each ciphertext of cells: dummies, and D minus the degree of the cell's
    /// round.
    plaintexts: Vec<Vec<u64>>,
}

impl Aggregation<'_> {
    /// The release: a pure function of the election, the keys, the ballots, the seed and the batch.
    pub(crate) fn run<B: BallotBox<BfvBallot>>(&self, ballots: &B) -> Result<Release, BfvError> {
        let urns = urns(self.election, self.samples.len(), ballots)?;
        let shifts = self.shifts();
        let (tallies, checks) = match self.check {
            BallotCheck::On => {
                let mut examination = Examination::new(self, ballots)?;
                let tallies = self.tally_with(&urns, &shifts, |t| examination.open(t))?;
                (tallies, self.lowered(examination.finish()?))
            }
            BallotCheck::Off => (self.tally(&urns, &shifts, ballots)?, vec![]),
        };
        let fresh = self.bound_to(&tallies, &checks);
        let outcomes = self.unanimity(tallies);
        let mut released = match self.plan.release() {
            ReleaseMode::Reveal => self.reveal(outcomes, &shifts, &fresh),
            ReleaseMode::Composable => vec![composable::labels(
                self.context,
                self.plan.layout(),
                self.places,
                self.key,
                outcomes,
                self.plan.order().success(),
                self.samples.len(),
            )],
        };
        self.spoil(&mut released, &checks, &fresh);
        self.hide(&mut released, &fresh);
        let ciphertexts = self.flood(released, &fresh);
        Ok(Release { ciphertexts, batch: self.batch, key: self.key.id })
    }

    /// A seed for masks and flooding that follows from the seed and from everything that is
    /// released under them: binding, release, keys, the tallies, in which every drawn ballot is,
    /// and the checks, in which every ballot is. Should one seed ever meet two sets of ballots,
    /// against all rules, the two releases at least do not share their masks.
    pub(crate) fn bound_to(&self, tallies: &[Ciphertext], checks: &[Ciphertext]) -> Seed {
        let digests: Vec<blake3::Hash> = tallies
            .par_iter()
            .chain(checks)
            .map(|tally| {
                let mut hasher = blake3::Hasher::new();
                let mut bytes = Vec::with_capacity(8 * self.context.degree());
                for part in &tally.parts {
                    for i in 0..tally.limbs() {
                        bytes.clear();
                        bytes.extend(part.limb(i).iter().flat_map(|residue| residue.to_le_bytes()));
                        hasher.update(&bytes);
                    }
                }
                hasher.finalize()
            })
            .collect();
        let mut hasher = blake3::Hasher::new_derive_key(BOUND);
        hasher.update(self.seed.as_bytes());
        hasher.update(self.plan.release().to_string().as_bytes());
        hasher.update(self.key.id.as_bytes());
        for digest in digests {
            hasher.update(digest.as_bytes());
        }
        Seed::from_bytes(*hasher.finalize().as_bytes())
    }

    /// The secret shift of each sample; none where the output does not depend on the order of
    /// cells.
    pub(crate) fn shifts(&self) -> Vec<usize> {
        let rounds = self.plan.layout().rounds();
        let shift = |sample| match self.plan.release() {
            ReleaseMode::Reveal => self.safeguards.shift(self.seed, sample as u64, rounds),
            ReleaseMode::Composable => 0,
        };
        self.samples.clone().map(shift).collect()
    }

    fn select(&self, urns: &[Urn], shifts: &[usize]) -> Selected {
        let layout = self.plan.layout();
        let order = u64::from(self.plan.order().get());
        let mut ballots = Vec::new();
        let mut plaintexts = vec![vec![0; layout.degree()]; layout.ciphertexts()];
        for (place, (urn, sample)) in urns.iter().zip(self.samples.clone()).enumerate() {
            let draws = Draws::seeded(self.election.setting(), urn, self.seed, sample as u64);
            for (round, (degree, drawn)) in draws.rounds().enumerate() {
                let cell = layout.cell((round + shifts[place]) % layout.rounds());
                let slots = &mut plaintexts[cell.ciphertext];
                let classes = self.places.classes(cell.group, place);
                for &slot in classes {
                    slots[slot as usize] += order - u64::from(degree);
                }
                for entry in drawn {
                    match *entry {
                        Drawn::Teacher(teacher) => ballots.push(Selection {
                            teacher,
                            ciphertext: cell.ciphertext as u32,
                            position: self.places.run(cell.group, place) as u32,
                        }),
                        Drawn::Dummy(class) => slots[classes[class.index()] as usize] += 1,
                    }
                }
            }
        }
        ballots.sort_unstable();
        Selected { ballots, plaintexts }
    }

    pub(crate) fn tally<B: BallotBox<BfvBallot>>(
        &self,
        urns: &[Urn],
        shifts: &[usize],
        ballots: &B,
    ) -> Result<Vec<Ciphertext>, BfvError> {
        self.tally_with(urns, shifts, |teacher| self.open(ballots, teacher))
    }

    /// The tally of ballots that `open` hands out, asked for in the order of teachers.
    fn tally_with<'b>(
        &self,
        urns: &[Urn],
        shifts: &[usize],
        open: impl FnMut(u32) -> Result<Cow<'b, Ciphertext>, BfvError>,
    ) -> Result<Vec<Ciphertext>, BfvError> {
        let layout = self.plan.layout();
        let selected = self.select(urns, shifts);
        let (positions, ciphertexts) = (layout.positions(), layout.ciphertexts());
        let mut tallies =
            tally::tally(self.context, positions, ciphertexts, &selected.ballots, open)?;
        tallies
            .par_iter_mut()
            .zip(selected.plaintexts)
            .for_each(|(tally, slots)| tally.add_slots(self.context, slots));
        Ok(tallies)
    }

    /// A ballot's ciphertext, if the ballot is one for this batch.
    pub(crate) fn open<'b, B: BallotBox<BfvBallot>>(
        &self,
        ballots: &'b B,
        teacher: u32,
    ) -> Result<Cow<'b, Ciphertext>, BfvError> {
        let ballot = ballots.open(teacher)?;
        let of = if ballot.key != self.key.id {
            Some("set of keys")
        } else if ballot.batch != self.batch || ballot.presence.len() != self.samples.len() {
            Some("batch")
        } else if ballot.ciphertext.limbs() != self.context.limbs()
            || ballot.ciphertext.parts[0].degree() != self.context.degree()
        {
            Some("election")
        } else {
            None
        };
        match (of, ballot) {
            (Some(of), _) => Err(BfvError::ForeignBallot { teacher, of }),
            (None, Cow::Borrowed(ballot)) => Ok(Cow::Borrowed(&ballot.ciphertext)),
            (None, Cow::Owned(ballot)) => Ok(Cow::Owned(ballot.ciphertext)),
        }
    }

    /// The check of this batch's ballots.
    pub(crate) fn validity(&self, challenge: Seed) -> Validity<'_> {
        Validity {
            context: self.context,
            layout: self.plan.layout(),
            places: self.places,
            key: self.key,
            coding: Coding::OneHot,
            challenge,
            samples: self.samples.len(),
        }
    }

    /// Ciphertexts at the level of the release.
    fn lowered(&self, mut ciphertexts: Vec<Ciphertext>) -> Vec<Ciphertext> {
        let limbs = self.plan.reveal_limbs();
        ciphertexts.par_iter_mut().for_each(|c| c.drop_to(self.context, limbs));
        ciphertexts
    }

    /// Turns every cell of a sample whose checks are not zero into junk.
    fn spoil(&self, released: &mut [Ciphertext], checks: &[Ciphertext], fresh: &Seed) {
        let first = self.batch * self.plan.released_ciphertexts();
        // Labels of the composable release are in the first group; its other slots stay zero.
        let mut label = vec![self.plan.release() == ReleaseMode::Reveal; self.context.degree()];
        for sample in 0..self.samples.len() {
            for &place in self.places.classes(0, sample) {
                label[place as usize] = true;
            }
        }
        released.par_iter_mut().enumerate().for_each(|(i, c)| {
            validity::mask(self.context, c, checks, fresh, first + i, |place| label[place]);
        });
    }

    /// Turns every cell of a sample that was not asked for into junk: uniform slots are added.
    fn hide(&self, released: &mut [Ciphertext], fresh: &Seed) {
        let Asked::Only(asked) = self.asked else {
            return;
        };
        let layout = self.plan.layout();
        let groups = match self.plan.release() {
            ReleaseMode::Reveal => layout.groups(),
            ReleaseMode::Composable => 1,
        };
        let first = self.batch * self.plan.released_ciphertexts();
        released.par_iter_mut().enumerate().for_each(|(i, c)| {
            let mut uniform = vec![0; self.context.degree()];
            plaintext_slots(&mut uniform, &mut fresh.stream(HIDE, (first + i) as u64));
            let mut slots = vec![0; self.context.degree()];
            for sample in (0..self.samples.len()).filter(|&sample| !asked.contains(sample)) {
                for group in 0..groups {
                    for &place in self.places.classes(group, sample) {
                        slots[place as usize] = uniform[place as usize];
                    }
                }
            }
            c.add_slots(self.context, slots);
        });
    }

    pub(crate) fn unanimity(&self, tallies: Vec<Ciphertext>) -> Vec<Ciphertext> {
        let key = &self.key.relinearisation;
        let evaluate = |tally| unanimity::evaluate(self.context, key, tally, self.plan.order());
        tallies.into_par_iter().map(evaluate).collect()
    }

    /// The sum over the classes of every run, in every slot of it.
    pub(crate) fn class_sum(&self, outcome: &Ciphertext) -> Ciphertext {
        self.key.class_sums.iter().fold(outcome.clone(), |mut sum, rotation| {
            let rotated = rotation.rotate(self.context, &sum);
            sum.add(self.context, &rotated);
            sum
        })
    }

    /// A ciphertext under every move between groups, in the order of their numbers.
    fn moves(&self, unmoved: Ciphertext) -> Vec<Ciphertext> {
        let layout = self.plan.layout();
        let mut moved = vec![unmoved];
        // A ciphertext is cut into digits once for all the moves that start from it.
        let mut digits: Vec<Option<Digits>> = vec![];
        for by in 1..layout.groups() {
            let (from, step) = move_step(layout, by);
            digits.resize_with(digits.len().max(from + 1), || None);
            let source = &moved[from];
            let cut = digits[from].get_or_insert_with(|| Digits::of(self.context, source));
            let next = self.key.group_moves[step].rotate_with(self.context, source, cut);
            moved.push(next);
        }
        moved
    }

    pub(crate) fn reveal(
        &self,
        outcomes: Vec<Ciphertext>,
        shifts: &[usize],
        fresh: &Seed,
    ) -> Vec<Ciphertext> {
        let (context, layout) = (self.context, self.plan.layout());
        let limbs = self.plan.reveal_limbs();
        let (outcomes, successes) = outcomes
            .into_par_iter()
            .map(|mut outcome| {
                let mut moved = self.moves(self.class_sum(&outcome));
                for c in moved.iter_mut().chain([&mut outcome]) {
                    c.drop_to(context, limbs);
                }
                (outcome, moved)
            })
            .unzip();
        let reveal = Reveal {
            context,
            layout,
            places: self.places,
            shifts,
            success: self.plan.order().success(),
            seed: fresh,
            batch: self.batch,
            safeguards: self.safeguards,
        };
        reveal.run(&Rounds { outcomes, successes })
    }

    fn flood(&self, released: Vec<Ciphertext>, fresh: &Seed) -> Vec<Ciphertext> {
        let first = self.batch * self.plan.released_ciphertexts();
        let flood = |(i, c)| {
            let mut rng = fresh.stream(FLOOD, (first + i) as u64);
            let bits = self.plan.flooding_bits();
            flooding::sanitise(self.context, &self.key.public, c, bits, &mut rng)
        };
        released.into_par_iter().enumerate().map(flood).collect()
    }
}
