//! Looking a table up at an encrypted number: one bootstrapping.

use tfhe::core_crypto::prelude::{
    ComputationBuffers, Fft, GlweCiphertextOwned, LweCiphertext, LweCiphertextOwned,
    MonomialDegree, blind_rotate_assign_mem_optimized,
    blind_rotate_assign_mem_optimized_requirement, extract_lwe_sample_from_glwe_ciphertext,
    keyswitch_lwe_ciphertext, lwe_ciphertext_centered_binary_modulus_switch,
};

use super::keys::EvaluationKey;
use super::parameters::{GLWE_DIMENSION, PARTS, POLYNOMIAL, RING, SMALL_DIMENSION, native};
use super::torus::{Lwe, Table};
use crate::transform::fft;

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
