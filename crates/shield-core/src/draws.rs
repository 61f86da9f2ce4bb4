//! Whom the server draws: for each sample, for each round, some entries of the urn.
//!
//! The urn of a sample holds one entry for each teacher who voted on it and w dummies for each
//! class. Draws are uniform over the urn and independent across samples, rounds and draws. Sharing
//! them between samples would keep the law of every single label and silently break composition,
//! so each sample has its own random stream ([`Draws::seeded`]).
//!
//! Nothing here grows with the number of samples: draws are made again from the seed when they
//! are needed, 4 bytes a draw and one sample at a time.

use rand::{CryptoRng, RngCore};

use crate::parameters::{Class, Classes, Offset, Sampling};
use crate::polynomial::Polynomial;
use crate::seed::Seed;
use crate::setting::Setting;

/// The teachers who voted on a sample, by their number in the election.
#[derive(Clone, Debug)]
enum Voters {
    All(u32),
    Some(Vec<u32>),
}

/// The urn of one sample.
#[derive(Clone, Debug)]
pub struct Urn {
    voters: Voters,
    classes: Classes,
    offset: Offset,
}

impl Urn {
    /// The urn of a sample on which teachers `0..teachers` all voted.
    pub fn of_all(teachers: u32, classes: Classes, offset: Offset) -> Self {
        Self { voters: Voters::All(teachers), classes, offset }
    }

    /// The urn of a sample on which just these teachers voted.
    pub fn of(voters: Vec<u32>, classes: Classes, offset: Offset) -> Self {
        Self { voters: Voters::Some(voters), classes, offset }
    }

    fn voter_count(&self) -> u32 {
        match &self.voters {
            Voters::All(teachers) => *teachers,
            Voters::Some(voters) => {
                u32::try_from(voters.len()).expect("teachers are numbered in 32 bits")
            }
        }
    }

    /// How many entries it holds: n + wK.
    pub fn len(&self) -> u32 {
        // An election whose urn would hold more than 32 bits count is refused: see `Election::new`.
        let classes = u32::try_from(self.classes.count()).unwrap_or(u32::MAX);
        self.voter_count().saturating_add(self.offset.dummies().saturating_mul(classes))
    }

    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What stands at a place of the urn: first the voters, then the dummies, class by class.
    fn entry(&self, place: u32) -> Drawn {
        let voters = self.voter_count();
        if place < voters {
            Drawn::Teacher(match &self.voters {
                Voters::All(_) => place,
                Voters::Some(voters) => voters[place as usize],
            })
        } else {
            let class = (place - voters) / self.offset.dummies();
            Drawn::Dummy(Class(u16::try_from(class).expect("below the number of classes")))
        }
    }
}

/// One drawn entry of the urn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Drawn {
    /// The vote of this teacher.
    Teacher(u32),
    /// A dummy vote for this class.
    Dummy(Class),
}

/// The purpose of the random streams that draws come from: see [`Seed::stream`].
const PURPOSE: &str = "shield 2026 draws of one sample";

/// Everything drawn for one sample.
///
/// A round that asks for more distinct entries than the urn holds (or for any from an empty urn)
/// draws nothing, and fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draws {
    drawn: Vec<Drawn>,
    /// The degree of each round and how many entries it drew: the degree, or none.
    rounds: Vec<(u32, u32)>,
}

impl Draws {
    /// Draws for one sample, from the caller's generator.
    pub fn draw<R: RngCore + CryptoRng>(setting: &Setting, urn: &Urn, rng: &mut R) -> Self {
        let mut draws = Self::empty(&setting.polynomial);
        draws.redraw(setting, urn, rng);
        draws
    }

    /// Draws for sample number `sample` of an election, from the election's seed.
    pub fn seeded(setting: &Setting, urn: &Urn, seed: &Seed, sample: u64) -> Self {
        Self::draw(setting, urn, &mut seed.stream(PURPOSE, sample))
    }

    /// No draws yet, with room for those of the polynomial.
    pub fn empty(polynomial: &Polynomial) -> Self {
        Self {
            drawn: Vec::with_capacity(polynomial.draw_count()),
            rounds: Vec::with_capacity(polynomial.round_count()),
        }
    }

    /// Draws anew for another sample, in the same memory.
    pub fn redraw<R: RngCore + CryptoRng>(&mut self, setting: &Setting, urn: &Urn, rng: &mut R) {
        self.drawn.clear();
        self.rounds.clear();
        let size = urn.len();
        for degree in setting.polynomial.rounds() {
            let count = match setting.sampling {
                Sampling::WithReplacement if size > 0 => {
                    let fresh = (0..degree).map(|_| urn.entry(below(size, rng)));
                    self.drawn.extend(fresh);
                    degree
                }
                Sampling::WithoutReplacement if size >= degree => {
                    let fresh = distinct_below(size, degree, rng).into_iter();
                    self.drawn.extend(fresh.map(|place| urn.entry(place)));
                    degree
                }
                _ => 0,
            };
            self.rounds.push((degree, count));
        }
    }

    /// The rounds in the order in which they run: degree, and the entries drawn (none: the round
    /// fails).
    pub fn rounds(&self) -> impl Iterator<Item = (u32, &[Drawn])> + '_ {
        self.rounds.iter().scan(self.drawn.as_slice(), |rest, &(degree, count)| {
            let (round, later) = rest.split_at(count as usize);
            *rest = later;
            Some((degree, round))
        })
    }
}

/// A uniform number below `bound`, without bias: Lemire, "Fast random integer generation in an
/// interval" (2019), algorithm 5. The generator's own range method trades a small bias for speed.
fn below<R: RngCore>(bound: u32, rng: &mut R) -> u32 {
    debug_assert!(bound > 0);
    let mut product = u64::from(rng.next_u32()) * u64::from(bound);
    #[expect(clippy::cast_possible_truncation, reason = "the low half is what is meant")]
    while (product as u32) < bound {
        // 2^32 mod bound: products whose low half lies below it would be one too many.
        let excess = bound.wrapping_neg() % bound;
        if (product as u32) >= excess {
            break;
        }
        product = u64::from(rng.next_u32()) * u64::from(bound);
    }
    u32::try_from(product >> 32).expect("the high half of 64 bits")
}

/// `count` distinct numbers below `bound`, every set equally likely: Floyd's algorithm (Bentley and
/// Floyd, "A sample of brilliance", 1987). Sets are small, so a linear look-up is the fastest.
fn distinct_below<R: RngCore>(bound: u32, count: u32, rng: &mut R) -> Vec<u32> {
    let mut chosen = Vec::with_capacity(count as usize);
    for last in bound - count..bound {
        let candidate = below(last + 1, rng);
        chosen.push(if chosen.contains(&candidate) { last } else { candidate });
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    #[test]
    fn below_has_no_bias() {
        // With a bound of 3 * 2^30, a remainder alone would hit the lowest third twice as often,
        // and a product alone every third number.
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let bound = 3 << 30;
        let drawn: Vec<u32> = (0..90_000).map(|_| below(bound, &mut rng)).collect();
        let low = drawn.iter().filter(|&&number| number < 1 << 30).count();
        let third = drawn.iter().filter(|&&number| number % 3 == 0).count();
        assert!((29_000..31_000).contains(&low), "{low}");
        assert!((29_000..31_000).contains(&third), "{third}");
    }

    #[test]
    fn distinct_draws_are_distinct_and_every_set_is_equally_likely() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let mut seen = std::collections::HashMap::new();
        for _ in 0..60_000 {
            let mut set = distinct_below(4, 2, &mut rng);
            set.sort_unstable();
            assert_ne!(set[0], set[1]);
            *seen.entry(set).or_insert(0u32) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|&count| (9_500..10_500).contains(&count)), "{seen:?}");
    }

    #[test]
    fn the_urn_holds_voters_then_dummies() {
        let classes = Classes::new(3).unwrap();
        let urn = Urn::of(vec![4, 9], classes, Offset::new(2).unwrap());
        let entries: Vec<Drawn> = (0..urn.len()).map(|place| urn.entry(place)).collect();
        let dummy = |class| Drawn::Dummy(Class(class));
        assert_eq!(entries[..2], [Drawn::Teacher(4), Drawn::Teacher(9)]);
        assert_eq!(entries[2..], [dummy(0), dummy(0), dummy(1), dummy(1), dummy(2), dummy(2)]);
    }

    #[test]
    fn a_round_that_asks_for_too_much_draws_nothing() {
        let classes = Classes::new(2).unwrap();
        let none = Offset::new(0).unwrap();
        let setting = Setting {
            polynomial: "X^3+X".parse().unwrap(),
            offset: none,
            sampling: Sampling::WithoutReplacement,
        };
        let drawn = |teachers| {
            let urn = Urn::of_all(teachers, classes, none);
            let draws = Draws::seeded(&setting, &urn, &Seed::from_number(0), 0);
            draws.rounds().map(|(_, round)| round.len()).collect::<Vec<_>>()
        };
        assert_eq!(drawn(3), [3, 1]);
        assert_eq!(drawn(2), [0, 1]);
        assert_eq!(drawn(0), [0, 0]);
    }
}
