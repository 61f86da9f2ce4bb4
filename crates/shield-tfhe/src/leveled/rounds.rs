//! The rounds of one sample, on encrypted votes.
//!
//! Going backwards, `out` is the label of the rounds from j on. With `S_j` the unanimity of round j
//! (0 or 1) and `c_j` the class of one of its draws, `out_j = out_(j+1) + S_j (c_j - out_(j+1))`: a
//! chain of products by encrypted bits, in which noise only adds up. (The paper's text runs the
//! rounds forwards, with a flag; a flag would be one more product per round on a ciphertext that
//! has to stay clean.)
//!
//! # Unanimity
//!
//! A round is unanimous when it is in each bit of the class. For one bit and the distinct teachers
//! `b_1, ..., b_p` drawn, y times [all equal] is `a + c`, where a is y if all are 1 and c is y if
//! all are 0:
//!
//! ```text
//! a = b_1 y            c = y - a
//! a = b_i a            c = c - b_i c         for the teachers between
//! y = c + b_p (a - c)
//! ```
//!
//! 2 (p - 1) products. That is as many as `y - (b - b')^2 y` for each pair takes, but each product
//! is by one ballot and not by a difference of two, and at the end only one of a and c carries its
//! noise on: p units of noise a bit instead of up to 4 (p - 1).
//!
//! # Dummies
//!
//! Their classes are known, so a teacher who was drawn with a dummy is compared with plaintext
//! bits: one product a bit. Two different dummies fail, a dummy or a teacher alone (whatever the
//! number of draws) succeeds: no product. All that follows from the draws, which the server knows,
//! and never from a vote.

use std::collections::BTreeSet;

use shield_core::Class;
use shield_core::draws::{Drawn, Draws};

use super::ballot::Ready;
use super::ring::{DEGREE, Ggsw, Glwe, Ring, add, subtract, zero};

/// What a round is, once it is known who was drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// It fails, whatever the votes.
    Fails,
    /// It succeeds with this class, whatever the votes.
    Dummy(Class),
    /// It succeeds if these distinct teachers agree with each other, and with a dummy if there is
    /// one.
    Teachers(Vec<u32>, Option<Class>),
}

impl Round {
    /// The round that drew these entries.
    pub(crate) fn new(drawn: &[Drawn]) -> Self {
        let teachers: BTreeSet<u32> = drawn
            .iter()
            .filter_map(|entry| match entry {
                Drawn::Teacher(teacher) => Some(*teacher),
                Drawn::Dummy(_) => None,
            })
            .collect();
        let mut dummies = drawn.iter().filter_map(|entry| match entry {
            Drawn::Teacher(_) => None,
            Drawn::Dummy(class) => Some(*class),
        });
        let dummy = dummies.next();
        match dummy {
            Some(class) if dummies.any(|other| other != class) => Self::Fails,
            Some(class) if teachers.is_empty() => Self::Dummy(class),
            None if teachers.is_empty() => Self::Fails,
            dummy => Self::Teachers(teachers.into_iter().collect(), dummy),
        }
    }

    /// Whether it succeeds whatever the votes.
    fn is_certain(&self) -> bool {
        match self {
            Self::Fails => false,
            Self::Dummy(_) => true,
            Self::Teachers(teachers, dummy) => teachers.len() == 1 && dummy.is_none(),
        }
    }
}

/// The rounds that matter: up to the first that is sure to succeed.
pub(crate) fn rounds(draws: &Draws) -> Vec<Round> {
    let mut rounds = Vec::new();
    for (_, drawn) in draws.rounds() {
        let round = Round::new(drawn);
        let last = round.is_certain();
        rounds.push(round);
        if last {
            break;
        }
    }
    rounds
}

/// The circuit over the bits of a class.
pub(crate) struct Circuit<'a> {
    pub(crate) ring: &'a mut Ring,
    /// Bits of a class.
    pub(crate) bits: usize,
    /// Ciphertext products so far.
    pub(crate) products: usize,
}

/// A class without noise: bit i as 2^63 b_i in coefficient i of the body.
pub(crate) fn trivial(class: Class, bits: usize) -> Glwe {
    let mut out = zero();
    let body = &mut out.as_mut()[DEGREE..];
    for (i, word) in body.iter_mut().take(bits).enumerate() {
        *word = u64::from(class.0 >> i & 1) << 63;
    }
    out
}

/// "No label", without noise: 2^63 in the coefficient after those of the class.
pub(crate) fn no_label(bits: usize) -> Glwe {
    let mut out = zero();
    out.as_mut()[DEGREE + bits] = 1 << 63;
    out
}

impl Circuit<'_> {
    /// The label before this round, from the label after it.
    pub(crate) fn round(&mut self, votes: &[&Ready], dummy: Option<Class>, out: &mut Glwe) {
        let mut y = match dummy {
            Some(class) => trivial(class, self.bits),
            None => votes[0].class.clone(),
        };
        subtract(&mut y, out);
        for bit in 0..self.bits {
            let bits: Vec<&Ggsw> = votes.iter().map(|vote| &vote.bits[bit]).collect();
            y = match dummy {
                Some(class) => self.all_are(&bits, class.0 >> bit & 1 == 1, y),
                None => self.all_equal(&bits, y),
            };
        }
        add(out, &y);
    }

    fn times(&mut self, bit: &Ggsw, y: &Glwe) -> Glwe {
        self.products += 1;
        self.ring.times(bit, y)
    }

    /// y if all bits are `value`, else 0.
    fn all_are(&mut self, bits: &[&Ggsw], value: bool, y: Glwe) -> Glwe {
        bits.iter().fold(y, |mut y, bit| {
            let product = self.times(bit, &y);
            if value {
                product
            } else {
                subtract(&mut y, &product);
                y
            }
        })
    }

    /// y if all bits are equal, else 0.
    fn all_equal(&mut self, bits: &[&Ggsw], y: Glwe) -> Glwe {
        let [first, between @ .., last] = bits else { return y };
        let mut ones = self.times(first, &y);
        let mut zeros = y;
        subtract(&mut zeros, &ones);
        for bit in between {
            ones = self.times(bit, &ones);
            let product = self.times(bit, &zeros);
            subtract(&mut zeros, &product);
        }
        subtract(&mut ones, &zeros);
        self.products += 1;
        self.ring.external_product(&mut zeros, last, &ones);
        zeros
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_alone_decide_what_a_round_costs() {
        let teacher = Drawn::Teacher;
        let dummy = |class| Drawn::Dummy(Class(class));
        let teachers = |list: &[u32], dummy| Round::Teachers(list.to_vec(), dummy);
        assert_eq!(Round::new(&[]), Round::Fails);
        assert_eq!(Round::new(&[dummy(1), teacher(3), dummy(2)]), Round::Fails);
        assert_eq!(Round::new(&[dummy(1), dummy(1)]), Round::Dummy(Class(1)));
        assert_eq!(Round::new(&[teacher(4), teacher(4)]), teachers(&[4], None));
        assert_eq!(
            Round::new(&[teacher(4), dummy(2), teacher(3), teacher(4)]),
            teachers(&[3, 4], Some(Class(2)))
        );
    }
}
