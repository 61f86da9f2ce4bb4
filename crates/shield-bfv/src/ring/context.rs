//! The ring of one plan: its primes, transforms and conversions.

use super::basis::Conversion;
use super::buffer::Buffer;
use super::limb;
use super::modulus::{Factor, Modulus};
use super::ntt::{Ntt, Unit};
use super::poly::{Coefficients, Poly, Values};
use super::primes;

/// Plaintext modulus: the smallest prime with a slot for every coefficient of every ring in use.
pub(crate) const PLAINTEXT: u64 = 65_537;

/// Every ciphertext prime is one modulo this: it splits in rings of up to 32,768 coefficients, and
/// the remainder of any product of such primes by the plaintext modulus is one, which removes the
/// error term `(Q mod t) m / t` from every product.
const STEP: u64 = 65_536 * PLAINTEXT;

/// Conversions for products of ciphertexts at one level, Q the product of its primes and P that of
/// one more auxiliary prime.
#[derive(Debug)]
pub(crate) struct Level {
    /// From Q to P, the same centred integer.
    pub(crate) extend: Conversion,
    /// From Q and P to P, divided by Q / t and rounded.
    pub(crate) divide: Conversion,
    /// From P to Q, the same centred integer.
    pub(crate) restrict: Conversion,
}

/// Everything about the ring that does not depend on a key.
#[derive(Debug)]
pub(crate) struct Context {
    degree: usize,
    q: Vec<Ntt>,
    p: Vec<Ntt>,
    t: Ntt,
    /// What products need, for each number of ciphertext primes from one.
    levels: Vec<Level>,
    /// floor(Q / t) modulo each prime of Q: the same at every level, as Q is zero and t Delta = Q -
    /// 1.
    delta: Vec<Factor>,
    montgomery: Vec<Factor>,
    /// Inverse of prime i modulo prime j < i.
    inverses: Vec<Vec<Factor>>,
}

impl Context {
    /// The ring of `degree` coefficients with `limbs` ciphertext primes of `bits` bits.
    pub(crate) fn new(degree: usize, bits: u32, limbs: usize) -> Self {
        let q = primes::largest(bits, STEP, limbs, &[]);
        // One more prime than Q: the rounded product is at most n t Q / 2, far below P / 2.
        let p = primes::largest(super::modulus::MAX_BITS, 65_536, limbs + 1, &q);
        let moduli = |primes: &[u64]| primes.iter().map(|&p| Modulus::new(p)).collect::<Vec<_>>();
        let (mq, mp) = (moduli(&q), moduli(&p));
        let transforms =
            |moduli: &[Modulus]| moduli.iter().map(|&m| Ntt::new(m, degree)).collect::<Vec<_>>();
        Self {
            degree,
            t: Ntt::new(Modulus::new(PLAINTEXT), degree),
            levels: (1..=limbs)
                .map(|limbs| {
                    let (q, p) = (&mq[..limbs], &mp[..=limbs]);
                    Level {
                        extend: Conversion::exact(q, p),
                        divide: Conversion::divide(q, p, PLAINTEXT),
                        restrict: Conversion::exact(p, q),
                    }
                })
                .collect(),
            delta: mq.iter().map(|q| q.factor(q.value() - q.inv(PLAINTEXT))).collect(),
            montgomery: mq.iter().map(|q| q.factor(q.montgomery(1))).collect(),
            inverses: (0..limbs)
                .map(|i| mq[..i].iter().map(|m| m.factor(m.inv(q[i] % m.value()))).collect())
                .collect(),
            q: transforms(&mq),
            p: transforms(&mp),
        }
    }

    pub(crate) fn degree(&self) -> usize {
        self.degree
    }

    /// Number of ciphertext primes.
    pub(crate) fn limbs(&self) -> usize {
        self.q.len()
    }

    /// Transforms modulo the ciphertext primes.
    pub(crate) fn q(&self) -> &[Ntt] {
        &self.q
    }

    /// Transforms modulo the auxiliary primes of a product at a level.
    pub(crate) fn p(&self, limbs: usize) -> &[Ntt] {
        &self.p[..=limbs]
    }

    /// Conversions for products at a level.
    pub(crate) fn level(&self, limbs: usize) -> &Level {
        &self.levels[limbs - 1]
    }

    /// The transform modulo the plaintext modulus: slots are its values.
    pub(crate) fn t(&self) -> &Ntt {
        &self.t
    }

    pub(crate) fn forward(&self, mut poly: Poly<Coefficients>) -> Poly<Values> {
        for (limb, ntt) in poly.iter_mut().zip(&self.q) {
            ntt.forward(limb);
        }
        poly.reinterpret()
    }

    pub(crate) fn backward(&self, mut poly: Poly<Values>) -> Poly<Coefficients> {
        for (limb, ntt) in poly.iter_mut().zip(&self.q) {
            ntt.backward(limb, Unit::Plain);
        }
        poly.reinterpret()
    }

    /// A small signed polynomial at level `limbs`.
    pub(crate) fn small(&self, coefficients: &[i64], limbs: usize) -> Poly<Values> {
        self.forward(self.small_coefficients(coefficients, limbs))
    }

    /// The same by coefficients.
    pub(crate) fn small_coefficients(
        &self,
        coefficients: &[i64],
        limbs: usize,
    ) -> Poly<Coefficients> {
        let mut poly = Poly::unset(self.degree, limbs);
        for (limb, ntt) in poly.iter_mut().zip(&self.q) {
            for (x, &c) in limb.iter_mut().zip(coefficients) {
                *x = ntt.modulus().signed(c);
            }
        }
        poly
    }

    /// Slots to plaintext coefficients, in place.
    pub(crate) fn encode(&self, slots: &mut [u64]) {
        self.t.backward(slots, Unit::Plain);
    }

    /// A plaintext times floor(Q / t), to add to a ciphertext.
    pub(crate) fn scaled(&self, plaintext: &[u64], limbs: usize) -> Poly<Values> {
        self.lifted(plaintext, limbs, &self.delta)
    }

    /// The same by coefficients.
    pub(crate) fn scaled_coefficients(
        &self,
        plaintext: &[u64],
        limbs: usize,
    ) -> Poly<Coefficients> {
        self.lifted_coefficients(plaintext, limbs, &self.delta)
    }

    /// A centred plaintext in Montgomery's form, to multiply with a ciphertext.
    pub(crate) fn multiplier(&self, plaintext: &[u64], limbs: usize) -> Poly<Values> {
        self.lifted(plaintext, limbs, &self.montgomery)
    }

    /// Centred plaintext residues in Montgomery's form modulo prime `i`.
    pub(crate) fn lift_multiplier(&self, i: usize, plaintext: &[u64], out: &mut [u64]) {
        let (from, to) = (self.t.modulus(), self.q[i].modulus());
        limb::lift(from, plaintext, to, out, Some(self.montgomery[i]));
    }

    /// Adds a constant plaintext, at every slot.
    pub(crate) fn add_constant(&self, poly: &mut Poly<Values>, constant: i64) {
        for ((limb, ntt), delta) in poly.iter_mut().zip(&self.q).zip(&self.delta) {
            let m = ntt.modulus();
            let addend = m.mul(m.signed(constant), delta.value);
            for x in limb {
                *x = m.add(*x, addend);
            }
        }
    }

    fn lifted(&self, plaintext: &[u64], limbs: usize, factors: &[Factor]) -> Poly<Values> {
        self.forward(self.lifted_coefficients(plaintext, limbs, factors))
    }

    fn lifted_coefficients(
        &self,
        plaintext: &[u64],
        limbs: usize,
        factors: &[Factor],
    ) -> Poly<Coefficients> {
        let mut poly = Poly::unset(self.degree, limbs);
        for ((limb, ntt), &factor) in poly.iter_mut().zip(&self.q).zip(factors) {
            limb::lift(self.t.modulus(), plaintext, ntt.modulus(), limb, Some(factor));
        }
        poly
    }

    /// To Montgomery's form, in place.
    pub(crate) fn to_montgomery<R>(&self, poly: &mut Poly<R>) {
        for ((limb, ntt), &factor) in poly.iter_mut().zip(&self.q).zip(&self.montgomery) {
            limb::scale(ntt.modulus(), limb, factor);
        }
    }

    /// `a += b`, at the level of `a`.
    pub(crate) fn add<R>(&self, a: &mut Poly<R>, b: &Poly<R>) {
        for ((x, y), ntt) in a.iter_mut().zip(b.iter()).zip(&self.q) {
            limb::add(ntt.modulus(), x, y);
        }
    }

    /// `a = b - a`, at the level of `a`.
    pub(crate) fn subtract_from<R>(&self, a: &mut Poly<R>, b: &Poly<R>) {
        for ((x, y), ntt) in a.iter_mut().zip(b.iter()).zip(&self.q) {
            limb::subtract_from(ntt.modulus(), x, y);
        }
    }

    /// `a *= factor`.
    pub(crate) fn scale<R>(&self, a: &mut Poly<R>, factor: i64) {
        for (limb, ntt) in a.iter_mut().zip(&self.q) {
            let m = ntt.modulus();
            limb::scale(m, limb, m.factor(m.signed(factor)));
        }
    }

    /// `a * b` with `b` in Montgomery's form, at the level of `a`.
    pub(crate) fn product(&self, a: &Poly<Values>, b: &Poly<Values>) -> Poly<Values> {
        let mut out = Poly::unset(self.degree, a.limbs());
        for (((o, x), y), ntt) in out.iter_mut().zip(a.iter()).zip(b.iter()).zip(&self.q) {
            limb::product(ntt.modulus(), o, x, y);
        }
        out
    }

    /// Divides by the last prime of the level and rounds: one limb less.
    pub(crate) fn drop_limb(&self, poly: &mut Poly<Values>) {
        let last = poly.limbs() - 1;
        let q = self.q[last].modulus();
        let mut rest = Buffer::copy_of(poly.limb(last));
        self.q[last].backward(&mut rest, Unit::Plain);
        poly.truncate(last);
        let mut lifted = Buffer::stale(self.degree);
        for ((limb, ntt), &inverse) in poly.iter_mut().zip(&self.q).zip(&self.inverses[last]) {
            let m = ntt.modulus();
            limb::lift(q, &rest, m, &mut lifted, None);
            ntt.forward(&mut lifted);
            // limb = (limb - lifted) / q
            limb::subtract_and_scale(m, limb, &lifted, inverse);
        }
    }

    /// The same by coefficients, down to `limbs` limbs: without a transform.
    pub(crate) fn drop_coefficients(&self, poly: &mut Poly<Coefficients>, limbs: usize) {
        let mut lifted = Buffer::stale(self.degree);
        for last in (limbs..poly.limbs()).rev() {
            let q = self.q[last].modulus();
            let rest = Buffer::copy_of(poly.limb(last));
            poly.truncate(last);
            for ((limb, ntt), &inverse) in poly.iter_mut().zip(&self.q).zip(&self.inverses[last]) {
                limb::lift(q, &rest, ntt.modulus(), &mut lifted, None);
                limb::subtract_and_scale(ntt.modulus(), limb, &lifted, inverse);
            }
        }
    }
}
