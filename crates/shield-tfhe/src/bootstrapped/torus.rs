//! Encryptions of one number of the torus, and the two things that are done with them: linear
//! combinations, and looking a table up.

use tfhe::core_crypto::prelude::{
    ComputationBuffers, Fft, GlweCiphertextOwned, LweCiphertext, LweCiphertextOwned,
    MonomialDegree, blind_rotate_assign_mem_optimized,
    blind_rotate_assign_mem_optimized_requirement, extract_lwe_sample_from_glwe_ciphertext,
    keyswitch_lwe_ciphertext, lwe_ciphertext_centered_binary_modulus_switch,
};

use super::keys::EvaluationKey;
use super::parameters::{GLWE_DIMENSION, PARTS, POLYNOMIAL, RING, SMALL_DIMENSION, native, torus};
use crate::transform::fft;

/// An encryption of a number of the torus under the student's key: N words of mask, then the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lwe(pub(crate) Vec<u64>);

impl Lwe {
    /// A number that everybody knows.
    pub(crate) fn known(number: u64) -> Self {
        let mut words = vec![0; RING + 1];
        words[RING] = number;
        Self(words)
    }

    /// Adds a number that everybody knows.
    pub(crate) fn shift(&mut self, number: u64) {
        self.0[RING] = self.0[RING].wrapping_add(number);
    }

    /// Adds a whole multiple of another encryption.
    pub(crate) fn add_multiple(&mut self, factor: i64, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word = word.wrapping_add(other.wrapping_mul(factor.cast_unsigned()));
        }
    }

    /// A whole multiple.
    pub(crate) fn times(&self, factor: i64) -> Self {
        let mut multiple = Self::known(0);
        multiple.add_multiple(factor, self);
        multiple
    }

    /// The difference of two.
    pub(crate) fn minus(&self, other: &Self) -> Self {
        let mut difference = self.clone();
        difference.add_multiple(-1, other);
        difference
    }
}

/// A table over half the torus, [-1/4, 1/4). What a table says at x + 1/2 is minus what it says at
/// x, always.
#[derive(Clone, Debug)]
pub(crate) struct Table(Vec<u64>);

impl Table {
    /// The table of a function from [-1/4, 1/4) to the torus.
    ///
    /// Entry i of the ring's polynomial answers for the positions from i to i + 1 of the 2N parts:
    /// the crate rounds down, after it has taken half a part off.
    pub(crate) fn new(f: impl Fn(f64) -> f64) -> Self {
        let entry = |i: usize| {
            let position = (i as f64 + 0.5) / (2 * RING) as f64;
            if i < RING / 2 { torus(f(position)) } else { torus(-f(position - 0.5)) }
        };
        Self((0..RING).map(entry).collect())
    }

    /// `value` within `reach` of zero, nothing elsewhere.
    pub(crate) fn window(reach: f64, value: f64) -> Self {
        Self::new(|x| if x.abs() < reach { value } else { 0.0 })
    }
}

#[cfg(test)]
impl Table {
    /// What the table says at a place of the torus, in turns from -1/2 to 1/2: for tests without
    /// noise.
    pub(crate) fn read(&self, x: f64) -> f64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0..2N")]
        let part = ((x - x.floor()) * (2 * RING) as f64) as usize % (2 * RING);
        let says = super::parameters::turns(self.0[part % RING]);
        if part < RING { says } else { -says }
    }
}

/// Looks tables up, with memory that is allocated once. One per thread.
pub(crate) struct Lookup<'k> {
    key: &'k EvaluationKey,
    fft: Fft,
    buffers: ComputationBuffers,
    small: LweCiphertextOwned<u64>,
    accumulator: GlweCiphertextOwned<u64>,
    #[cfg(test)]
    lookups: usize,
}

impl<'k> Lookup<'k> {
    pub(crate) fn new(key: &'k EvaluationKey) -> Self {
        let fft = fft();
        let glwe_size = GLWE_DIMENSION.to_glwe_size();
        let mut buffers = ComputationBuffers::new();
        let needed = blind_rotate_assign_mem_optimized_requirement::<u64>(
            glwe_size,
            POLYNOMIAL,
            fft.as_view(),
        );
        buffers.resize(needed.unaligned_bytes_required());
        Self {
            key,
            fft,
            buffers,
            small: LweCiphertextOwned::new(0, SMALL_DIMENSION.to_lwe_size(), native()),
            accumulator: GlweCiphertextOwned::new(0, glwe_size, POLYNOMIAL, native()),
            #[cfg(test)]
            lookups: 0,
        }
    }

    /// How many tables have been looked up: each is one bootstrapping.
    #[cfg(test)]
    pub(crate) fn lookups(&self) -> usize {
        self.lookups
    }

    /// What the table says about an encrypted number, with fresh noise.
    pub(crate) fn look_up(&mut self, table: &Table, input: &Lwe) -> Lwe {
        #[cfg(test)]
        {
            self.lookups += 1;
        }
        let input = LweCiphertext::from_container(input.0.as_slice(), native());
        keyswitch_lwe_ciphertext(&self.key.switch, &input, &mut self.small);
        let rounded = lwe_ciphertext_centered_binary_modulus_switch::<u64, usize, _>(
            self.small.as_view(),
            PARTS,
        );
        let words: &mut [u64] = self.accumulator.as_mut();
        words[..RING].fill(0);
        words[RING..].copy_from_slice(&table.0);
        blind_rotate_assign_mem_optimized(
            &rounded,
            &mut self.accumulator,
            &self.key.bootstrap,
            self.fft.as_view(),
            self.buffers.stack(),
        );
        let mut output = Lwe::known(0);
        extract_lwe_sample_from_glwe_ciphertext(
            &self.accumulator,
            &mut LweCiphertext::from_container(output.0.as_mut_slice(), native()),
            MonomialDegree(0),
        );
        output
    }
}
