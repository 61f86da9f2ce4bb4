//! AVX2 with fused multiply-add: the proof that a processor has it, and its registers.

use std::arch::x86_64::__m256i;
use std::sync::OnceLock;

use pulp::NullaryFnOnce;
use pulp::x86::V3;

use super::lanes::Kernel;

/// Proof that the processor has AVX2 and FMA.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(pub(super) V3);

impl Avx2 {
    /// The proof, where the processor has the instructions.
    #[inline]
    pub(crate) fn detect() -> Option<Self> {
        static FOUND: OnceLock<Option<V3>> = OnceLock::new();
        FOUND.get_or_init(V3::try_new).map(Self)
    }

    /// Runs `kernel` compiled for these instructions.
    #[inline]
    pub(crate) fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        struct Run<K>(Avx2, K);
        impl<K: Kernel> NullaryFnOnce for Run<K> {
            type Output = K::Output;
            #[inline(always)]
            fn call(self) -> K::Output {
                self.1.run(self.0)
            }
        }
        self.0.vectorize(Run(self, kernel))
    }
}

/// Eight lanes, the first four in the first register.
pub(super) type V = [__m256i; 2];
