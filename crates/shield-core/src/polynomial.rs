//! The polynomial that parameterises the operator (the paper's multi-degree SHIELD).
//!
//! `8X^4+6X^3+4X^2+X` reads: 8 rounds of degree 4, then 6 of degree 3, 4 of degree 2 and 1 of
//! degree 1. Whatever order it is written in, rounds always run in decreasing degree.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// One term `rounds * X^degree`: that many rounds, each of which draws `degree` votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// How many votes a round of this term draws.
    pub degree: u32,
    /// How many rounds this term has: its coefficient.
    pub rounds: u32,
}

/// A checked polynomial: at least one term, degrees distinct and decreasing, all coefficients
/// positive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Polynomial {
    terms: Vec<Term>,
}

impl Polynomial {
    /// The largest degree accepted. Far above what any engine can evaluate, low enough to be sane.
    pub const MAX_DEGREE: u32 = 128;
    /// The largest coefficient accepted.
    pub const MAX_ROUNDS: u32 = 100_000;

    /// A polynomial from terms in any order.
    pub fn new(terms: impl IntoIterator<Item = Term>) -> Result<Self, PolynomialProblem> {
        let mut terms: Vec<Term> = terms.into_iter().collect();
        terms.sort_by_key(|term| std::cmp::Reverse(term.degree));
        for term in &terms {
            check_degree(u64::from(term.degree))?;
            check_rounds(u64::from(term.rounds))?;
        }
        if let Some(pair) = terms.windows(2).find(|pair| pair[0].degree == pair[1].degree) {
            return Err(PolynomialProblem::Repeated {
                degree: pair[0].degree,
                total: u64::from(pair[0].rounds) + u64::from(pair[1].rounds),
            });
        }
        if terms.is_empty() {
            return Err(PolynomialProblem::Empty);
        }
        Ok(Self { terms })
    }

    /// Its terms, in decreasing degree: the order in which the rounds run.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The degree of each round, in the order in which the rounds run.
    pub fn rounds(&self) -> impl Iterator<Item = u32> + '_ {
        self.terms.iter().flat_map(|term| std::iter::repeat_n(term.degree, term.rounds as usize))
    }

    /// The largest degree.
    pub fn degree(&self) -> u32 {
        self.terms[0].degree
    }

    /// How many rounds it has: the sum of its coefficients.
    pub fn round_count(&self) -> usize {
        self.terms.iter().map(|term| term.rounds as usize).sum()
    }

    /// How many votes it draws for one sample.
    pub fn draw_count(&self) -> usize {
        self.terms.iter().map(|term| term.rounds as usize * term.degree as usize).sum()
    }

    /// Whether every round may fail, so that there may be no label: there is no term of degree 1.
    pub fn can_fail(&self) -> bool {
        self.terms.iter().all(|term| term.degree > 1)
    }
}

impl Default for Polynomial {
    /// The largest polynomial of the paper's Table 1.
    fn default() -> Self {
        let term = |rounds, degree| Term { degree, rounds };
        Self { terms: vec![term(8, 4), term(6, 3), term(4, 2), term(1, 1)] }
    }
}

impl fmt::Display for Polynomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, term) in self.terms.iter().enumerate() {
            if i > 0 {
                f.write_str("+")?;
            }
            if term.rounds > 1 {
                write!(f, "{}", term.rounds)?;
            }
            f.write_str("X")?;
            if term.degree > 1 {
                write!(f, "^{}", term.degree)?;
            }
        }
        Ok(())
    }
}

impl Serialize for Polynomial {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What is wrong with a polynomial.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PolynomialProblem {
    /// There is nothing to read.
    #[error("there is no term; write for example 2X^3+3X^2+X")]
    Empty,
    /// Something else was expected here.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What could have stood here.
        expected: &'static str,
        /// What stands here.
        found: String,
    },
    /// A constant or a negative coefficient.
    #[error("a round cannot be taken away; all coefficients are positive")]
    Negative,
    /// A coefficient of zero.
    #[error("a coefficient of 0 is no round at all; leave the term out")]
    ZeroRounds,
    /// A term without X, or of degree 0.
    #[error("a round of degree 0 draws no vote; the lowest degree is 1")]
    ZeroDegree,
    /// A coefficient above [`Polynomial::MAX_ROUNDS`].
    #[error("the coefficient is too large; at most {} rounds a degree", Polynomial::MAX_ROUNDS)]
    TooManyRounds,
    /// A degree above [`Polynomial::MAX_DEGREE`].
    #[error("the degree is too large; at most {}", Polynomial::MAX_DEGREE)]
    DegreeTooLarge,
    /// Two terms of one degree.
    #[error("degree {degree} stands twice; write {total}X^{degree} once")]
    Repeated {
        /// The degree that stands twice.
        degree: u32,
        /// The sum of the two coefficients.
        total: u64,
    },
}

/// A text that is not a polynomial: what is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "not a polynomial: {problem}\n  {shown}\n  {caret:>width$}",
    caret = '^',
    width = column + 1
)]
pub struct PolynomialError {
    /// What is wrong.
    pub problem: PolynomialProblem,
    /// The place, in characters from 0 of [`shown`](Self::shown).
    pub column: usize,
    /// The text, or the part of a very long text around the place.
    pub shown: String,
}

fn check_degree(degree: u64) -> Result<u32, PolynomialProblem> {
    match u32::try_from(degree) {
        Ok(0) => Err(PolynomialProblem::ZeroDegree),
        Ok(degree) if degree <= Polynomial::MAX_DEGREE => Ok(degree),
        _ => Err(PolynomialProblem::DegreeTooLarge),
    }
}

fn check_rounds(rounds: u64) -> Result<u32, PolynomialProblem> {
    match u32::try_from(rounds) {
        Ok(0) => Err(PolynomialProblem::ZeroRounds),
        Ok(rounds) if rounds <= Polynomial::MAX_ROUNDS => Ok(rounds),
        _ => Err(PolynomialProblem::TooManyRounds),
    }
}

/// A cursor over the characters; an error carries the place where it stood.
struct Parser {
    characters: Vec<char>,
    at: usize,
}

type Parsed<T> = Result<T, (usize, PolynomialProblem)>;

impl Parser {
    fn peek(&mut self) -> Option<char> {
        while self.characters.get(self.at).is_some_and(|c| c.is_whitespace()) {
            self.at += 1;
        }
        self.characters.get(self.at).copied()
    }

    fn take(&mut self, accept: impl Fn(char) -> bool) -> bool {
        let found = self.peek().is_some_and(accept);
        self.at += usize::from(found);
        found
    }

    /// A run of digits, saturating: what saturates is refused as too large by its own check.
    fn number(&mut self) -> Option<(usize, u64)> {
        self.peek().filter(char::is_ascii_digit)?;
        let start = self.at;
        let mut value = 0u64;
        while let Some(digit) = self.characters.get(self.at).and_then(|c| c.to_digit(10)) {
            value = value.saturating_mul(10).saturating_add(u64::from(digit));
            self.at += 1;
        }
        Some((start, value))
    }

    fn unexpected<T>(&mut self, expected: &'static str) -> Parsed<T> {
        let found = match self.peek() {
            Some('-' | '\u{2212}') => return Err((self.at, PolynomialProblem::Negative)),
            Some(character) => format!("`{}`", character.escape_default()),
            None => "the end".to_owned(),
        };
        Err((self.at, PolynomialProblem::Unexpected { expected, found }))
    }

    fn term(&mut self) -> Parsed<(usize, Term)> {
        self.peek();
        let start = self.at;
        let coefficient = self.number();
        let rounds = match coefficient {
            Some((at, value)) => check_rounds(value).map_err(|problem| (at, problem))?,
            None => 1,
        };
        if coefficient.is_some() {
            self.take(|c| c == '*');
        }
        if !self.take(|c| c.eq_ignore_ascii_case(&'x')) {
            return match (coefficient, self.peek()) {
                (Some((at, _)), None | Some('+')) => Err((at, PolynomialProblem::ZeroDegree)),
                _ => self.unexpected("a term such as 3X^2"),
            };
        }
        let mut degree = 1;
        if self.take(|c| c == '^') {
            let Some((at, value)) = self.number() else {
                return self.unexpected("a degree such as 2");
            };
            degree = check_degree(value).map_err(|problem| (at, problem))?;
        }
        Ok((start, Term { degree, rounds }))
    }

    fn polynomial(&mut self) -> Parsed<Polynomial> {
        if self.peek().is_none() {
            return Err((0, PolynomialProblem::Empty));
        }
        let mut terms: Vec<Term> = Vec::new();
        loop {
            let (start, term) = self.term()?;
            if let Some(twin) = terms.iter().find(|other| other.degree == term.degree) {
                let total = u64::from(twin.rounds) + u64::from(term.rounds);
                return Err((start, PolynomialProblem::Repeated { degree: term.degree, total }));
            }
            terms.push(term);
            if self.peek().is_none() {
                break;
            }
            if !self.take(|c| c == '+') {
                return self.unexpected("`+` or the end");
            }
        }
        Polynomial::new(terms).map_err(|problem| (0, problem))
    }
}

impl<'de> Deserialize<'de> for Polynomial {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl FromStr for Polynomial {
    type Err = PolynomialError;

    fn from_str(text: &str) -> Result<Self, PolynomialError> {
        let mut parser = Parser { characters: text.chars().collect(), at: 0 };
        parser.polynomial().map_err(|(at, problem)| {
            // A pasted novel must not fill the terminal: show what stands around the place.
            const AROUND: usize = 60;
            let from = at.saturating_sub(AROUND);
            let shown = parser.characters[from..parser.characters.len().min(at + AROUND)]
                .iter()
                .map(|&c| if c.is_control() { ' ' } else { c })
                .collect();
            PolynomialError { problem, column: at - from, shown }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn problem(text: &str) -> (usize, PolynomialProblem) {
        let error = text.parse::<Polynomial>().expect_err(text);
        (error.column, error.problem)
    }

    #[test]
    fn reads_any_usual_spelling_and_prints_one() {
        for (text, canonical) in [
            ("8X^4+6X^3+4X^2+X", "8X^4+6X^3+4X^2+X"),
            ("X", "X"),
            ("3x^2 + x", "3X^2+X"),
            ("x + 3*X^ 2", "3X^2+X"),
            (" 1X^1 ", "X"),
            ("5X", "5X"),
        ] {
            assert_eq!(text.parse::<Polynomial>().unwrap().to_string(), canonical);
        }
        assert_eq!(Polynomial::default().to_string(), "8X^4+6X^3+4X^2+X");
    }

    #[test]
    fn points_at_what_is_wrong() {
        use PolynomialProblem as P;
        assert_eq!(problem(""), (0, P::Empty));
        assert_eq!(problem("0"), (0, P::ZeroRounds));
        assert_eq!(problem("7"), (0, P::ZeroDegree));
        assert_eq!(problem("X^2+0X"), (4, P::ZeroRounds));
        assert_eq!(problem("X^2+3X^0"), (7, P::ZeroDegree));
        assert_eq!(problem("X^2-X"), (3, P::Negative));
        assert_eq!(problem("-3X"), (0, P::Negative));
        assert_eq!(problem("2X^2+X+3X^2"), (7, P::Repeated { degree: 2, total: 5 }));
        assert_eq!(problem("99999999999999999999999X"), (0, P::TooManyRounds));
        assert_eq!(problem("X^4294967297"), (2, P::DegreeTooLarge));
        assert!(matches!(problem("X^2+"), (4, P::Unexpected { .. })));
        assert!(matches!(problem("2Y"), (1, P::Unexpected { .. })));
        assert!(matches!(problem("X X"), (2, P::Unexpected { .. })));
        assert!(matches!(problem("X^"), (2, P::Unexpected { .. })));
    }

    #[test]
    fn the_caret_stands_below_the_place() {
        let shown = "2X^2+Y".parse::<Polynomial>().unwrap_err().to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1].find('Y'), lines[2].find('^'));
    }

    #[test]
    fn counts_rounds_and_draws() {
        let polynomial = Polynomial::default();
        assert_eq!((polynomial.round_count(), polynomial.draw_count()), (19, 59));
        assert_eq!(polynomial.rounds().take(9).collect::<Vec<_>>(), [4, 4, 4, 4, 4, 4, 4, 4, 3]);
        assert!(!polynomial.can_fail());
        assert!("3X^2".parse::<Polynomial>().unwrap().can_fail());
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,40}") {
            let _ = text.parse::<Polynomial>();
        }

        #[test]
        fn what_is_printed_reads_back(
            degrees in prop::collection::btree_map(1u32..=128, 1u32..=100_000, 1..6),
        ) {
            let terms = degrees.into_iter().map(|(degree, rounds)| Term { degree, rounds });
            let polynomial = Polynomial::new(terms).unwrap();
            prop_assert_eq!(&polynomial.to_string().parse::<Polynomial>().unwrap(), &polynomial);
        }
    }
}
