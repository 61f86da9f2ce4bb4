//! Sums of products at any level, relinearised once.
//!
//! As in [`super::multiply`], after Halevi, Polyakov and Shoup (2019), but the extension of a
//! factor is kept for all products it is in, tensors are added up before the one relinearisation,
//! and a product works at whatever level its factors have: Q and P are then the first primes of
//! both lists, and the same switching key serves. A sum of up to 2^16 products is far below P / 2.

use super::ciphertext::Ciphertext;
use super::keyswitch::SwitchKey;
use crate::ring::{Coefficients, Context, Ntt, Poly, Unit, Values, combine as combination, limb};

/// A ciphertext with its residues modulo the auxiliary primes: a factor of products.
pub(crate) struct Extended {
    q: [Poly<Values>; 2],
    p: [Poly<Values>; 2],
}

impl Extended {
    pub(crate) fn new(context: &Context, c: &Ciphertext) -> Self {
        let (n, limbs) = (context.degree(), c.limbs());
        let mut coefficients = c.parts.clone();
        for (i, ntt) in context.q()[..limbs].iter().enumerate() {
            for part in &mut coefficients {
                ntt.backward(part.limb_mut(i), Unit::Plain);
            }
        }
        let mut p = coefficients.map(|coefficients| {
            let mut extended = Poly::<Values>::unset(n, limbs + 1);
            context.level(limbs).extend.apply(coefficients.data(), extended.data_mut(), n);
            extended
        });
        for (i, ntt) in context.p(limbs).iter().enumerate() {
            for part in &mut p {
                ntt.forward(part.limb_mut(i));
            }
        }
        Self { q: c.parts.clone(), p }
    }
}

/// The tensors of all pairs, added up, by coefficients modulo some primes.
fn tensors<'a>(
    n: usize,
    ntts: &[Ntt],
    pairs: &[(&'a Extended, &'a Extended)],
    part: impl Fn(&'a Extended) -> &'a [Poly<Values>; 2],
) -> [Poly<Values>; 3] {
    let mut d = [0; 3].map(|_| Poly::<Values>::unset(n, ntts.len()));
    for (i, ntt) in ntts.iter().enumerate() {
        let mut terms: [Vec<(&[u64], &[u64])>; 3] = Default::default();
        for (a, b) in pairs {
            let (a, b) = (part(a), part(b));
            terms[0].push((a[0].limb(i), b[0].limb(i)));
            terms[1].push((a[0].limb(i), b[1].limb(i)));
            terms[1].push((a[1].limb(i), b[0].limb(i)));
            terms[2].push((a[1].limb(i), b[1].limb(i)));
        }
        for (part, terms) in d.iter_mut().zip(&terms) {
            limb::sum_of_products(ntt.modulus(), part.limb_mut(i), terms);
            ntt.backward(part.limb_mut(i), Unit::Montgomery);
        }
    }
    d
}

/// The sum of the products of all pairs, which are at one level.
pub(crate) fn sum_of_products(
    context: &Context,
    key: &SwitchKey,
    pairs: &[(&Extended, &Extended)],
) -> Ciphertext {
    let n = context.degree();
    let limbs = pairs.first().map_or(0, |(a, _)| a.q[0].limbs());
    let mut d_q = tensors(n, &context.q()[..limbs], pairs, |x| &x.q);
    let mut d_p = tensors(n, context.p(limbs), pairs, |x| &x.p);
    for (q, p) in d_q.iter_mut().zip(&mut d_p) {
        context.level(limbs).divide.apply(q.data(), p.data_mut(), n);
        context.level(limbs).restrict.apply(p.data(), q.data_mut(), n);
    }
    let [mut d0, mut d1, d2] = d_q.map(Poly::reinterpret::<Coefficients>);
    let mut out = key.switch(context, &d2, None);
    for (i, ntt) in context.q()[..limbs].iter().enumerate() {
        for (part, d) in out.parts.iter_mut().zip([&mut d0, &mut d1]) {
            ntt.forward(d.limb_mut(i));
            limb::add(ntt.modulus(), part.limb_mut(i), d.limb(i));
        }
    }
    out
}

/// Linear combinations of ciphertexts at one level with small signed weights, one vector of weights
/// for each output.
pub(crate) fn combine(
    context: &Context,
    inputs: &[&Ciphertext],
    weights: &[Vec<i64>],
) -> Vec<Ciphertext> {
    let (n, limbs) = (context.degree(), inputs.first().map_or(0, |c| c.limbs()));
    let empty = || Ciphertext { parts: [Poly::unset(n, limbs), Poly::unset(n, limbs)] };
    let mut out: Vec<Ciphertext> = weights.iter().map(|_| empty()).collect();
    for i in 0..limbs {
        let q = context.q()[i].modulus();
        let residues: Vec<Vec<u64>> =
            weights.iter().map(|weights| weights.iter().map(|&w| q.signed(w)).collect()).collect();
        for part in 0..2 {
            let inputs: Vec<&[u64]> = inputs.iter().map(|c| c.parts[part].limb(i)).collect();
            let out = out.iter_mut().map(|c| c.parts[part].limb_mut(i)).collect();
            combination::combine(q, &inputs, &residues, out);
        }
    }
    out
}
