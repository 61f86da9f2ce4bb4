//! What a plan says of itself: ring, noise, sizes.

use super::{AuditPlan, Plan, Stages};
use crate::layout::Coding;
use crate::noise::{Lengths, Ring};
use crate::quorum::{OpeningPlan, Trustees};
use crate::ring::PLAINTEXT;
use crate::validity::REPETITIONS;

impl Plan {
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

    /// The plaintext modulus.
    pub fn plaintext_modulus(&self) -> u64 {
        PLAINTEXT
    }

    /// Security by the table of [`crate::security`].
    pub fn security_bits(&self) -> u32 {
        self.ring.security_bits()
    }

    /// Samples in a full batch.
    pub fn samples_per_batch(&self) -> usize {
        self.layout.samples()
    }

    /// Batches of the election.
    pub fn batches(&self) -> usize {
        self.samples.div_ceil(self.samples_per_batch())
    }

    /// Products of ciphertexts per batch.
    pub fn products(&self) -> usize {
        let cells = self.layout.ciphertexts();
        let unanimity = cells * self.layout.planes() * self.order.products();
        match self.coding() {
            Coding::OneHot => unanimity,
            Coding::PackedBits => unanimity + cells * self.success_levels.len(),
            Coding::BitsAcross => unanimity + cells * (self.layout.planes() - 1),
        }
    }

    /// Products of ciphertexts in sequence.
    pub fn depth(&self) -> u32 {
        self.order.depth() + self.success_levels.len() as u32
    }

    /// Rotations of ciphertexts per batch.
    pub fn rotations(&self) -> usize {
        let turns: usize = self.layout.run_stages().iter().map(Vec::len).sum();
        let (ciphertexts, groups) = (self.layout.ciphertexts(), self.layout.groups());
        let check = REPETITIONS * self.layout.check_stages().iter().sum::<usize>();
        check + ciphertexts * turns + groups - 1
    }

    /// Bits by which the released noise stays below what would spoil a slot, at worst.
    pub fn noise_margin_bits(&self) -> f64 {
        self.margin
    }

    /// Bits of each of the three uniform integers that flood a coefficient.
    pub fn flooding_bits(&self) -> u32 {
        self.flooding
    }

    /// Ciphertexts in a release.
    pub(crate) fn released_ciphertexts(&self) -> usize {
        self.layout.ciphertexts() * self.layout.released_planes()
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

    /// Teachers of the election.
    pub(crate) fn teachers(&self) -> usize {
        self.teachers as usize
    }

    /// How an audit releases the checks of single teachers.
    pub(crate) fn audit(&self) -> AuditPlan {
        self.audit
    }

    /// Which ballots are found out while they are encrypted.
    pub fn ballot_check(&self) -> &'static str {
        let codes = 1_usize << self.layout.bits();
        match self.coding() {
            Coding::PackedBits | Coding::BitsAcross if codes > self.layout.classes() => {
                "every ballot is checked; codes that are no class pass, and raise an alarm if \
                 they win"
            }
            _ => "every ballot is checked",
        }
    }

    pub(crate) fn ring(&self) -> Ring {
        self.ring
    }

    /// The value of n where a round succeeded, modulo the plaintext modulus.
    pub(crate) fn success(&self) -> u64 {
        let factors = self.layout.period() * self.layout.planes();
        (0..factors).fold(1, |product, _| product * self.order.success() % PLAINTEXT)
    }

    pub(crate) fn unanimity_levels(&self) -> &[usize] {
        &self.unanimity_levels
    }

    pub(crate) fn success_levels(&self) -> &[usize] {
        &self.success_levels
    }

    pub(crate) fn reveal_limbs(&self) -> usize {
        self.reveal_limbs
    }

    /// Bits of the noise bound after each stage: the canonical norm, of log2 Q bits.
    pub fn noise_bits(&self) -> [(&'static str, f64); 6] {
        let Stages { ballot, tally, unanimity, successes, validity, released } = self.stages;
        let over = match self.coding() {
            Coding::OneHot => "sums over classes",
            Coding::PackedBits | Coding::BitsAcross => "product over bits",
        };
        [
            (if self.proofs() { "proven ballot" } else { "fresh" }, ballot.bits()),
            ("tally", tally.bits()),
            ("unanimity", unanimity.bits()),
            (over, successes.bits()),
            ("check of the ballots", validity.bits()),
            ("release, before flooding", released.bits()),
        ]
    }

    #[cfg(test)]
    pub(crate) fn stages(&self) -> Stages {
        self.stages
    }
}
