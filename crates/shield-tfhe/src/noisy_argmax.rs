//! SPEED's exact noisy argmax on encrypted counts: what SHIELD replaces, and the yardstick for what
//! it gains.
//!
//! Each teacher encrypts, for every sample and class, its one-hot vote plus its share of discrete
//! Laplace noise ([`shield::shared_noise::polya`]). The server adds up the ballots, which costs
//! nothing, and finds the class with the largest sum, the lowest of several, by a tournament of
//! bootstrappings: exactly, whatever the gap. The student reads the class and nothing else.
//!
//! | module | subject |
//! |---|---|
//! | `digits` | a sum of ballots to encrypted digits, lowest first |
//! | `tournament` | digits to the class that has the largest |
//! | [`plan`] | how many digits, how many bootstrappings, how sure a label is |
//! | `backend` | all of it behind the trait that the engines share |
//!
//! Keys, encryption and flooding are those of [`crate::bootstrapped`]. The clear reference is
//! [`shield::backend::noisy_argmax::ClearNoisyArgmax`]; privacy is accounted for in
//! [`shield::privacy::distributed_argmax`].

mod backend;
mod digits;
pub mod plan;
#[cfg(test)]
mod tests;
mod tournament;

pub use backend::NoisyArgmaxBackend;
pub use plan::ArgmaxPlan;
