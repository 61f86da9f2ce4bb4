//! What a plan says of itself.

use super::{ArgmaxPlan, BallotKind, Stages};
use crate::argmax::comparison::Blocks;
use crate::argmax::mlwe::Grid;
use crate::argmax::pairing::Pairing;
use crate::argmax::wins::Steps;
use crate::layout::Places;
use crate::noise::{Lengths, Ring};
use crate::quorum::{OpeningPlan, Trustees};

impl ArgmaxPlan {
    /// Coefficients of the ring.
    pub fn ring_degree(&self) -> usize {
        self.ring.degree
    }

    /// Bits of each prime of the ciphertext modulus.
    pub fn moduli_bits(&self) -> Vec<u32> {
        self.ring.moduli_bits()
    }

    /// Bits of the ciphertext modulus.
    pub fn log_q(&self) -> u32 {
        self.ring.modulus_bits()
    }

    /// Security by the standard's table.
    pub fn security_bits(&self) -> u32 {
        self.ring.security_bits()
    }

    /// Samples in a full batch.
    pub fn samples_per_batch(&self) -> usize {
        self.grid.map_or(self.ring.degree / self.pairing.run(), |grid| grid.samples())
    }

    /// Batches of the election.
    pub fn batches(&self) -> usize {
        self.samples.div_ceil(self.samples_per_batch())
    }

    /// R: differences from -R-1 to R are compared rightly.
    pub fn range(&self) -> usize {
        self.blocks.range()
    }

    /// Degree of the polynomial that compares.
    pub fn degree(&self) -> usize {
        2 * self.range() + 1
    }

    /// log2 of the chance per sample that noise makes a label wrong, with its sign changed.
    pub fn failure_bits(&self) -> f64 {
        self.failure_bits
    }

    /// Evaluations of the comparison per batch.
    pub fn evaluations(&self) -> usize {
        self.pairing.evaluations().len()
    }

    /// Products of ciphertexts per batch.
    pub fn products(&self) -> usize {
        self.products
    }

    /// Relinearisations per batch: sums of products share one.
    pub fn relinearisations(&self) -> usize {
        self.relinearisations
    }

    /// Rotations of ciphertexts per batch.
    pub fn rotations(&self) -> usize {
        self.rotations
    }

    /// Bits by which the released noise stays below what would spoil a slot, at worst.
    pub fn noise_margin_bits(&self) -> f64 {
        self.margin
    }

    /// Bits of each of the three uniform integers that flood a coefficient.
    pub fn flooding_bits(&self) -> u32 {
        self.flooding
    }

    /// Seconds of one core with AVX-512 IFMA for one batch, roughly; about eight times as many
    /// without.
    pub fn seconds_per_batch(&self) -> f64 {
        self.seconds
    }

    /// Bits of the noise bound after each stage, with the limbs that are left.
    pub fn noise_bits(&self) -> [(&'static str, f64, usize); 4] {
        let Stages { tally, difference, sign, released } = self.stages;
        [
            (self.kind().first_stage(), tally.bits(), tally.limbs()),
            ("differences", difference.bits(), difference.limbs()),
            ("signs", sign.bits(), sign.limbs()),
            ("release, before flooding", released.bits(), released.limbs()),
        ]
    }

    /// Limbs of a released ciphertext: one, unless trustees still have to flood it.
    pub(crate) fn released_limbs(&self) -> usize {
        self.opening.map_or(1, |opening| opening.limbs)
    }

    /// How trustees open a release, where they hold the key.
    pub(crate) fn opening(&self) -> Option<OpeningPlan> {
        self.opening
    }

    /// The trustees who hold the key, if the student does not.
    pub fn trustees(&self) -> Option<Trustees> {
        self.opening.map(|opening| opening.trustees)
    }

    /// Whether ballots carry a proof that they are short and that their makers know them.
    pub fn proofs(&self) -> bool {
        self.ring.lengths == Lengths::Proven
    }

    /// What a teacher sends.
    pub fn kind(&self) -> BallotKind {
        self.grid.map_or(BallotKind::Checked, |_| BallotKind::Tiny)
    }

    /// Coefficients of a teacher's secret, for tiny ballots.
    pub fn dimension(&self) -> Option<usize> {
        Some(self.grid?.module().dimension())
    }

    /// How many samples there are.
    pub(crate) fn samples(&self) -> usize {
        self.samples
    }

    /// How many teachers may vote.
    pub(crate) fn teachers(&self) -> usize {
        self.teachers
    }

    /// Where tiny ballots are; `None` of checked ones.
    pub(crate) fn grid(&self) -> Option<Grid> {
        self.grid
    }

    /// The place of every slot of every sample.
    pub(crate) fn places(&self) -> Places {
        let (degree, run) = (self.ring.degree, self.pairing.run());
        let all = || Places::of_runs(degree, run, self.samples_per_batch());
        self.grid.map_or_else(all, |grid| grid.places())
    }

    /// Limbs at which single steps in a run are made.
    pub(crate) fn step(&self) -> usize {
        if self.grid.is_some() { self.wins } else { self.ring.limbs }
    }

    /// Classes, a threshold's included.
    pub(crate) fn classes(&self) -> usize {
        self.classes
    }

    pub(crate) fn ring(&self) -> Ring {
        self.ring
    }

    pub(crate) fn pairing(&self) -> &Pairing {
        &self.pairing
    }

    pub(crate) fn blocks(&self) -> Blocks {
        self.blocks
    }

    /// Limbs of a difference.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Limbs at which wins are added up.
    pub(crate) fn wins(&self) -> usize {
        self.wins
    }

    pub(crate) fn steps(&self) -> &Steps {
        &self.steps
    }

    pub(crate) fn stages(&self) -> Stages {
        self.stages
    }
}
