//! Noise in shares: every teacher adds one, and nobody knows the sum. SPEED's noisy argmax needs
//! it.
//!
//! | module | subject |
//! |---|---|
//! | [`polya`], [`skellam`] | the two laws: why shares add up, dropouts, precision |
//! | [`shares`] | how a share is drawn |
//! | [`bits`] | noise of weighted fair bits, whose law is known but which nothing draws |
//! | `law`, `family` | the law of a sum of shares as a table, and the laws by name |

pub mod bits;
mod family;
mod law;
pub mod polya;
pub mod shares;
pub mod skellam;
#[cfg(test)]
mod tests;

pub use family::NoiseFamily;
pub use law::NoiseLaw;
pub use shares::Shares;

use crate::parameters::{Noise, ParameterError};
use shares::LEFT;

/// Noise in shares, one per teacher: discrete Laplace noise, or Skellam noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedNoise {
    family: NoiseFamily,
    scale: Noise,
    teachers: u32,
    shares: u32,
}

/// What drawing with finite precision may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Imprecision {
    /// Added to the epsilon of one query.
    pub epsilon: f64,
    /// Added to the delta of one query.
    pub delta: f64,
}

impl SharedNoise {
    /// The largest scale: tables grow with it.
    pub const MAX_SCALE: f64 = 10_000.0;

    /// The smallest scale: noise of 0 is nearly certain already, and what is left is too little to
    /// compute with.
    pub const MIN_SCALE: f64 = 0.01;

    /// Most entries of a table, each the probability of a number.
    const MAX_REACH: f64 = 1e7;

    /// Laplace noise of some scale among that many teachers, of whom so many may be missing: fewer
    /// than all.
    pub fn new(scale: Noise, teachers: u32, dropouts: u32) -> Result<Self, ParameterError> {
        Self::of(NoiseFamily::Laplace, scale, teachers, dropouts)
    }

    /// The same, of either law: the scale of Laplace noise, the standard deviation of Skellam
    /// noise.
    pub fn of(
        family: NoiseFamily,
        scale: Noise,
        teachers: u32,
        dropouts: u32,
    ) -> Result<Self, ParameterError> {
        let noise = |allowed| ParameterError::new("the noise", scale.get(), allowed);
        if !(Self::MIN_SCALE..=Self::MAX_SCALE).contains(&scale.get()) {
            return Err(noise("noise in shares must be from 0.01 to 10,000 votes"));
        }
        let shares = teachers.saturating_sub(dropouts).max(1);
        let both = 2.0 * f64::from(teachers) / f64::from(shares);
        let reach = match family {
            NoiseFamily::Laplace => polya::furthest(scale.get(), both),
            NoiseFamily::Skellam => skellam::furthest(both * scale.get() * scale.get()),
        };
        if reach > Self::MAX_REACH {
            return Err(noise(
                "with so many dropouts it must be less: all shares together spread too far",
            ));
        }
        match teachers.checked_sub(dropouts) {
            Some(shares @ 1..) => Ok(Self { family, scale, teachers, shares }),
            _ => Err(ParameterError::new(
                "the number of dropouts",
                dropouts,
                "it must be below the number of teachers",
            )),
        }
    }

    /// The law of the noise.
    pub fn family(&self) -> NoiseFamily {
        self.family
    }

    /// b: the scale of Laplace noise, or the standard deviation of Skellam noise.
    pub fn scale(&self) -> Noise {
        self.scale
    }

    /// n: how many teachers there are.
    pub fn teachers(&self) -> u32 {
        self.teachers
    }

    /// m: how many shares make up the noise that was promised.
    pub fn shares(&self) -> u32 {
        self.shares
    }

    /// D: how many teachers may be missing.
    pub fn dropouts(&self) -> u32 {
        self.teachers - self.shares
    }

    /// The law of the sum of that many shares.
    pub fn law(&self, voters: u32) -> NoiseLaw {
        self.law_of(f64::from(voters) / f64::from(self.shares))
    }

    /// The law of the difference of two such sums.
    pub fn difference_law(&self, voters: u32) -> NoiseLaw {
        self.law_of(2.0 * f64::from(voters) / f64::from(self.shares))
    }

    /// The law of so many times the promised noise.
    fn law_of(&self, times: f64) -> NoiseLaw {
        let scale = self.scale.get();
        match self.family {
            NoiseFamily::Laplace => polya::law(scale, times),
            NoiseFamily::Skellam => skellam::law(times * scale * scale),
        }
    }

    /// What finite precision may cost one query, if that many classes have noise of their own.
    ///
    /// Each of the 2n draws behind a noisy count has its probability off by a factor of at most 1 +
    /// eta, and is normalised by a sum that is off by no more; the probabilities of two counts
    /// stand in a privacy loss, each once above and once below.
    pub fn imprecision(&self, classes: usize) -> Imprecision {
        let draws = 2.0 * f64::from(self.teachers);
        let eta = libm::exp2(-51.0) * Shares::new(self).len() as f64 + libm::exp2(-40.0);
        Imprecision {
            epsilon: 8.0 * draws * eta,
            delta: 2.0 * draws * classes as f64 * libm::exp2(LEFT),
        }
    }
}

impl Shares {
    /// The table of a noise: of whichever law it has.
    pub fn new(noise: &SharedNoise) -> Self {
        let (scale, shares) = (noise.scale.get(), noise.shares);
        Self::from_weights(match noise.family() {
            NoiseFamily::Laplace => polya::weights(scale, shares),
            NoiseFamily::Skellam => skellam::weights(scale, shares),
        })
    }
}
