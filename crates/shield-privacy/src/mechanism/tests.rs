use super::*;
use crate::Usage;
use crate::data_independent::DataIndependent;
use crate::price::Proven;
use shield_core::Watch;
use shield_core::parameters::Epsilon;
use shield_core::synthetic;

fn all() -> Vec<Mechanism> {
    let noise = Noise::new(8.0).unwrap();
    vec![
        Mechanism::Shield(Setting::default()),
        Mechanism::Exact,
        Mechanism::Lnmax(noise),
        Mechanism::Gnmax(noise),
        Mechanism::NoisyArgmax(SharedNoise::new(noise, 30, 2).unwrap().into()),
        Mechanism::NoisyArgmax(SharedNoise::of(NoiseFamily::Skellam, noise, 30, 2).unwrap().into()),
        Mechanism::NoisyArgmax(ArgmaxOfShares {
            noise: SharedNoise::of(NoiseFamily::Skellam, noise, 30, 2).unwrap(),
            threshold: Some(12),
        }),
        Mechanism::ConfidentGnmax(ConfidentGnmax { threshold: 12.0, check: noise, answer: noise }),
        Mechanism::Exponential(Rate::new(0.1).unwrap()),
        Mechanism::PermuteAndFlip(Rate::new(0.1).unwrap()),
        Mechanism::ExponentialOperator(
            ExponentialOperator::parse("8x0.1,8x0.05", Offset::new(2).unwrap()).unwrap(),
        ),
    ]
}

fn votes() -> (Votes, Vec<Histogram>) {
    let (votes, _) = synthetic::votes(30, Classes::new(4).unwrap(), 12, 5).unwrap();
    let histograms = votes.histograms().collect();
    (votes, histograms)
}

#[test]
fn every_law_sums_to_one() {
    let (_, histograms) = votes();
    for mechanism in all() {
        for histogram in &histograms {
            let law = mechanism.law(histogram);
            let total = law.probabilities().sum::<f64>() + law.failure();
            assert!((total - 1.0).abs() < 1e-9, "{mechanism:?}: {total}");
        }
    }
}

#[test]
fn what_depends_on_the_votes_costs_no_more_than_what_holds_for_all() {
    let (votes, histograms) = votes();
    let observed = Observed { histograms: &histograms, votes: Some(&votes) };
    for mechanism in all() {
        let costs = mechanism.costs(observed, Usage::default(), &Watch::default());
        let proven = mechanism.proven_for(&histograms, Usage::default());
        let Costs { moments, exact, .. } = costs.clone();
        let tight = exact.map_or(moments, |exact| exact).data_independent;
        assert_eq!(proven, moments.data_independent.smaller(tight));
        let slack = 1.0 + 1e-6;
        assert!(costs.renyi <= costs.published, "{mechanism:?}: {costs:?}");
        let all = costs.renyi.get() * slack;
        assert!(moments.teacher_wise.get() <= all, "{mechanism:?}: {costs:?}");
        let bound = moments.data_independent.get() * slack;
        assert!(costs.renyi.get() <= bound, "{mechanism:?}: {costs:?}");
        if mechanism == Mechanism::Exact {
            assert_eq!(proven, Epsilon::INFINITE);
        } else {
            assert!(proven.get().is_finite(), "{mechanism:?}: {proven:?}");
        }
    }
}

#[test]
fn counts_without_votes_bound_every_teacher_by_all_of_them() {
    let (_, histograms) = votes();
    let observed = Observed { histograms: &histograms, votes: None };
    let costs =
        Mechanism::Shield(Setting::default()).costs(observed, Usage::default(), &Watch::default());
    assert_eq!(costs.moments.teacher_wise, costs.renyi);
}

#[test]
fn the_worst_number_of_voters_counts() {
    // Costs are not monotone in the number of voters, so the largest number is not enough.
    let setting = Setting { polynomial: "1000X^8+X".parse().unwrap(), ..Setting::default() };
    let setting = Setting { offset: Offset::new(5).unwrap(), ..setting };
    let histograms: Vec<Histogram> =
        [[1, 0, 0], [3, 1, 1], [4, 3, 3]].map(|c| Histogram::new(c.to_vec()).unwrap()).into();
    let classes = Classes::new(3).unwrap();
    let worst = data_independent_of(&setting, classes, 5);
    assert!(worst > data_independent_of(&setting, classes, 10));
    let observed = Observed { histograms: &histograms, votes: None };
    let found = Mechanism::Shield(setting).costs(observed, Usage::default(), &Watch::default());
    assert_eq!(found.moments.data_independent, worst);
}

fn data_independent_of(setting: &Setting, classes: Classes, voters: u32) -> Proven {
    let voters = shield_core::parameters::Voters::new(voters).unwrap();
    DataIndependent::new(setting, classes, voters).epsilon(Usage::default())
}

#[test]
fn only_noise_in_shares_holds_against_the_server() {
    for mechanism in all() {
        let holds = mechanism.against_server().holds();
        assert_eq!(holds, mechanism.name() == "noisy-argmax");
        assert!(!mechanism.holds_against().contains("  "));
    }
}

#[test]
fn descriptions_keep_the_keys_that_reports_have() {
    let json = |mechanism: &Mechanism| serde_json::to_value(mechanism.description()).unwrap();
    let shield = json(&all()[0]);
    assert_eq!(shield["name"], "shield");
    assert!(shield["polynomial"].is_string() && shield["sampling"] == "with-replacement");
    assert!(shield.get("noise").is_none());
    let noisy = json(&all()[4]);
    assert_eq!((noisy["noise"].as_f64(), noisy["dropouts"].as_u64()), (Some(8.0), Some(2)));
    assert!(noisy["polynomial"].is_null());
    assert_eq!(noisy["noise_law"], "laplace");
    assert_eq!(json(&all()[5])["noise_law"], "skellam");
    assert!(shield.get("noise_law").is_none());
}

/// Taking the accounting of one law for the other's noise would promise what nobody proved.
#[test]
fn each_law_of_shared_noise_has_its_own_accounting() {
    let (_, histograms) = votes();
    // A scale and a deviation that are as wide: Skellam noise has no heavy tails and is cheaper.
    let [scale, deviation] = [8.0, 8.0 * f64::sqrt(2.0)].map(|amount| Noise::new(amount).unwrap());
    let laws = [(NoiseFamily::Laplace, scale), (NoiseFamily::Skellam, deviation)];
    let [laplace, skellam] = laws.map(|(family, noise)| {
        let noise = SharedNoise::of(family, noise, 30, 2).unwrap();
        let proven = Mechanism::NoisyArgmax(noise.into()).proven_for(&histograms, Usage::default());
        assert_eq!(proven, SharedArgmax::of_votes(&noise, 4).tight(Usage::default()));
        proven
    });
    let pure = Mechanism::Lnmax(scale).proven_for(&histograms, Usage::default());
    assert!((laplace.get() / pure.get() - 1.0).abs() < 0.03 && skellam < laplace);
}
