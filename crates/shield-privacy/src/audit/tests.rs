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
use shield_core::operator::elect;
use shield_core::parameters::{Class, Classes, Offset, Queries, Voters};
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

/// Shares as the teachers draw them: of all of them, or of one alone.
#[test]
fn the_noisy_argmax_keeps_its_promise_unless_shares_are_missing() {
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let (classes, voters) = (Classes::new(2).unwrap(), Voters::new(VOTERS as u32).unwrap());
    for family in [NoiseFamily::Laplace, NoiseFamily::Skellam] {
        let size = Noise::new(4.0).unwrap();
        let noise = SharedNoise::of(family, size, VOTERS as u32, 0).unwrap();
        let promised = Mechanism::NoisyArgmax(noise.into()).proven(classes, voters, usage());
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
        }
    }
}
