//! Which lanes this processor gets.

#[cfg(target_arch = "x86_64")]
use super::avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use super::avx512::Avx512;
use super::lanes::{Arithmetic, Form, Kernel, Lanes};
use super::portable::Portable;

/// Runs `kernel` with AVX-512 IFMA or AVX2 where the processor has it, lane by lane elsewhere.
#[inline]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(test)]
    KERNELS.with(|count| count.set(count.get() + 1));
    #[cfg(target_arch = "x86_64")]
    if let Some(lanes) = Avx512::detect() {
        return lanes.vectorize(kernel);
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(lanes) = Avx2::detect() {
        return lanes.vectorize(kernel);
    }
    kernel.run(Portable)
}

#[cfg(test)]
thread_local! {
    static KERNELS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// How many kernels this thread has run: for the test that the work does not depend on the votes.
#[cfg(test)]
pub(crate) fn kernels_run() -> u64 {
    KERNELS.with(std::cell::Cell::get)
}

/// The form of the factors that the lanes of this processor compute with.
pub(crate) fn native_form() -> Form {
    struct Native;
    impl Kernel for Native {
        type Output = Form;
        #[inline(always)]
        fn run<L: Lanes>(self, _: L) -> Form {
            L::Arithmetic::FORM
        }
    }
    dispatch(Native)
}

#[cfg(test)]
mod tests;
