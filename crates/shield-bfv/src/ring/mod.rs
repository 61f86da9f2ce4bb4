//! Arithmetic in Z_Q[X]/(X^n + 1), Q a product of primes below 2^51.
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod basis;
mod buffer;
pub(crate) mod combine;
mod context;
mod dispatch;
#[cfg(target_arch = "x86_64")]
mod doubles;
mod integers;
mod lanes;
pub(crate) mod limb;
mod modulus;
mod ntt;
pub(crate) mod packing;
mod poly;
mod portable;
mod primes;
#[cfg(target_arch = "x86_64")]
mod registers;

pub(crate) use buffer::Buffer;
pub(crate) use context::{Context, PLAINTEXT};
pub(crate) use dispatch::dispatch;
#[cfg(test)]
pub(crate) use dispatch::kernels_run;
pub(crate) use lanes::{Arithmetic, Block, Kernel, LANES, Lanes};
pub(crate) use modulus::Modulus;
pub(crate) use ntt::{Ntt, Unit};
pub(crate) use poly::{Coefficients, Poly, Values};
