//! The Fourier transform that the engine and its baseline share.
//!
//! Left to itself the `tfhe` crate chooses a transform by timing several when it is first asked for
//! one. They differ in the last bits, so the same aggregation would give other bytes in another
//! process; and they may order their coefficients differently, so a key that was transformed by one
//! must never meet another. Here one is chosen for good, before anything is transformed: every
//! transform of this degree goes through [`fft`]. (The gates of the baseline work in the crate's
//! own smaller ring, release nothing and are left to it.)

use std::sync::OnceLock;

use tfhe::core_crypto::fft_impl::fft64::math::fft::setup_custom_fft_plan;
use tfhe::core_crypto::prelude::{Fft, PolynomialSize};
use tfhe_fft::ordered::FftAlgo;
use tfhe_fft::unordered::{Method, Plan};

/// Coefficients of a polynomial, N.
pub(crate) const DEGREE: usize = 2_048;

/// The transform of polynomials with N coefficients.
pub(crate) fn fft() -> Fft {
    static CHOSEN: OnceLock<()> = OnceLock::new();
    CHOSEN.get_or_init(|| {
        let method = Method::UserProvided { base_algo: FftAlgo::Dif4, base_n: 512 };
        setup_custom_fft_plan(Plan::new(DEGREE / 2, method));
    });
    Fft::new(PolynomialSize(DEGREE))
}
