//! Looking a table up at an encrypted number: one bootstrapping.

use tfhe::core_crypto::prelude::{
    CiphertextModulusLog, ComputationBuffers, Fft, LweCiphertext, LweCiphertextOwned,
    blind_rotate_assign_mem_optimized, blind_rotate_assign_mem_optimized_requirement,
    keyswitch_lwe_ciphertext, lwe_ciphertext_centered_binary_modulus_switch,
};

use super::keys::{
    GLWE_DIMENSION, POLYNOMIAL, Packed, SMALL_DIMENSION, ServerKey, native, number, zero,
};
use super::torus::{Lwe, Table};
use crate::transform::{DEGREE, fft};

/// log2 of 2N, the number of parts that the torus is rounded to.
const PARTS: CiphertextModulusLog = CiphertextModulusLog(12);

/// Looks tables up, with memory that is allocated once. One per thread.
pub(super) struct Lookup<'k> {
    key: &'k ServerKey,
    fft: Fft,
    buffers: ComputationBuffers,
    small: LweCiphertextOwned<u64>,
    accumulator: Packed,
    /// How many tables have been looked up: each is one bootstrapping.
    pub(super) count: usize,
}

impl<'k> Lookup<'k> {
    pub(super) fn new(key: &'k ServerKey) -> Self {
        let fft = fft();
        let mut buffers = ComputationBuffers::new();
        let needed = blind_rotate_assign_mem_optimized_requirement::<u64>(
            GLWE_DIMENSION.to_glwe_size(),
            POLYNOMIAL,
            fft.as_view(),
        );
        buffers.resize(needed.unaligned_bytes_required());
        let small = LweCiphertextOwned::new(0, SMALL_DIMENSION.to_lwe_size(), native());
        Self { key, fft, buffers, small, accumulator: zero(), count: 0 }
    }

    /// What the table says about an encrypted number, with fresh noise.
    pub(super) fn look_up(&mut self, table: &Table, input: &Lwe) -> Lwe {
        self.count += 1;
        let input = LweCiphertext::from_container(input.0.as_slice(), native());
        keyswitch_lwe_ciphertext(&self.key.switch, &input, &mut self.small);
        let rounded = lwe_ciphertext_centered_binary_modulus_switch::<u64, usize, _>(
            self.small.as_view(),
            PARTS,
        );
        let words: &mut [u64] = self.accumulator.as_mut();
        words[..DEGREE].fill(0);
        words[DEGREE..].copy_from_slice(&table.0);
        blind_rotate_assign_mem_optimized(
            &rounded,
            &mut self.accumulator,
            &self.key.bootstrap,
            self.fft.as_view(),
            self.buffers.stack(),
        );
        number(&self.accumulator, 0)
    }
}
