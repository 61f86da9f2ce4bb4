//! Arithmetic in Z_Q[X]/(X^n + 1), Q a product of primes below 2^51.
mod arithmetic;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod basis;
mod buffer;
pub(crate) mod combine;
mod context;
#[cfg(target_arch = "x86_64")]
mod doubles;
mod lanes;
pub(crate) mod limb;
mod modulus;
mod ntt;
pub(crate) mod packing;
mod poly;
mod primes;

pub(crate) use arithmetic::Arithmetic;
pub(crate) use buffer::Buffer;
pub(crate) use context::{Context, PLAINTEXT};
#[cfg(test)]
pub(crate) use lanes::kernels_run;
pub(crate) use lanes::{Block, Kernel, LANES, Lanes, dispatch};
pub(crate) use modulus::Modulus;
pub(crate) use ntt::{Ntt, Unit};
pub(crate) use poly::{Coefficients, Poly, Values};
