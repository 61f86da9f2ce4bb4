//! Draws to label: the two circuits.
//!
//! A digit d of a class, 0 <= d < beta, is encrypted as d/4beta of a turn, so that twice a
//! difference stands on the steps of 1/2beta, and a difference itself within a quarter turn. A
//! table answers for half the torus only: what it says half a turn further is minus that. Both
//! circuits use this twice.
//!
//! **Equality.** x = 2(d - d') is a multiple of 1/2beta with |x| <= 1/2 - 1/2beta, so a window
//! around 0 tells x = 0 from all other x, with half a step, 1/4beta, as its margin on either side.
//!
//! **Choice.** A table f read at x + (1-t)/2, where t is 0 or 1, says f(x) if t = 1 and -f(x) if t
//! = 0; so with `u = (2t - 1) f(x)`, `u + f(x) = 2t f(x)`. Where f(x) is a linear function of the
//! inputs it need not be looked up, and a product of a flag and a digit costs one lookup without
//! room for the flag. (A table of two variables would need twice as many steps, so half the
//! margin.)
//!
//! With t_j = 1 exactly for the first round that succeeds, d_j the first draw of round j, and e the
//! label if none does, the label is `e + sum over j of t_j (d_j - e)`. Summed as above it comes out
//! doubled: the code k of a digit at k/2beta, with beta for "no label".
//!
//! # Plain
//!
//! Round j compares its p - 1 consecutive pairs, each answer a flag of 1/16. The sum of these flags
//! and of 1 - F, where F is the sum of the earlier t, is the number of its terms exactly if j is
//! the first success: a window says so, up to 7 flags at a time. The last round, of one draw, has t
//! = 1 - F. e is the code beta, for which f(x) = d - beta. p lookups per round and digit. Margins:
//! 1/4beta for equality and choice, 1/32 for the window.
//!
//! # Folded
//!
//! No lookup joins flags: each comparison is read half a step aside unless the one before it (or,
//! for the first of a round, every earlier round's failure) was positive. Between the steps the
//! window says 0 whatever x is, also half a turn away, where a window of -1 stands on a step. So
//! one lookup gives `[x = 0]` and everything before it. The margin is a quarter step, 1/8beta. A
//! flag counts for S = 1/2q with q the largest power of two in 2beta: an odd number of half steps,
//! and q of them make half a turn. e is the class of the round of one draw if there is one, so that
//! this round needs no lookup: f(x) = x, the difference of two digits, |x| <= 1/4, steps of 1/4beta
//! and the same margin. p lookups per round of p >= 2 draws, none for the last.

use shield::{Class, Drawn, Draws};

use super::lookup::Lookup;
use super::parameters::torus;
use super::plan::{Circuit, FLAG, JOINED, Plan, half_turn};
use super::torus::{Lwe, Table};

/// What a teacher drawn for a sample voted: one encryption a digit.
pub(crate) type Digits = Vec<Lwe>;

/// The tables of a plan.
pub(crate) struct Tables {
    base: usize,
    digits: usize,
    circuit: Circuit,
    equal: Table,
    join: Table,
    choose: Table,
}

impl Tables {
    pub(crate) fn new(plan: &Plan) -> Self {
        let base = plan.base();
        let beta = base as f64;
        let largest = beta - 1.0;
        let (equal, choose) = match plan.circuit() {
            Circuit::Plain => {
                let digit = move |x: f64| (x * 2.0 * beta + largest / 2.0).round();
                let choose = Table::new(|x| (digit(x).clamp(0.0, largest) - beta) / (4.0 * beta));
                (Table::window(1.0 / (4.0 * beta), FLAG), choose)
            }
            Circuit::Folded => {
                let flag = 0.5 / half_turn(base) as f64;
                let choose = Table::new(|x| (x * 4.0 * beta).round() / (4.0 * beta));
                (Table::window(1.0 / (8.0 * beta), flag), choose)
            }
        };
        let join = Table::window(FLAG / 2.0, FLAG);
        Self { base, digits: plan.digits(), circuit: plan.circuit(), equal, join, choose }
    }

    /// A digit, or the code of "no label", that everybody knows.
    fn known(&self, digit: usize) -> Lwe {
        Lwe::known(torus(digit as f64 / (4 * self.base) as f64))
    }

    /// The digits of a class that everybody knows.
    fn digits_of(&self, class: Class) -> Digits {
        digits(class, self.base, self.digits).map(|digit| self.known(digit)).collect()
    }

    /// The code of the label, digit by digit, from everything that was drawn.
    ///
    /// `vote_of` gives the digits of a teacher who is in the urn.
    pub(crate) fn label(
        &self,
        lookup: &mut Lookup,
        draws: &Draws,
        vote_of: impl Fn(u32) -> Digits,
    ) -> Vec<Lwe> {
        let votes = |drawn: &[Drawn]| -> Vec<Digits> {
            let vote = |entry: &Drawn| match *entry {
                Drawn::Teacher(teacher) => vote_of(teacher),
                Drawn::Dummy(class) => self.digits_of(class),
            };
            drawn.iter().map(vote).collect()
        };
        let rounds = draws.rounds().map(|(_, drawn)| drawn).filter(|drawn| !drawn.is_empty());
        let mut rounds: Vec<Vec<Digits>> = {
            let mut decided = false;
            // A round of one draw succeeds: what comes after it cannot matter.
            rounds
                .take_while(|drawn| !std::mem::replace(&mut decided, drawn.len() == 1))
                .map(votes)
                .collect()
        };
        let single = rounds.pop_if(|round| round.len() == 1).map(|mut round| round.remove(0));
        match self.circuit {
            Circuit::Plain => self.plain(lookup, &rounds, single),
            Circuit::Folded => self.folded(lookup, &rounds, single),
        }
    }

    fn plain(&self, lookup: &mut Lookup, rounds: &[Vec<Digits>], single: Option<Digits>) -> Digits {
        // 1 - F: whether no round has succeeded yet.
        let mut waiting = Lwe::known(torus(FLAG));
        let mut label = vec![self.known(2 * self.base); self.digits];
        for round in rounds {
            let mut flags = vec![waiting.clone()];
            for pair in round.windows(2) {
                for (digit, next) in pair[0].iter().zip(&pair[1]) {
                    flags.push(lookup.look_up(&self.equal, &digit.minus(next).times(2)));
                }
            }
            let success = self.join(lookup, flags);
            waiting.add_multiple(-1, &success);
            self.add_choice(lookup, &mut label, &success, &round[0]);
        }
        if let Some(single) = single {
            self.add_choice(lookup, &mut label, &waiting, &single);
        }
        label
    }

    /// Whether all flags are 1.
    fn join(&self, lookup: &mut Lookup, mut flags: Vec<Lwe>) -> Lwe {
        while flags.len() > 1 {
            let all = |some: &[Lwe]| {
                if let [one] = some {
                    return one.clone();
                }
                let mut missing = Lwe::known(torus(-(some.len() as f64) * FLAG));
                for flag in some {
                    missing.add_multiple(1, flag);
                }
                lookup.look_up(&self.join, &missing)
            };
            flags = flags.chunks(JOINED).map(all).collect();
        }
        flags.pop().expect("at least one flag")
    }

    /// Adds 2 t (d - beta) to the label, for a flag t of the plain circuit.
    fn add_choice(&self, lookup: &mut Lookup, label: &mut [Lwe], flag: &Lwe, vote: &[Lwe]) {
        let beta = self.base as f64;
        for (label, digit) in label.iter_mut().zip(vote) {
            let mut input = digit.times(2);
            input.shift(torus(0.5 - (beta - 1.0) / (4.0 * beta)));
            // Eight flags make half a turn.
            input.add_multiple(-8, flag);
            label.add_multiple(1, &lookup.look_up(&self.choose, &input));
            label.add_multiple(1, &digit.minus(&self.known(self.base)));
        }
    }

    fn folded(
        &self,
        lookup: &mut Lookup,
        rounds: &[Vec<Digits>],
        single: Option<Digits>,
    ) -> Digits {
        let halves = half_turn(self.base);
        let flag = torus(0.5 / halves as f64);
        let otherwise = single.unwrap_or_else(|| vec![self.known(self.base); self.digits]);
        let mut label: Digits = otherwise.iter().map(|digit| digit.times(2)).collect();
        // F: a flag that is up once a round has succeeded.
        let mut found = Lwe::known(0);
        for round in rounds {
            let mut aside = found.clone();
            for pair in round.windows(2) {
                for (digit, next) in pair[0].iter().zip(&pair[1]) {
                    let mut input = digit.minus(next).times(2);
                    input.add_multiple(1, &aside);
                    aside = Lwe::known(flag);
                    aside.add_multiple(-1, &lookup.look_up(&self.equal, &input));
                }
            }
            // `aside` is S (1 - t): q of it make half a turn exactly if the round is not the first
            // success.
            found.shift(flag);
            found.add_multiple(-1, &aside);
            for ((label, digit), otherwise) in label.iter_mut().zip(&round[0]).zip(&otherwise) {
                let difference = digit.minus(otherwise);
                let mut input = difference.clone();
                input.add_multiple(halves, &aside);
                label.add_multiple(1, &lookup.look_up(&self.choose, &input));
                label.add_multiple(1, &difference);
            }
        }
        label
    }
}

/// The digits of a class, lowest first.
pub(crate) fn digits(class: Class, base: usize, count: usize) -> impl Iterator<Item = usize> {
    let mut rest = class.index();
    (0..count).map(move |_| {
        let digit = rest % base;
        rest /= base;
        digit
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrapped::Plan;
    use shield::backend::suite::{Case, Shape};
    use shield::{Sampling, Seed};

    fn tables(circuit: Circuit, classes: usize) -> Tables {
        let sampling = Sampling::WithReplacement;
        let shape = Shape {
            teachers: 5,
            classes,
            samples: 1,
            polynomial: "X^2+X",
            offset: 1,
            sampling,
            abstentions: 0,
        };
        let case = Case::new(shape, 1);
        assert_eq!(case.expected(&Seed::from_number(1)).len(), 1);
        Tables::new(&Plan::new(&case.election, circuit).expect("a plan"))
    }

    /// Calls `check` with noise up to just inside of a margin.
    fn within(margin: f64, check: impl Fn(f64)) {
        let inside = margin - 1.0 / 4096.0;
        for noise in [-inside, 0.0, inside] {
            check(noise);
        }
    }

    fn equal(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }

    #[test]
    fn every_pair_of_digits_and_flags_without_noise_and_with_the_most() {
        for classes in 2..=16 {
            let tables = tables(Circuit::Plain, classes);
            assert_eq!(tables.base, classes, "one digit");
            let beta = classes as f64;
            for d in 0..classes {
                for e in 0..classes {
                    let x = 2.0 * (d as f64 - e as f64) / (4.0 * beta);
                    let flag = if d == e { FLAG } else { 0.0 };
                    within(1.0 / (4.0 * beta), |noise| equal(tables.equal.read(x + noise), flag));
                }
                for chosen in [false, true] {
                    let place = 2.0 * d as f64 / (4.0 * beta) - (beta - 1.0) / (4.0 * beta);
                    let half = if chosen { 0.0 } else { 0.5 };
                    let says = (d as f64 - beta) / (4.0 * beta) * if chosen { 1.0 } else { -1.0 };
                    within(1.0 / (4.0 * beta), |noise| {
                        equal(tables.choose.read(place + half + noise), says);
                    });
                }
            }
        }
        let tables = tables(Circuit::Plain, 10);
        for count in 1..=JOINED {
            for up in 0..=count {
                let x = (up as f64 - count as f64) * FLAG;
                let all = if up == count { FLAG } else { 0.0 };
                within(FLAG / 2.0, |noise| equal(tables.join.read(x + noise), all));
            }
        }
    }

    #[test]
    fn every_pair_of_digits_folded() {
        for classes in 2..=10 {
            let tables = tables(Circuit::Folded, classes);
            assert_eq!(tables.base, classes, "one digit");
            let beta = classes as f64;
            let halves = half_turn(classes) as f64;
            let flag = 0.5 / halves;
            let margin = 1.0 / (8.0 * beta);
            for d in 0..classes {
                for e in 0..classes {
                    let x = 2.0 * (d as f64 - e as f64) / (4.0 * beta);
                    for waiting in [true, false] {
                        let aside = if waiting { 0.0 } else { flag };
                        let says = if waiting && d == e { flag } else { 0.0 };
                        within(margin, |noise| {
                            equal(tables.equal.read(x + aside + noise), says);
                        });
                    }
                }
                // The label otherwise may be a digit or, one further, the code of "no label".
                for otherwise in 0..=classes {
                    let x = (d as f64 - otherwise as f64) / (4.0 * beta);
                    within(margin, |noise| {
                        equal(tables.choose.read(x + noise), x);
                        equal(tables.choose.read(x + halves * flag + noise), -x);
                    });
                }
            }
        }
    }
}
