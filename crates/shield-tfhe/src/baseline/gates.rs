//! The paper's circuit gate by gate, as Cingulata runs it: a baseline for the benchmark.
//!
//! The paper's section "Bitwise SHIELD with Cingulata" compiles its Algorithm 1 to boolean gates,
//! each a bootstrapping. Here the same gates run on `tfhe::boolean`, with the faster of its two
//! parameter sets. Votes are one-hot, a bit per class. A round of degree p takes (p-1)K AND for the
//! product of its votes, then
//!
//! ```text
//! res   <- res XOR (NOT found AND pi)      K AND, K XOR
//! found <- found OR (XOR of all pi_k)      K-1 XOR, 1 OR
//! ```
//!
//! with NOT for free. The first round needs neither the update of `res` nor the OR, and nothing
//! reads `found` after the last: 939 gates for `8X^4+6X^3+4X^2+X` and ten classes ([`count`]).
//!
//! Three things are in its favour: rounds are skipped that cannot change the result, only the votes
//! that are drawn are encrypted, and with the secret key, so without the larger noise and the size
//! of a public one. Dummies are encrypted like votes, as in the paper. The student's view is not
//! protected: what is released are the gates' own ciphertexts.

use std::time::{Duration, Instant};

use rand::{CryptoRng, RngCore};
use rayon::prelude::*;
use shield_core::votes::Vote;
use shield_core::{Class, Drawn, Draws, Election, Label, Polynomial, Seed, Urn, Votes};
use tfhe::boolean::engine::BooleanEngine;
use tfhe::boolean::prelude::{
    BinaryBooleanGates, Ciphertext, ClientKey, DEFAULT_PARAMETERS_KS_PBS, ServerKey,
};
use tfhe::core_crypto::commons::generators::DeterministicSeeder;
use tfhe::core_crypto::commons::math::random::{DefaultRandomGenerator, Seed as EngineSeed};

/// What a run of the baseline gave.
#[derive(Debug)]
pub struct GatesRun {
    /// The labels.
    pub labels: Vec<Label>,
    /// The time of the aggregation alone, over all samples.
    pub aggregation: Duration,
    /// Gates over all samples, each a bootstrapping.
    pub gates: usize,
}

/// Bytes of what would be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// A one-hot vote, and a label: a ciphertext per class.
    pub vote: usize,
    /// The server's key: bootstrapping and switching.
    pub server_key: usize,
}

impl Sizes {
    /// For that many classes.
    pub fn of(classes: usize) -> Self {
        const WORD: usize = 4;
        let set = DEFAULT_PARAMETERS_KS_PBS;
        let small = set.lwe_dimension.0;
        let (rows, degree) = (set.glwe_dimension.0 + 1, set.polynomial_size.0);
        let large = set.glwe_dimension.0 * degree;
        let bootstrap = small * rows * rows * set.pbs_level.0 * degree;
        let switch = large * set.ks_level.0 * (small + 1);
        Self { vote: classes * (large + 1) * WORD, server_key: (bootstrap + switch) * WORD }
    }
}

/// Gates of one sample all of whose rounds draw something.
pub fn count(polynomial: &Polynomial, classes: usize) -> usize {
    let degrees: Vec<u32> = decisive(polynomial.rounds()).collect();
    let products: usize = degrees.iter().map(|&degree| (degree as usize - 1) * classes).sum();
    let updates = degrees.len().saturating_sub(1);
    let found = updates * (classes - 1) + updates.saturating_sub(1);
    products + 2 * classes * updates + found
}

/// The rounds up to the first of one draw, which always succeeds.
fn decisive(degrees: impl Iterator<Item = u32>) -> impl Iterator<Item = u32> {
    let mut decided = false;
    degrees.take_while(move |&degree| !std::mem::replace(&mut decided, degree == 1))
}

/// Runs every role on the votes, gate by gate.
pub fn run<R: RngCore + CryptoRng>(
    election: &Election,
    votes: &Votes,
    seed: &Seed,
    rng: &mut R,
) -> GatesRun {
    let mut random = || {
        let mut bytes = [0; 16];
        rng.fill_bytes(&mut bytes);
        EngineSeed(u128::from_le_bytes(bytes))
    };
    let mut engine = new_engine(random());
    let client = engine.create_client_key(DEFAULT_PARAMETERS_KS_PBS);
    let server = engine.create_server_key(&client);
    let seeds: Vec<EngineSeed> = (0..votes.samples()).map(|_| random()).collect();
    let results: Vec<(Label, Duration, usize)> = seeds
        .into_par_iter()
        .enumerate()
        .map(|(sample, random)| {
            let votes: Vec<Vote> = votes.sample(sample).collect();
            let rounds = encrypt(election, &votes, &client, seed, sample, random);
            let start = Instant::now();
            let (released, gates) = aggregate(&server, &rounds);
            let elapsed = start.elapsed();
            let chosen = released.iter().position(|bit| client.decrypt(bit));
            let class = chosen.and_then(|class| u16::try_from(class).ok()).map(Class);
            (class, elapsed, gates)
        })
        .collect();
    GatesRun {
        labels: results.iter().map(|(label, ..)| *label).collect(),
        aggregation: results.iter().map(|(_, elapsed, _)| *elapsed).sum(),
        gates: results.iter().map(|(.., gates)| gates).sum(),
    }
}

fn new_engine(seed: EngineSeed) -> BooleanEngine {
    BooleanEngine::new_from_seeder(&mut DeterministicSeeder::<DefaultRandomGenerator>::new(seed))
}

/// What is drawn for a sample, round by round: an encrypted one-hot vector a draw.
fn encrypt(
    election: &Election,
    votes: &[Vote],
    client: &ClientKey,
    seed: &Seed,
    sample: usize,
    random: EngineSeed,
) -> Vec<Vec<Vec<Ciphertext>>> {
    let setting = election.setting();
    let classes = election.classes();
    let voters = (0..).zip(votes).filter(|(_, vote)| vote.is_some()).map(|(teacher, _)| teacher);
    let urn = Urn::of(voters.collect(), classes, setting.offset);
    let draws = Draws::seeded(setting, &urn, seed, sample as u64);
    let mut engine = new_engine(random);
    let mut encrypt = |entry: &Drawn| {
        let class = match *entry {
            Drawn::Teacher(teacher) => votes[teacher as usize].expect("the urn holds voters"),
            Drawn::Dummy(class) => class,
        };
        classes.all().map(|k| engine.encrypt(k == class, client)).collect()
    };
    let mut decided = false;
    draws
        .rounds()
        .filter(|(_, drawn)| !drawn.is_empty())
        .take_while(|(degree, _)| !std::mem::replace(&mut decided, *degree == 1))
        .map(|(_, drawn)| drawn.iter().map(&mut encrypt).collect())
        .collect()
}

/// The encrypted one-hot label, and how many gates it took. Without any round there is nothing to
/// release.
fn aggregate(server: &ServerKey, rounds: &[Vec<Vec<Ciphertext>>]) -> (Vec<Ciphertext>, usize) {
    let mut gates = 0;
    let mut label: Vec<Ciphertext> = Vec::new();
    let mut found: Option<Ciphertext> = None;
    for (round, drawn) in rounds.iter().enumerate() {
        let mut product = drawn[0].clone();
        for vote in &drawn[1..] {
            for (bit, vote) in product.iter_mut().zip(vote) {
                *bit = server.and(&*bit, vote);
                gates += 1;
            }
        }
        if let Some(found) = &found {
            let waiting = server.not(found);
            for (label, bit) in label.iter_mut().zip(&product) {
                *label = server.xor(&*label, &server.and(&waiting, bit));
                gates += 2;
            }
        } else {
            label.clone_from(&product);
        }
        if round + 1 < rounds.len() {
            let mut bits = product.into_iter();
            let first = bits.next().expect("at least two classes");
            let succeeded = bits.fold(first, |sum, bit| {
                gates += 1;
                server.xor(&sum, &bit)
            });
            found = Some(match found {
                None => succeeded,
                Some(found) => {
                    gates += 1;
                    server.or(&found, &succeeded)
                }
            });
        }
    }
    (label, gates)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;
    use shield_core::Sampling;
    use shield_core::engine::suite::{self, Case, Shape};

    fn check(case: &Case, number: u64) -> GatesRun {
        let seed = Seed::from_number(number);
        let mut rng = ChaCha20Rng::seed_from_u64(number);
        let run = run(&case.election, &case.votes, &seed, &mut rng);
        assert_eq!(run.labels, case.expected(&seed), "{:?}", case.election);
        run
    }

    #[test]
    fn the_papers_count() {
        let count = |text: &str| count(&text.parse().expect("a polynomial"), 10);
        assert_eq!(count("8X^4+6X^3+4X^2+X"), 939);
        assert_eq!(count("X"), 0);
        // Two products, then nothing to update and nothing to find.
        assert_eq!(count("X^3"), 20);
        assert_eq!(count("X^2+X"), 10 + 20 + 9);
    }

    #[test]
    fn labels_are_those_of_the_operator() {
        check(&suite::small_elections()[1], 1);
        let shape = Shape {
            teachers: 6,
            classes: 3,
            samples: 2,
            polynomial: "X^3+X^2+2X",
            offset: 1,
            sampling: Sampling::WithoutReplacement,
            abstentions: 20,
        };
        let case = Case::new(shape, 1);
        let run = check(&case, 2);
        assert_eq!(run.gates, 2 * count(&case.election.setting().polynomial, 3));
    }

    #[test]
    #[ignore = "minutes: twenty samples for each number of classes"]
    fn twenty_samples() {
        for classes in [2, 10, 16, 100] {
            let shape = Shape {
                teachers: 250,
                classes,
                samples: 20,
                polynomial: "2X^3+3X^2+X",
                offset: 1,
                sampling: Sampling::WithReplacement,
                abstentions: 0,
            };
            let run = check(&Case::new(shape, classes as u64), 3);
            let seconds = run.aggregation.as_secs_f64();
            println!("{classes} classes: {} gates, {seconds:.1} s, all right", run.gates);
        }
    }
}
