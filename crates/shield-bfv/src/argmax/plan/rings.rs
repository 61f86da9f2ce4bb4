//! The rings that are tried out, and where in them a comparison may start.

use shield_core::shared_noise::SharedNoise;

use super::refusal::ArgmaxPlanError;
use crate::argmax::mlwe::{Module, SMALLEST_SHARE, Unfit};
use crate::security::security_bits;

/// What is tried out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) degree: usize,
    pub(super) limbs: usize,
    pub(super) start: usize,
    pub(super) babies: usize,
}

/// Which rings may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rings {
    /// Those with 128 bits of security or more.
    Secure,
    /// One small ring without any security, to test the circuit with.
    #[cfg(test)]
    Tiny(usize),
}

impl Rings {
    pub(super) fn candidates(self) -> Vec<Candidate> {
        let rings: Vec<(usize, usize)> = match self {
            Self::Secure => (4..=8)
                .map(|limbs| (16_384, limbs))
                .chain((7..=17).map(|limbs| (32_768, limbs)))
                .collect(),
            #[cfg(test)]
            Self::Tiny(degree) => (5..=17).map(|limbs| (degree, limbs)).collect(),
        };
        let start = |&(degree, limbs): &(usize, usize)| [(degree, limbs, 0), (degree, limbs, 1)];
        rings
            .iter()
            .flat_map(start)
            .flat_map(|(degree, limbs, dropped)| {
                let start = limbs - dropped;
                [2, 4, 8, 16, 32].map(|babies| Candidate { degree, limbs, start, babies })
            })
            .collect()
    }

    /// The module of tiny ballots.
    pub(super) fn module(
        self,
        noise: &SharedNoise,
        classes: usize,
    ) -> Result<Module, ArgmaxPlanError> {
        match self {
            Self::Secure => Module::hidden_by(noise, classes).map_err(|unfit| match unfit {
                Unfit::Law => ArgmaxPlanError::TinyLaw,
                Unfit::Share(share) => {
                    let noise = SMALLEST_SHARE * f64::from(noise.shares()).sqrt();
                    ArgmaxPlanError::TinyShare { share, noise }
                }
            }),
            #[cfg(test)]
            Self::Tiny(_) => Ok(Module::insecure(classes)),
        }
    }

    pub(super) fn accepts(self, degree: usize, log_q: u32) -> bool {
        match self {
            Self::Secure => security_bits(degree, log_q).is_some(),
            #[cfg(test)]
            Self::Tiny(_) => true,
        }
    }
}
