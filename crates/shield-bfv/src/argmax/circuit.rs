//! The circuit's arithmetic, with a noise bound beside every value.
//!
//! The same circuit runs on ciphertexts ([`Ciphertexts`]) and on nothing at all ([`Estimate`],
//! which only counts): so the plan knows every level, bound and cost of what will be computed,
//! because it is the same code. Levels are chosen from bounds alone, never from ciphertexts.

use std::cell::Cell;

use crate::noise::{Noise, Ring};
use crate::ring::{Context, PLAINTEXT};
use crate::scheme::{Ciphertext, Extended, SwitchKey, combine, sum_of_products};

/// What a circuit is computed with.
pub(crate) trait Arithmetic {
    /// A ciphertext, or its stand-in.
    type Value: Clone;
    /// A factor of products.
    type Factor;

    /// Switches the modulus down to `limbs` primes.
    fn drop_to(&self, value: &mut Self::Value, limbs: usize);
    /// A value as a factor.
    fn factor(&self, value: &Self::Value, limbs: usize) -> Self::Factor;
    /// The sum of the products of all pairs.
    fn products(&self, pairs: &[(&Self::Factor, &Self::Factor)], limbs: usize) -> Self::Value;
    /// `a += b`.
    fn add(&self, a: &mut Self::Value, b: &Self::Value);
    /// Linear combinations with weights of absolute value at most t/2.
    fn combine(&self, inputs: &[&Self::Value], weights: &[Vec<i64>]) -> Vec<Self::Value>;
}

/// A value, and a bound on its noise.
#[derive(Clone)]
pub(crate) struct Bounded<V> {
    pub(crate) value: V,
    pub(crate) noise: Noise,
}

/// A factor, and a bound on its noise.
pub(crate) struct BoundedFactor<F> {
    factor: F,
    noise: Noise,
}

/// Two factors of a product.
type Pair<'a, F> = (&'a BoundedFactor<F>, &'a BoundedFactor<F>);

/// The arithmetic of a ring.
pub(crate) struct Circuit<'a, A> {
    pub(crate) ring: Ring,
    pub(crate) arithmetic: &'a A,
}

impl<A: Arithmetic> Circuit<'_, A> {
    pub(crate) fn drop_to(&self, a: &mut Bounded<A::Value>, limbs: usize) {
        if a.noise.limbs() > limbs {
            self.arithmetic.drop_to(&mut a.value, limbs);
            a.noise = self.ring.drop_to(a.noise, limbs);
        }
    }

    /// The lowest level at which a product of factors with these noises is still mostly not key
    /// switch: lower levels are cheaper, and cost no depth down to there.
    pub(crate) fn level(&self, a: Noise, b: Noise) -> usize {
        let limbs = a.limbs().min(b.limbs());
        let (a, b) = (self.ring.drop_to(a, limbs), self.ring.drop_to(b, limbs));
        let sum = Noise::new(a.bound() + b.bound(), limbs);
        let fits = |&l: &usize| {
            self.ring.drop_to(sum, l).bound() * self.ring.lift() >= self.ring.relinearisation(l)
        };
        (1..limbs).find(fits).unwrap_or(limbs)
    }

    pub(crate) fn factor(&self, a: &Bounded<A::Value>) -> BoundedFactor<A::Factor> {
        let factor = self.arithmetic.factor(&a.value, a.noise.limbs());
        BoundedFactor { factor, noise: a.noise }
    }

    /// The sum of the products of all pairs, which are at one level.
    pub(crate) fn products(&self, pairs: &[Pair<'_, A::Factor>]) -> Bounded<A::Value> {
        let limbs = pairs.first().map_or(1, |(a, _)| a.noise.limbs());
        let one = |&(a, b): &Pair<'_, A::Factor>| {
            // A product without its key switch, which comes once for all.
            self.ring.product(a.noise, b.noise).bound() - self.ring.relinearisation(limbs)
        };
        let bound = pairs.iter().map(one).sum::<f64>() + self.ring.relinearisation(limbs);
        let factors: Vec<_> = pairs.iter().map(|(a, b)| (&a.factor, &b.factor)).collect();
        let value = self.arithmetic.products(&factors, limbs);
        Bounded { value, noise: Noise::new(bound, limbs) }
    }

    pub(crate) fn add(&self, a: &mut Bounded<A::Value>, b: &Bounded<A::Value>) {
        self.arithmetic.add(&mut a.value, &b.value);
        a.noise = self.ring.combine(a.noise, b.noise, 1.0);
    }

    /// Linear combinations; bounded for the largest weights there can be.
    pub(crate) fn combine(
        &self,
        inputs: &[&Bounded<A::Value>],
        weights: &[Vec<i64>],
    ) -> Vec<Bounded<A::Value>> {
        let noise = self.combination(inputs.iter().map(|a| a.noise));
        let values: Vec<&A::Value> = inputs.iter().map(|a| &a.value).collect();
        let sums = self.arithmetic.combine(&values, weights);
        sums.into_iter().map(|value| Bounded { value, noise }).collect()
    }

    /// The bound on a linear combination with weights of absolute value at most t/2.
    pub(crate) fn combination(&self, noises: impl Iterator<Item = Noise>) -> Noise {
        let half = (PLAINTEXT / 2) as f64;
        let zero = Noise::new(0.0, usize::MAX);
        noises.fold(zero, |sum, noise| {
            let bound = self.ring.combine(sum, noise, half).bound();
            Noise::new(bound, sum.limbs().min(noise.limbs()))
        })
    }
}

/// Arithmetic on ciphertexts.
pub(crate) struct Ciphertexts<'a> {
    pub(crate) context: &'a Context,
    pub(crate) relinearisation: &'a SwitchKey,
}

impl Arithmetic for Ciphertexts<'_> {
    type Value = Ciphertext;
    type Factor = Extended;

    fn drop_to(&self, value: &mut Ciphertext, limbs: usize) {
        value.drop_to(self.context, limbs);
    }

    fn factor(&self, value: &Ciphertext, _: usize) -> Extended {
        Extended::new(self.context, value)
    }

    fn products(&self, pairs: &[(&Extended, &Extended)], _: usize) -> Ciphertext {
        sum_of_products(self.context, self.relinearisation, pairs)
    }

    fn add(&self, a: &mut Ciphertext, b: &Ciphertext) {
        a.add(self.context, b);
    }

    fn combine(&self, inputs: &[&Ciphertext], weights: &[Vec<i64>]) -> Vec<Ciphertext> {
        combine(self.context, inputs, weights)
    }
}

/// Arithmetic on nothing: counts what it would have cost.
#[derive(Debug, Default)]
pub(crate) struct Estimate {
    /// Transforms of one limb, and other work in the time of one.
    work: Cell<f64>,
    products: Cell<usize>,
    relinearisations: Cell<usize>,
}

impl Estimate {
    /// Counts work in the time of transforms.
    pub(crate) fn spend(&self, transforms: f64) {
        self.work.set(self.work.get() + transforms);
    }

    /// A rotation at some level.
    pub(crate) fn rotation(&self, limbs: usize) {
        let limbs = limbs as f64;
        self.spend(1.25 * limbs * limbs + 4.0 * limbs);
    }

    /// A product with a plaintext at some level, which is encoded first.
    pub(crate) fn masked(&self, limbs: usize) {
        self.spend(2.0 * limbs as f64 + 1.0);
    }

    /// All work so far.
    pub(crate) fn work(&self) -> f64 {
        self.work.get()
    }

    /// Products of ciphertexts so far.
    pub(crate) fn products(&self) -> usize {
        self.products.get()
    }

    /// Relinearisations so far.
    pub(crate) fn relinearisations(&self) -> usize {
        self.relinearisations.get()
    }
}

impl Arithmetic for Estimate {
    type Value = ();
    type Factor = ();

    fn drop_to(&self, (): &mut (), limbs: usize) {
        self.spend(2.0 * (limbs as f64 + 1.0));
    }

    fn factor(&self, (): &(), limbs: usize) {
        // Two parts back, two parts over to one prime more, and the conversion between.
        let limbs = limbs as f64;
        self.spend(4.0 * limbs + 2.0 + 0.15 * limbs * limbs);
    }

    fn products(&self, pairs: &[(&(), &())], limbs: usize) {
        self.products.set(self.products.get() + pairs.len());
        self.relinearisations.set(self.relinearisations.get() + 1);
        let (limbs, pairs) = (limbs as f64, pairs.len() as f64);
        self.spend(pairs * limbs + 8.0 * limbs + 3.0 + 0.45 * limbs * limbs + 1.25 * limbs * limbs);
    }

    fn add(&self, (): &mut (), (): &()) {}

    fn combine(&self, inputs: &[&()], weights: &[Vec<i64>]) -> Vec<()> {
        self.spend(0.15 * (inputs.len() * weights.len()) as f64);
        vec![(); weights.len()]
    }
}
