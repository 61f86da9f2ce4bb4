//! Polynomials modulo X^n + 1 and several primes, as coefficients or as values.

use std::marker::PhantomData;

use super::buffer::Buffer;

/// Representation by coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coefficients {}

/// Representation by values at the roots of X^n + 1, in the transform's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {}

/// Residues of a polynomial, limb after limb, all of them below their prime.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Poly<R> {
    degree: usize,
    data: Buffer,
    representation: PhantomData<R>,
}

impl<R> Poly<R> {
    pub(crate) fn zero(degree: usize, limbs: usize) -> Self {
        Self { degree, data: Buffer::zeroed(degree * limbs), representation: PhantomData }
    }

    /// A polynomial whose residues mean nothing yet: every one of them must be written before it is
    /// read.
    pub(crate) fn unset(degree: usize, limbs: usize) -> Self {
        Self { degree, data: Buffer::stale(degree * limbs), representation: PhantomData }
    }

    pub(crate) fn degree(&self) -> usize {
        self.degree
    }

    pub(crate) fn limbs(&self) -> usize {
        self.data.len() / self.degree
    }

    pub(crate) fn limb(&self, i: usize) -> &[u64] {
        &self.data[i * self.degree..][..self.degree]
    }

    pub(crate) fn limb_mut(&mut self, i: usize) -> &mut [u64] {
        &mut self.data[i * self.degree..][..self.degree]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u64]> {
        self.data.chunks_exact(self.degree)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut [u64]> {
        self.data.chunks_exact_mut(self.degree)
    }

    pub(crate) fn data(&self) -> &[u64] {
        &self.data
    }

    pub(crate) fn data_mut(&mut self) -> &mut [u64] {
        &mut self.data
    }

    /// The same residues read in the other representation: for transforms in place.
    pub(crate) fn reinterpret<S>(self) -> Poly<S> {
        Poly { degree: self.degree, data: self.data, representation: PhantomData }
    }

    /// Without the limbs from `limbs` on.
    pub(crate) fn truncate(&mut self, limbs: usize) {
        self.data.truncate(limbs * self.degree);
    }
}
