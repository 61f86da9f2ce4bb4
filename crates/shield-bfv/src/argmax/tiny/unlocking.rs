//! What server and student say to each other once it is known whose ballots count.
//!
//! The **request** has everybody's sealed seed and no votes: the student, who opens the seeds, must
//! not see the ballots that they hide. The **unlocking** is one encryption of the sum of the
//! secrets, under the student's own key, with the digest of the request that it answers.

use rand::{CryptoRng, RngCore};
use shield_core::engine::Presence;
use shield_core::engine::noisy_argmax::TooFewShares;
use shield_core::framing::{Reader, write_presence};
use shield_core::shared_noise::SharedNoise;
use zeroize::Zeroizing;

use super::keys::TinySecretKey;
use super::phases::secret_slots;
use super::seal::Capsule;
use super::teacher::{self, Context as Ballots};
use crate::argmax::error::ArgmaxError;
use crate::argmax::mlwe::Grid;
use crate::argmax::sizes::CAPSULE;
use crate::bytes::{read_public, write_poly};
use crate::ring::{Context, PLAINTEXT, Poly};
use crate::scheme::{Ciphertext, EncryptionKey};

/// The sealed seeds of those who sent a ballot, teacher by teacher.
pub(super) struct Request(pub(super) Vec<Option<Capsule>>);

impl Request {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        write_presence(out, &Presence::new(self.0.iter().map(Option::is_some)));
        for capsule in &self.0 {
            out.extend(capsule.unwrap_or([0; CAPSULE]));
        }
    }

    pub(super) fn read(payload: &mut Reader, teachers: usize) -> Option<Self> {
        let present = payload.presence(teachers)?;
        let capsules = (0..teachers).map(|teacher| {
            let capsule: Capsule = payload.array()?;
            let sound = present.contains(teacher) || capsule == [0; CAPSULE];
            sound.then(|| present.contains(teacher).then_some(capsule))
        });
        capsules.collect::<Option<_>>().map(Self)
    }

    /// Refuses what the student must not answer: fewer seeds than shares of the noise, because the
    /// labels would have less than was promised, and copies, because the noise of a ballot that is
    /// counted twice is no noise of two.
    pub(super) fn check(&self, noise: &SharedNoise) -> Result<(), ArgmaxError> {
        let mut present: Vec<(&Capsule, u32)> = self
            .0
            .iter()
            .zip(0..)
            .filter_map(|(capsule, i)| Some((capsule.as_ref()?, i)))
            .collect();
        let (ballots, teachers, shares) = (present.len() as u32, noise.teachers(), noise.shares());
        if ballots < shares {
            return Err(TooFewShares { ballots, teachers, shares }.into());
        }
        present.sort_unstable();
        match present.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            None => Ok(()),
            Some(pair) => Err(ArgmaxError::Copied { first: pair[0].1, second: pair[1].1 }),
        }
    }

    /// The sum of the secrets that the seeds stand for, by values.
    pub(super) fn sum(
        &self,
        key: &TinySecretKey,
        ballots: Ballots,
        grid: Grid,
    ) -> Zeroizing<Vec<u64>> {
        let mut sum = Zeroizing::new(vec![0; grid.module().dimension()]);
        for capsule in self.0.iter().flatten() {
            let secret = teacher::secret(ballots, grid, &key.opening.open(capsule));
            sum.iter_mut().zip(&*secret).for_each(|(sum, s)| *sum = (*sum + s) % PLAINTEXT);
        }
        sum
    }
}

/// The student's answer.
pub(super) struct Unlocking {
    /// The checksum of the request.
    pub(super) request: [u8; 32],
    pub(super) secrets: Ciphertext,
    seed: [u8; 32],
}

impl Unlocking {
    /// The answer to a request with that checksum: an encryption of a sum of secrets, under a key
    /// that serves once.
    pub(super) fn new<R: RngCore + CryptoRng>(
        context: &Context,
        (grid, columns): (Grid, &[u32]),
        key: &TinySecretKey,
        request: [u8; 32],
        sum: &[u64],
        rng: &mut R,
    ) -> Self {
        let fresh = EncryptionKey::generate(context, &key.secret.secret, rng);
        let seed = fresh.seed;
        let mut secrets = fresh.into_zero(context);
        secrets.add_slots(context, secret_slots(grid, columns, sum));
        Self { request, secrets, seed }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>, context: &Context) {
        out.extend(self.request);
        out.extend(self.seed);
        write_poly(out, context, &self.secrets.parts[0]);
    }

    pub(super) fn read(payload: &mut Reader, context: &Context) -> Option<Self> {
        let request = payload.array()?;
        let EncryptionKey { seed, parts: [first, _] } = read_public(payload, context)?;
        let none = Poly::zero(context.degree(), context.limbs());
        let [_, second] = EncryptionKey::from_parts(context, seed, none).into_zero(context).parts;
        Some(Self { request, secrets: Ciphertext { parts: [first, second] }, seed })
    }
}
