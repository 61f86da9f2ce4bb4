//! Products of ciphertexts at any level, after Halevi, Polyakov and Shoup (2019), relinearised.
//!
//! Both factors are extended from Q to Q P, multiplied there, scaled by t / Q into P and brought
//! back to Q. Auxiliary primes: one more than Q has, the fewest with which nothing wraps around.

use super::ciphertext::Ciphertext;
use super::keyswitch::SwitchKey;
use crate::ring::{Coefficients, Context, Modulus, Ntt, Poly, Unit, Values, limb};

/// A ciphertext's parts by values modulo the primes of P.
///
/// Here and below, primes are the outer loop: a transform's table is read once for all parts.
fn extend(context: &Context, c: &Ciphertext) -> [Poly<Values>; 2] {
    let (n, limbs) = (context.degree(), c.limbs());
    let mut coefficients = c.parts.clone();
    for (i, ntt) in context.q()[..limbs].iter().enumerate() {
        for part in &mut coefficients {
            ntt.backward(part.limb_mut(i), Unit::Plain);
        }
    }
    let mut extended = coefficients.map(|coefficients| {
        let mut extended = Poly::<Values>::unset(n, limbs + 1);
        context.level(limbs).extend.apply(coefficients.data(), extended.data_mut(), n);
        extended
    });
    for (i, ntt) in context.p(limbs).iter().enumerate() {
        for part in &mut extended {
            ntt.forward(part.limb_mut(i));
        }
    }
    extended
}

/// The three parts of the tensor product in one limb, each divided by Montgomery's factor.
fn tensor(modulus: Modulus, out: [&mut [u64]; 3], a: [&[u64]; 2], b: [&[u64]; 2]) {
    let [d0, d1, d2] = out;
    limb::product(modulus, d0, a[0], b[0]);
    limb::sum_of_products(modulus, d1, &[(a[0], b[1]), (a[1], b[0])]);
    limb::product(modulus, d2, a[1], b[1]);
}

/// The product of two ciphertexts at the same level; of one with itself where `b` is `None`, which
/// saves an extension.
pub(crate) fn multiply(
    context: &Context,
    key: &SwitchKey,
    a: &Ciphertext,
    b: Option<&Ciphertext>,
) -> Ciphertext {
    let (n, limbs) = (context.degree(), a.limbs());
    debug_assert!(b.is_none_or(|b| b.limbs() == limbs));
    let (q, level) = (&context.q()[..limbs], context.level(limbs));
    let a_p = extend(context, a);
    let b_p = b.map(|b| extend(context, b));
    let square = b.is_none();
    let (b, b_p) = (b.unwrap_or(a), b_p.as_ref().unwrap_or(&a_p));
    let product = |x: &[Poly<Values>; 2], y: &[Poly<Values>; 2], ntts: &[Ntt]| {
        let mut d = [0; 3].map(|_| Poly::<Values>::unset(n, ntts.len()));
        for (i, ntt) in ntts.iter().enumerate() {
            let [d0, d1, d2] = &mut d;
            let out = [d0.limb_mut(i), d1.limb_mut(i), d2.limb_mut(i)];
            let (x, y) = ([x[0].limb(i), x[1].limb(i)], [y[0].limb(i), y[1].limb(i)]);
            if square {
                limb::squares(ntt.modulus(), out, x[0], x[1]);
            } else {
                tensor(ntt.modulus(), out, x, y);
            }
            for part in &mut d {
                ntt.backward(part.limb_mut(i), Unit::Montgomery);
            }
        }
        d
    };
    let mut d_q = product(&a.parts, &b.parts, q);
    let mut d_p = product(&a_p, b_p, context.p(limbs));
    for (d_q, d_p) in d_q.iter_mut().zip(&mut d_p) {
        level.divide.apply(d_q.data(), d_p.data_mut(), n);
        level.restrict.apply(d_p.data(), d_q.data_mut(), n);
    }
    let [mut d0, mut d1, d2] = d_q.map(Poly::reinterpret::<Coefficients>);
    let mut out = key.switch(context, &d2, None);
    for (i, ntt) in q.iter().enumerate() {
        for (part, d) in out.parts.iter_mut().zip([&mut d0, &mut d1]) {
            ntt.forward(d.limb_mut(i));
            limb::add(ntt.modulus(), part.limb_mut(i), d.limb(i));
        }
    }
    out
}
