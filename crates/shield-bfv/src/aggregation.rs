//! The server's work on one batch, stage by stage: draws, tally, unanimity, sums, reveal, flooding.

mod examination;

use std::borrow::Cow;

use rayon::prelude::*;
use shield_core::engine::{BallotBox, Presence, open_ballot, urns};
use shield_core::framing::MadeFor;
use shield_core::{Drawn, Draws, Election, Seed, Urn};

pub(crate) use examination::{Examination, challenge, voters};

use crate::ballot::{self, BfvBallot, Maker};
use crate::error::BfvError;
use crate::flooding;
use crate::keys::EvaluationKey;
use crate::layout::{Coding, Places};
use crate::plan::Plan;
use crate::release::Release;
use crate::reveal::{Reveal, Safeguards, Successes};
use crate::ring::Context;
use crate::scheme::{Ciphertext, Digits, multiply, plaintext_slots};
use crate::tally::{self, Selection};
use crate::unanimity;
use crate::validity::{self, BallotCheck, Validity};

/// Purpose of the random streams of re-randomisation and flooding: one per ciphertext.
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
    /// What proofs of ballots are bound to, besides their teachers.
    pub(crate) binding: &'a [u8; 32],
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
pub(crate) struct Selected {
    pub(crate) ballots: Vec<Selection>,
    /// Slots to add to each ciphertext of the tally: dummies, what raises a round to degree D, and
    /// what makes cells fail in which nothing was drawn.
    pub(crate) plaintexts: Vec<Vec<u64>>,
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
        Ok(self.release(tallies, &checks, &shifts))
    }

    /// The release of tallies and checks, in which every ballot is.
    pub(crate) fn release(
        &self,
        tallies: Vec<Ciphertext>,
        checks: &[Ciphertext],
        shifts: &[usize],
    ) -> Release {
        let fresh = self.bound_to(&tallies, checks);
        let mut released = self.reveal(tallies, shifts, &fresh);
        self.spoil(&mut released, checks, &fresh);
        self.hide(&mut released, &fresh);
        let ciphertexts = self.flood(released, &fresh);
        Release { ciphertexts, batch: self.batch, key: self.key.id }
    }

    /// A seed for masks and flooding that follows from the seed and from everything that is
    /// released under them: keys, the tallies, in which every drawn ballot is,
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
        hasher.update(b"reveal");
        hasher.update(self.key.id.as_bytes());
        for digest in digests {
            hasher.update(digest.as_bytes());
        }
        Seed::from_bytes(*hasher.finalize().as_bytes())
    }

    /// The secret shift of each sample.
    pub(crate) fn shifts(&self) -> Vec<usize> {
        let cells = self.plan.layout().cells();
        let shift = |sample| self.safeguards.shift(self.seed, sample as u64, cells);
        self.samples.clone().map(shift).collect()
    }

    pub(crate) fn select(&self, urns: &[Urn], shifts: &[usize]) -> Selected {
        let (layout, order) = (self.plan.layout(), self.plan.order());
        let (planes, cells) = (layout.planes(), layout.cells());
        let mut ballots = Vec::new();
        let mut plaintexts = vec![vec![0; layout.degree()]; layout.ciphertexts() * planes];
        for (place, (urn, sample)) in urns.iter().zip(self.samples.clone()).enumerate() {
            let draws = Draws::seeded(self.election.setting(), urn, self.seed, sample as u64);
            // Past the last round, a cell is like a round that draws nothing: it fails.
            let rounds =
                draws.rounds().chain(std::iter::repeat((self.plan.order().get(), &[][..])));
            for (round, (degree, drawn)) in rounds.take(cells.count()).enumerate() {
                let cell = cells.place(round, shifts[place]);
                let plaintexts = &mut plaintexts[cell.ciphertext * planes..][..planes];
                let slots = self.places.slots(cell.group, place);
                let constant = match layout.coding() {
                    Coding::OneHot => order.constant(degree),
                    // Neither 0 nor D, so that the cell does not look as if all draws agreed.
                    Coding::PackedBits | Coding::BitsAcross => u64::from(drawn.is_empty()),
                };
                for &slot in slots {
                    plaintexts[0][slot as usize] += constant;
                }
                for (i, entry) in drawn.iter().enumerate() {
                    let weight = order.weight(degree, i);
                    match *entry {
                        Drawn::Teacher(teacher) => ballots.push(Selection {
                            teacher,
                            ciphertext: cell.ciphertext as u16,
                            position: self.places.run(cell.group, place) as u16,
                            weight: weight as u16,
                        }),
                        Drawn::Dummy(class) => {
                            for (plane, plaintext) in plaintexts.iter_mut().enumerate() {
                                for (i, &slot) in slots.iter().enumerate() {
                                    let one = layout.is_one(class.index(), plane, i);
                                    plaintext[slot as usize] += u64::from(weight * u32::from(one));
                                }
                            }
                        }
                    }
                }
            }
        }
        ballots.sort_unstable();
        Selected { ballots, plaintexts }
    }

    /// The tally of every cell: cell by cell, plane by plane.
    pub(crate) fn tally<B: BallotBox<BfvBallot>>(
        &self,
        urns: &[Urn],
        shifts: &[usize],
        ballots: &B,
    ) -> Result<Vec<Ciphertext>, BfvError> {
        self.tally_with(urns, shifts, |teachers| self.open_all(ballots, teachers))
    }

    /// The tally of ballots that `open` hands out, asked for in the order of teachers.
    fn tally_with<'b>(
        &self,
        urns: &[Urn],
        shifts: &[usize],
        open: impl FnMut(&[u32]) -> Result<Vec<Cow<'b, [Ciphertext]>>, BfvError>,
    ) -> Result<Vec<Ciphertext>, BfvError> {
        let selected = self.select(urns, shifts);
        let mut tallies = self.tally_ballots(&selected.ballots, open)?;
        self.add_plaintexts(&mut tallies, selected.plaintexts);
        Ok(tallies)
    }

    /// What the selected ballots add to the tallies.
    pub(crate) fn tally_ballots<'b>(
        &self,
        selected: &[Selection],
        open: impl FnMut(&[u32]) -> Result<Vec<Cow<'b, [Ciphertext]>>, BfvError>,
    ) -> Result<Vec<Ciphertext>, BfvError> {
        let layout = self.plan.layout();
        let (context, ciphertexts) = (self.context, layout.ciphertexts());
        match layout.coding() {
            Coding::OneHot | Coding::PackedBits => {
                tally::tally(context, layout.positions(), ciphertexts, selected, open)
            }
            Coding::BitsAcross => {
                tally::dense::tally(context, layout.planes(), ciphertexts, selected, open)
            }
        }
    }

    /// Adds what does not come from a ballot.
    pub(crate) fn add_plaintexts(&self, tallies: &mut [Ciphertext], plaintexts: Vec<Vec<u64>>) {
        tallies
            .par_iter_mut()
            .zip(plaintexts)
            .for_each(|(tally, slots)| tally.add_slots(self.context, slots));
    }

    /// The ciphertexts of some ballots, several opened at a time.
    fn open_all<'b, B: BallotBox<BfvBallot>>(
        &self,
        ballots: &'b B,
        teachers: &[u32],
    ) -> Result<Vec<Cow<'b, [Ciphertext]>>, BfvError> {
        teachers.par_iter().map(|&teacher| self.open(ballots, teacher)).collect()
    }

    /// A ballot's ciphertexts, if the ballot is one for this batch. Twice them, where its proof
    /// says that twice them are short.
    pub(crate) fn open<'b, B: BallotBox<BfvBallot>>(
        &self,
        ballots: &'b B,
        teacher: u32,
    ) -> Result<Cow<'b, [Ciphertext]>, BfvError> {
        let made_for = MadeFor { batch: self.batch, key: self.key.id };
        let whole = |c: &Ciphertext| {
            c.limbs() == self.context.limbs() && c.parts[0].degree() == self.context.degree()
        };
        let fits = |ballot: &BfvBallot| {
            ballot.presence.len() == self.samples.len()
                && ballot.ciphertexts.len() == self.plan.layout().planes()
                && ballot.ciphertexts.iter().all(whole)
        };
        let ballot = open_ballot(ballots, teacher, made_for, fits)?;
        if self.plan.proofs() {
            let maker = Maker { binding: self.binding, teacher };
            ballot::check(self.context, &self.key.public, maker, &ballot)?;
            return Ok(Cow::Owned(ballot::doubled(self.context, &ballot.ciphertexts)));
        }
        Ok(match ballot {
            Cow::Borrowed(ballot) => Cow::Borrowed(&ballot.ciphertexts),
            Cow::Owned(ballot) => Cow::Owned(ballot.ciphertexts),
        })
    }

    /// The check of this batch's ballots.
    pub(crate) fn validity(&self, challenge: Seed) -> Validity<'_> {
        Validity {
            context: self.context,
            layout: self.plan.layout(),
            places: self.places,
            key: self.key,
            challenge,
            samples: self.samples.len(),
        }
    }

    /// Ciphertexts at the level of the release.
    pub(crate) fn lowered(&self, mut ciphertexts: Vec<Ciphertext>) -> Vec<Ciphertext> {
        let limbs = self.plan.reveal_limbs();
        ciphertexts.par_iter_mut().for_each(|c| c.drop_to(self.context, limbs));
        ciphertexts
    }

    /// Turns every cell of a sample whose checks are not zero into junk.
    fn spoil(&self, released: &mut [Ciphertext], checks: &[Ciphertext], fresh: &Seed) {
        let first = self.batch * self.plan.released_ciphertexts();
        released.par_iter_mut().enumerate().for_each(|(i, c)| {
            validity::mask(self.context, c, checks, fresh, first + i);
        });
    }

    /// Turns every cell of a sample that was not asked for into junk: uniform slots are added.
    fn hide(&self, released: &mut [Ciphertext], fresh: &Seed) {
        let Asked::Only(asked) = self.asked else {
            return;
        };
        let layout = self.plan.layout();
        let first = self.batch * self.plan.released_ciphertexts();
        released.par_iter_mut().enumerate().for_each(|(i, c)| {
            let mut uniform = vec![0; self.context.degree()];
            plaintext_slots(&mut uniform, &mut fresh.stream(HIDE, (first + i) as u64));
            let mut slots = vec![0; self.context.degree()];
            for sample in (0..self.samples.len()).filter(|&sample| !asked.contains(sample)) {
                for group in 0..layout.groups() {
                    for &place in self.places.slots(group, sample) {
                        slots[place as usize] = uniform[place as usize];
                    }
                }
            }
            c.add_slots(self.context, slots);
        });
    }

    pub(crate) fn unanimity(&self, tally: Ciphertext) -> Ciphertext {
        let (key, levels) = (&self.key.relinearisation, self.plan.unanimity_levels());
        unanimity::evaluate(self.context, key, tally, self.plan.order(), levels)
    }

    /// Whether the round of every cell succeeded, in every slot of its runs, from the answers of
    /// unanimity in the planes of one ciphertext of cells.
    pub(crate) fn successes(&self, mut answers: Vec<Ciphertext>) -> Ciphertext {
        let (context, key) = (self.context, self.key);
        match self.plan.layout().coding() {
            Coding::OneHot => key.stage_sum(context, self.plan.layout(), answers.swap_remove(0)),
            Coding::PackedBits => {
                let turns = key.run_turns.iter().zip(self.plan.success_levels());
                turns.fold(answers.swap_remove(0), |mut product, (rotation, &level)| {
                    product.drop_to(context, level);
                    let rotated = rotation.rotate(context, &product);
                    multiply(context, &key.relinearisation, &product, Some(&rotated))
                })
            }
            Coding::BitsAcross => {
                for &level in self.plan.success_levels() {
                    for answer in &mut answers {
                        answer.drop_to(context, level);
                    }
                    answers = unanimity::product_of_pairs(context, &key.relinearisation, answers);
                }
                answers.swap_remove(0)
            }
        }
    }

    /// A ciphertext under every move between groups, in the order of their numbers.
    fn moves(&self, unmoved: Ciphertext) -> Vec<Ciphertext> {
        let layout = self.plan.layout();
        let mut moved = vec![unmoved];
        // A ciphertext is cut into digits once for all the moves that start from it.
        let mut digits: Vec<Digits> = vec![];
        while moved.len() < layout.groups() {
            let whole = moved[digits.len()..].par_iter();
            digits.par_extend(whole.map(|source| Digits::of(self.context, source)));
            // All moves there are, by one more step: twice as many.
            let key = &self.key.group_moves[moved.len().ilog2() as usize];
            let further = moved.par_iter().zip(&digits);
            let further: Vec<Ciphertext> = further
                .map(|(source, digits)| key.rotate_with(self.context, source, digits))
                .collect();
            moved.extend(further);
        }
        moved
    }

    /// What is released of the tallies, before flooding.
    pub(crate) fn reveal(
        &self,
        tallies: Vec<Ciphertext>,
        shifts: &[usize],
        fresh: &Seed,
    ) -> Vec<Ciphertext> {
        let (context, layout) = (self.context, self.plan.layout());
        let limbs = self.plan.reveal_limbs();
        let (outcomes, successes): (Vec<Vec<Ciphertext>>, Vec<Ciphertext>) = tallies
            .par_chunks(layout.planes())
            .map(|tallies| {
                let answers: Vec<Ciphertext> =
                    tallies.par_iter().map(|tally| self.unanimity(tally.clone())).collect();
                let mut outcomes = match layout.coding() {
                    Coding::OneHot => answers.clone(),
                    Coding::PackedBits | Coding::BitsAcross => tallies.to_vec(),
                };
                for outcome in &mut outcomes {
                    outcome.drop_to(context, limbs);
                }
                (outcomes, self.successes(answers))
            })
            .unzip();
        drop(tallies);
        let successes = self.sums(successes);
        let reveal = Reveal {
            context,
            layout,
            places: self.places,
            shifts,
            success: self.plan.success(),
            seed: fresh,
            batch: self.batch,
            safeguards: self.safeguards,
        };
        reveal.run(&outcomes.concat(), &successes)
    }

    /// The sums of successes over subtrees of the cells, at the reveal's level.
    fn sums(&self, mut successes: Vec<Ciphertext>) -> Successes {
        let (context, cells) = (self.context, self.plan.layout().cells());
        let limbs = self.plan.reveal_limbs();
        let sum = |parts: &[Ciphertext]| {
            parts[1..].iter().fold(parts[0].clone(), |mut sum, part| {
                sum.add(context, part);
                sum
            })
        };
        // At full level, because moves add noise: there it is smallest.
        let several = self.plan.layout().groups() > 1;
        let mut moved = if several { self.moves(sum(&successes)) } else { vec![] };
        moved.par_iter_mut().chain(&mut successes).for_each(|c| c.drop_to(context, limbs));
        let mut levels = vec![successes];
        for &radix in cells.radices().iter().rev() {
            let whole = levels.last().map_or(&[][..], Vec::as_slice);
            levels.push(whole.chunks(radix).map(sum).collect());
        }
        levels.reverse();
        Successes { levels, moved }
    }

    pub(crate) fn flood(&self, released: Vec<Ciphertext>, fresh: &Seed) -> Vec<Ciphertext> {
        let first = self.batch * self.plan.released_ciphertexts();
        let flood = |(i, c): (usize, Ciphertext)| {
            let mut rng = fresh.stream(FLOOD, (first + i) as u64);
            if self.plan.trustees().is_some() {
                // Trustees flood their shares of what is read of it.
                return flooding::rerandomise(self.context, &self.key.public, c, &mut rng);
            }
            let bits = self.plan.flooding_bits();
            flooding::sanitise(self.context, &self.key.public, c, bits, &mut rng)
        };
        released.into_par_iter().enumerate().map(flood).collect()
    }
}
