//! The audit against mechanisms that keep their promise, and against some that do not.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use statrs::distribution::{Beta, ContinuousCDF};

use super::*;
use crate::Usage;
use crate::data_independent::DataIndependent;
use crate::mechanism::Mechanism;
use crate::noisy_argmax::Noise;
use shield_core::distribution::OutputDistribution;
use shield_core::draws::{Draws, Urn};
use shield_core::election::Election;
use shield_core::engine::ClearEngine;
use shield_core::operator::elect;
use shield_core::parameters::{Class, Classes, Offset, Queries, Voters};
use shield_core::seed::Seed;
use shield_core::setting::Setting;
use shield_core::shared_noise::{NoiseFamily, SharedNoise, Shares};
use shield_core::votes::Label;

#[test]
fn the_interval_is_that_of_clopper_and_pearson() {
    for (successes, runs) in [(1, 10), (7, 10), (10, 10), (250, 1000), (3, 20_000)] {
        let expected = Beta::new(f64::from(successes), f64::from(runs - successes) + 1.0)
            .unwrap()
            .inverse_cdf(0.01);
        let found = at_least(successes, runs, 0.01);
        assert!((found - expected).abs() < 1e-6, "{successes} of {runs}: {found} {expected}");
    }
}

const QUERIES: u64 = 4;
const VOTERS: usize = 7;

fn plan() -> Plan {
    Plan { runs: 20_000, delta: Delta::new(1e-3).unwrap(), failure: 1e-6 }
}

fn usage() -> Usage {
    Usage { queries: Queries::new(QUERIES).unwrap(), delta: plan().delta }
}

fn promised(setting: &Setting) -> f64 {
    let (classes, voters) = (Classes::new(2).unwrap(), Voters::new(VOTERS as u32).unwrap());
    DataIndependent::new(setting, classes, voters).exact(usage()).get()
}

fn setting(polynomial: &str, offset: u32) -> Setting {
    Setting {
        polynomial: polynomial.parse().unwrap(),
        offset: Offset::new(offset).unwrap(),
        ..Setting::default()
    }
}

/// The victim is teacher 0; it votes 1 in one world, 0 in the other. All others vote 0.
fn own_vote(world: World) -> Class {
    Class(u16::from(world == World::Votes))
}

fn label(setting: &Setting, draws: &mut Draws, rng: &mut ChaCha20Rng, world: World) -> Label {
    let urn = Urn::of_all(VOTERS as u32, Classes::new(2).unwrap(), setting.offset);
    draws.redraw(setting, &urn, rng);
    elect(draws, |teacher| if teacher == 0 { own_vote(world) } else { Class(0) })
}

/// ln of the ratio of the two laws at a label: the best score there is.
fn log_ratio(setting: &Setting, label: Label) -> f64 {
    let others = VOTERS as u32 - 1;
    let law = |counts: [u32; 2]| OutputDistribution::of_counts(setting, &counts);
    let (votes, neighbour) = (law([others, 1]), law([others + 1, 0]));
    match label {
        Some(class) => votes.log_classes()[class.index()] - neighbour.log_classes()[class.index()],
        None => 0.0,
    }
}

#[test]
fn shield_keeps_its_promise_and_the_attack_is_a_strong_one() {
    let setting = setting("2X^2+X", 1);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut draws = Draws::empty(&setting.polynomial);
    let ratios = [0, 1].map(|class| log_ratio(&setting, Some(Class(class))));
    let found = plan().audit(|world| {
        (0..QUERIES)
            .filter_map(|_| label(&setting, &mut draws, &mut rng, world))
            .map(|label| ratios[label.index()])
            .sum()
    });
    let promised = promised(&setting);
    let epsilon = found.epsilon.get();
    assert!(epsilon <= promised, "{epsilon} > {promised}");
    assert!(epsilon > 0.4 * promised, "a weak attack: {epsilon} of {promised}");
}

/// Shares as the teachers draw them: of all of them, or of one alone. A label has the price of a
/// label, which is below that of the noisy counts, and the attack is about labels alone.
#[test]
fn the_noisy_argmax_keeps_its_promise_unless_shares_are_missing() {
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let (classes, voters) = (Classes::new(2).unwrap(), Voters::new(VOTERS as u32).unwrap());
    for family in [NoiseFamily::Laplace, NoiseFamily::Skellam] {
        let size = Noise::new(4.0).unwrap();
        let noise = SharedNoise::of(family, size, VOTERS as u32, 0).unwrap();
        let mechanism = Mechanism::NoisyArgmax(noise.into());
        let promised = mechanism.proven(classes, voters, usage());
        assert!(promised.get() < 0.9 * mechanism.of_counts(usage()).unwrap().get());
        let shares = Shares::new(&noise);
        for (added, kept) in [(VOTERS, true), (1, false)] {
            let mut sum = || (0..added).map(|_| shares.share(&mut rng)).sum::<i64>();
            let found = plan().audit(|world| {
                let [zero, one] = if world == World::Votes { [3, 4] } else { [4, 3] };
                // A tie is the first class's.
                (0..QUERIES).filter(|_| one + sum() > zero + sum()).count() as f64
            });
            let epsilon = found.epsilon;
            assert_eq!(promised >= epsilon, kept, "{family}, {added}: {epsilon} {promised}");
            let strong = epsilon.get() > 0.4 * promised.get();
            assert!(strong, "a weak attack: {family}, {added}: {epsilon} {promised}");
        }
    }
}

/// Ballots, sum and argmax of an engine as they are: with the noise that was promised, and with a
/// quarter of it.
#[test]
fn an_engine_of_the_noisy_argmax_keeps_the_price_of_a_label() {
    const RUNS: u32 = 8192;
    let (classes, voters) = (Classes::new(2).unwrap(), Voters::new(engine::TEACHERS).unwrap());
    let noise = |size: f64| {
        let size = Noise::new(size).unwrap();
        SharedNoise::of(NoiseFamily::Skellam, size, engine::TEACHERS, 0).unwrap()
    };
    let usage = Usage { queries: Queries::new(1).unwrap(), delta: plan().delta };
    let promised = Mechanism::NoisyArgmax(noise(2.0).into()).proven(classes, voters, usage);
    for (size, kept) in [(2.0, true), (0.5, false)] {
        let samples = RUNS as usize;
        let teachers = engine::TEACHERS as usize;
        let election = Election::new(teachers, classes, samples, Setting::default()).unwrap();
        let clear = ClearEngine::noisy_argmax(election, noise(size));
        let mut scores = [World::Votes, World::Neighbour].map(|world| {
            let seed = Seed::from_number(7 + u64::from(world == World::Votes));
            // Two votes for each class, or one and three.
            let vote = |teacher: u32| match teacher {
                0 => own_vote(world),
                _ => Class(u16::from(teacher == 1)),
            };
            let labels = engine::labels(&clear, classes, RUNS, &seed, &vote).unwrap();
            labels.into_iter().map(|label| f64::from(u8::from(label == Some(Class(1)))))
        });
        let plan = Plan { runs: RUNS, ..plan() };
        let found = plan.audit(|world| {
            scores[usize::from(world == World::Neighbour)].next().expect("a label for every run")
        });
        assert_eq!(promised >= found.epsilon, kept, "{size}: {found:?} {promised}");
        assert!(found.epsilon.get() > 0.2 * promised.get(), "a weak attack: {size}: {found:?}");
    }
}
