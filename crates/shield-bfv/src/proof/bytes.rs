//! Proofs as bytes: the challenge, then for each answer u in 21 bits and m in 17 bits a
//! coefficient.

use shield_core::framing::Reader;

use super::{Answer, LARGEST, Proof, REPETITIONS};
use crate::ring::{PLAINTEXT, packing};

/// Bits of a coefficient of u, counted from the least, and of m.
const U_BITS: u32 = 21;
const M_BITS: u32 = 17;

impl Proof {
    /// Bytes of the proof for so many ciphertexts.
    pub(crate) fn bytes(degree: usize, ciphertexts: usize) -> usize {
        let answer = degree / 8 * (U_BITS + M_BITS) as usize;
        32 + ciphertexts * REPETITIONS * answer
    }

    /// Appends the proof.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.challenge);
        for answer in &self.answers {
            let u = answer.u.iter().map(|&x| (i64::from(x) + LARGEST).cast_unsigned());
            packing::pack(out, &u.collect::<Vec<_>>(), U_BITS);
            let m = answer.m.iter().map(|&x| u64::from(x));
            packing::pack(out, &m.collect::<Vec<_>>(), M_BITS);
        }
    }

    /// Reads the proof for so many ciphertexts; `None` for numbers out of range.
    pub(crate) fn read(payload: &mut Reader, degree: usize, ciphertexts: usize) -> Option<Self> {
        let challenge = payload.array()?;
        let mut numbers = vec![0; degree];
        let mut answer = || {
            packing::unpack(payload.take(degree / 8 * U_BITS as usize)?, U_BITS, &mut numbers);
            let sound = numbers.iter().all(|&x| x <= 2 * LARGEST.cast_unsigned());
            let u = numbers.iter().map(|&x| x as i32 - LARGEST as i32).collect();
            packing::unpack(payload.take(degree / 8 * M_BITS as usize)?, M_BITS, &mut numbers);
            let sound = sound && numbers.iter().all(|&x| x < PLAINTEXT);
            let m = numbers.iter().map(|&x| x as u32).collect();
            sound.then_some(Answer { u, m })
        };
        let answers = (0..ciphertexts * REPETITIONS).map(|_| answer());
        Some(Self { challenge, answers: answers.collect::<Option<_>>()? })
    }
}
