//! The polynomials that a search looks at.

use shield_core::polynomial::{Polynomial, Term};

/// All polynomials with one round of degree 1, up to a degree and a number of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// The largest degree.
    pub max_degree: u32,
    /// The largest number of rounds, that of degree 1 included.
    pub max_terms: u32,
}

/// The rounds of each degree from 2 up; a round of degree 1 comes on top.
pub(crate) type Coefficients = Vec<u32>;

impl Space {
    /// How many polynomials there are; saturates.
    pub fn size(self) -> u128 {
        // Ways to put up to max_terms - 1 rounds into max_degree - 1 degrees: binomial(t + d, d).
        let (free, degrees) =
            (u128::from(self.max_terms.saturating_sub(1)), u128::from(self.max_degree - 1));
        let mut ways: u128 = 1;
        for i in 1..=degrees {
            ways = match ways.checked_mul(free + i) {
                Some(product) => product / i,
                None => return u128::MAX,
            };
        }
        ways
    }

    /// All of them.
    pub(crate) fn all(self) -> Vec<Coefficients> {
        fn fill(
            left: u32,
            place: usize,
            coefficients: &mut Coefficients,
            all: &mut Vec<Coefficients>,
        ) {
            if place == coefficients.len() {
                all.push(coefficients.clone());
                return;
            }
            for rounds in 0..=left {
                coefficients[place] = rounds;
                fill(left - rounds, place + 1, coefficients, all);
            }
            coefficients[place] = 0;
        }
        let mut all = Vec::new();
        let mut coefficients = vec![0; self.max_degree as usize - 1];
        fill(self.max_terms.saturating_sub(1), 0, &mut coefficients, &mut all);
        all
    }

    /// Those near one of them: one coefficient changed, or some rounds moved between two degrees.
    pub(crate) fn around(self, centre: &Coefficients) -> Vec<Coefficients> {
        let total: u32 = centre.iter().sum();
        let mut near = Vec::new();
        let steps = |rounds: u32| {
            let mut steps = vec![1, 2, 4, 8, rounds.div_ceil(2), rounds];
            steps.retain(|&step| step > 0);
            steps.sort_unstable();
            steps.dedup();
            steps
        };
        for place in 0..centre.len() {
            for step in steps(centre[place].max(1)) {
                if total + step < self.max_terms {
                    let mut more = centre.clone();
                    more[place] += step;
                    near.push(more);
                }
                if step > centre[place] {
                    continue;
                }
                let mut fewer = centre.clone();
                fewer[place] -= step;
                for other in (0..centre.len()).filter(|&other| other != place) {
                    let mut moved = fewer.clone();
                    moved[other] += step;
                    near.push(moved);
                }
                near.push(fewer);
            }
        }
        near
    }

    /// A few to start a search from: every degree alone, and ladders over the degrees, in several
    /// sizes.
    pub(crate) fn starts(self) -> Vec<Coefficients> {
        let degrees = self.max_degree as usize - 1;
        let free = self.max_terms.saturating_sub(1);
        let mut starts = vec![vec![0; degrees]];
        for place in 0..degrees {
            for rounds in [1, free / 8, free / 3, free] {
                let mut alone = vec![0; degrees];
                alone[place] = rounds.min(free);
                starts.push(alone);
                // 2 of the lowest degree, and twice as many of each higher one, as far as they go.
                let mut ladder = vec![0; degrees];
                let mut left = rounds.min(free);
                for (i, step) in ladder.iter_mut().take(place + 1).enumerate() {
                    *step = (2u32 << i.min(20)).min(left);
                    left -= *step;
                }
                starts.push(ladder);
            }
        }
        starts.sort();
        starts.dedup();
        starts
    }
}

/// The polynomial with these rounds and one of degree 1.
pub(crate) fn polynomial(coefficients: &Coefficients) -> Polynomial {
    let higher = (2..).zip(coefficients).filter(|(_, rounds)| **rounds > 0);
    let higher = higher.map(|(degree, &rounds)| Term { degree, rounds });
    Polynomial::new(higher.chain([Term { degree: 1, rounds: 1 }])).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_search_has_about_6000_polynomials() {
        let paper = Space { max_degree: 4, max_terms: 32 };
        assert_eq!(paper.size(), 5984);
        let all = paper.all();
        assert_eq!(all.len(), 5984);
        assert!(all.iter().all(|c| c.iter().sum::<u32>() < 32));
        assert_eq!(polynomial(&vec![4, 6, 8]).to_string(), "8X^4+6X^3+4X^2+X");
        assert_eq!(Space { max_degree: 1, max_terms: 9 }.all(), [Vec::<u32>::new()]);
        assert!(Space { max_degree: 8, max_terms: 64 }.size() > 1_000_000_000);
        assert_eq!(Space { max_degree: 128, max_terms: u32::MAX }.size(), u128::MAX);
    }

    #[test]
    fn neighbours_stay_in_the_space() {
        let space = Space { max_degree: 5, max_terms: 12 };
        for start in space.starts() {
            assert!(start.iter().sum::<u32>() < 12 && start.len() == 4, "{start:?}");
            for near in space.around(&start) {
                assert!(near.iter().sum::<u32>() < 12 && near.len() == 4, "{near:?}");
            }
        }
    }
}
