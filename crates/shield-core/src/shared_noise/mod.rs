//! Noise in shares: every teacher adds one, and nobody knows the sum. SPEED's noisy argmax needs
//! it.
//!
//! | module | subject |
//! |---|---|
//! | [`polya`], [`skellam`] | the two laws: why shares add up, dropouts, precision |
//! | [`shares`] | how a share is drawn |
//! | [`bits`] | noise of weighted fair bits |
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
use bits::WeightedBits;
use shares::LEFT;

/// Noise in shares, one per teacher, of one of the laws.
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
        if let NoiseFamily::Bits(bits) = family {
            return Self::of_bits(bits, teachers, dropouts);
        }
        let noise = |allowed| ParameterError::new("the noise", scale.get(), allowed);
        if !(Self::MIN_SCALE..=Self::MAX_SCALE).contains(&scale.get()) {
            return Err(noise("noise in shares must be from 0.01 to 10,000 votes"));
        }
        let shares = teachers.saturating_sub(dropouts).max(1);
        let both = 2.0 * f64::from(teachers) / f64::from(shares);
        let reach = match family {
            NoiseFamily::Laplace => polya::furthest(scale.get(), both),
            _ => skellam::furthest(both * scale.get() * scale.get()),
        };
        if reach > Self::MAX_REACH {
            return Err(noise(
                "with so many dropouts it must be less: all shares together spread too far",
            ));
        }
        let shares = Self::shares_of(teachers, dropouts)?;
        Ok(Self { family, scale, teachers, shares })
    }

    /// The same of weighted fair bits. Their standard deviation is what they add up to.
    pub fn of_bits(
        bits: WeightedBits,
        teachers: u32,
        dropouts: u32,
    ) -> Result<Self, ParameterError> {
        let shares = Self::shares_of(teachers, dropouts)?;
        let most = bits.most(teachers);
        if most > WeightedBits::MAX_SUM {
            let what = "the sum of the weights of all shares";
            return Err(ParameterError::new(what, most, "it must be at most 20,000"));
        }
        let scale = Noise::new(bits.deviation(shares))?;
        Ok(Self { family: NoiseFamily::Bits(bits), scale, teachers, shares })
    }

    /// How many shares make up the noise that is promised.
    fn shares_of(teachers: u32, dropouts: u32) -> Result<u32, ParameterError> {
        let shares = teachers.checked_sub(dropouts).filter(|&shares| shares > 0);
        let allowed = "it must be below the number of teachers";
        shares.ok_or_else(|| ParameterError::new("the number of dropouts", dropouts, allowed))
    }

    /// The law of the noise.
    pub fn family(&self) -> NoiseFamily {
        self.family
    }

    /// b: the scale of Laplace noise, or the standard deviation of other noise.
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
        self.law_of(voters, 1)
    }

    /// The law of the difference of two such sums.
    pub fn difference_law(&self, voters: u32) -> NoiseLaw {
        self.law_of(voters, 2)
    }

    /// The law of so many such sums, as these are the same on both sides of their middle.
    fn law_of(&self, voters: u32, sums: u32) -> NoiseLaw {
        let scale = self.scale.get();
        let times = f64::from(sums) * f64::from(voters) / f64::from(self.shares);
        match self.family {
            NoiseFamily::Laplace => polya::law(scale, times),
            NoiseFamily::Skellam => skellam::law(times * scale * scale),
            NoiseFamily::Bits(bits) => bits.law(sums * voters),
        }
    }

    /// What finite precision may cost one query, if that many classes have noise of their own.
    ///
    /// Each of the 2n draws behind a noisy count has its probability off by a factor of at most 1 +
    /// eta, and is normalised by a sum that is off by no more; the probabilities of two counts
    /// stand in a privacy loss, each once above and once below.
    pub fn imprecision(&self, classes: usize) -> Imprecision {
        if let NoiseFamily::Bits(_) = self.family {
            return Imprecision { epsilon: 0.0, delta: 0.0 };
        }
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
        match noise.family() {
            NoiseFamily::Laplace => Self::from_weights(polya::weights(scale, shares)),
            NoiseFamily::Skellam => Self::from_weights(skellam::weights(scale, shares)),
            NoiseFamily::Bits(bits) => Self { cumulative: Vec::new(), bits: Some(bits) },
        }
    }
}
