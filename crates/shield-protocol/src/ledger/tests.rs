use shield_core::parameters::Noise;
use shield_core::shared_noise::{NoiseFamily, SharedNoise};
use shield_core::{Epsilon, Offset, Queries};
use shield_privacy::Usage;
use shield_privacy::shared_argmax::SharedArgmax;
use shield_privacy::skellam::Sensitivity;

use super::*;

fn setting(offset: &str) -> Setting {
    Setting { offset: offset.parse::<Offset>().unwrap(), ..Setting::default() }
}

fn cost(offset: &str, voters: VoterCounts) -> Cost {
    let mechanism = Priced::Shield(setting(offset));
    Cost { mechanism, classes: Classes::new(3).unwrap(), voters, most: None, distance: 0.0 }
}

#[test]
fn a_noisy_argmax_costs_what_analyze_says_and_adds_up() {
    let accountant = Accountant::default();
    let amount = Noise::new(30.0).unwrap();
    let classes = Classes::new(3).unwrap();
    let usage = Usage { queries: Queries::new(40).unwrap(), delta: Delta::default() };
    let rounds = cost("2", vec![(20, 40)]);
    let other = accountant.total(std::slice::from_ref(&rounds), usage.delta).get();
    for family in [NoiseFamily::Laplace, NoiseFamily::Skellam] {
        let noise = SharedNoise::of(family, amount, 20, 2).unwrap();
        let argmax = |voters| Cost {
            mechanism: Priced::NoisyArgmax(NoisyArgmax { noise, counts: None, threshold: None }),
            classes,
            voters,
            most: None,
            distance: 0.0,
        };
        let direct = SharedArgmax::of_votes(&noise, 3).by_moments(usage);
        let alone = accountant.total(&[argmax(vec![(18, 30), (20, 10)])], usage.delta).get();
        assert!((alone / direct.get() - 1.0).abs() < 0.01, "{alone} is not {}", direct.get());
        let both = accountant.total(&[rounds.clone(), argmax(vec![(20, 40)])], usage.delta).get();
        assert!(both > other.max(alone) && both < other + alone, "{both}: {other}, {alone}");
    }
}

/// A teacher's counts of up to 12 voters cost more than a vote, by about the square, and by what
/// the price of a label saves, which is votes' alone: a moment of 0.64 times that of noisy counts.
/// Where single voters are protected, they cost what votes do.
#[test]
fn counts_are_priced_for_whom_they_protect() {
    let (accountant, order) = (Accountant::default(), on_grid(4.0));
    let names: Vec<String> = (0..8).map(|number| format!("\"t{number}\"")).collect();
    let file = |lines: &str| {
        let text = format!(
            "name = \"a\"\ngroup = \"g\"\nclasses = 3\nsamples = 10\nmechanism = \
             \"noisy-argmax\"\nnoise = 60.0\n{lines}\nquorum = 8\nteachers = [{}]",
            names.join(", ")
        );
        ElectionFile::parse(&text).unwrap()
    };
    let each = |lines: &str| accountant.each_label(&file(lines), order).get();
    let votes = each("");
    let teacher = each("voters_per_teacher = 12");
    assert!((205.0..265.0).contains(&(teacher / votes)), "{teacher} {votes}");
    let voter = each("voters_per_teacher = 12\nprotects = \"voter\"");
    assert!((voter / votes - 1.0).abs() < 1e-12, "{voter} {votes}");
    // What is set aside is what is spent, and what the total says.
    let file = file("voters_per_teacher = 12");
    let voters = vec![(8, 10)];
    let each = accountant.each_label(&file, order);
    let spent = accountant.by_turnout(&file, &voters, order, each).get();
    assert!((spent / (10.0 * teacher) - 1.0).abs() < 1e-12, "{spent} {teacher}");
    let usage = Usage { queries: Queries::new(10).unwrap(), delta: Delta::default() };
    let noise = SharedNoise::of(NoiseFamily::Skellam, Noise::new(60.0).unwrap(), 8, 0).unwrap();
    let direct = SharedArgmax::new(&noise, 3, Sensitivity::Counts(12)).unwrap();
    let direct = direct.by_moments(usage).get();
    let total = accountant.total(&[Cost::new(&file, voters)], usage.delta).get();
    assert!((total / direct - 1.0).abs() < 0.01, "{total} is not {direct}");
}

#[test]
fn one_release_costs_what_bound_says() {
    let accountant = Accountant::default();
    let usage = Usage { queries: Queries::new(40).unwrap(), delta: Delta::default() };
    let alone = cost("2", vec![(20, 40)]);
    let direct =
        DataIndependent::new(&setting("2"), alone.classes, Voters::new(20).unwrap()).epsilon(usage);
    let total = accountant.total(&[alone], usage.delta).get();
    // Both are proven; they may settle on neighbouring orders.
    assert!((total / direct.get() - 1.0).abs() < 0.01, "{total} is not {}", direct.get());
}

#[test]
fn together_costs_more_than_each_and_less_than_the_sum() {
    let accountant = Accountant::default();
    let delta = Delta::default();
    let (a, b) = (cost("2", vec![(20, 40)]), cost("5", vec![(18, 10), (20, 60)]));
    let each: Vec<f64> =
        [&a, &b].map(|cost| accountant.total(std::slice::from_ref(cost), delta).get()).to_vec();
    let both = accountant.total(&[a, b], delta).get();
    assert!(both > each[0] && both > each[1] && both < each[0] + each[1], "{both} {each:?}");
}

#[test]
fn nothing_costs_nothing_and_no_offset_costs_everything() {
    let accountant = Accountant::default();
    assert_eq!(accountant.total(&[], Delta::default()), Epsilon::ZERO);
    let bare = cost("0", vec![(20, 1)]);
    assert_eq!(accountant.total(&[bare], Delta::default()), Epsilon::INFINITE);
}

fn file(polynomial: &str, offset: u32, teachers: usize, quorum: usize) -> ElectionFile {
    let names: Vec<String> = (0..teachers).map(|number| format!("\"t{number}\"")).collect();
    let text = format!(
        "name = \"a\"\ngroup = \"g\"\nclasses = 3\nsamples = 8\npolynomial = \
         \"{polynomial}\"\noffset = {offset}\nquorum = {quorum}\nteachers = [{}]",
        names.join(", ")
    );
    ElectionFile::parse(&text).unwrap()
}

fn budget(epsilon: f64) -> GroupBudget {
    GroupBudget { epsilon, delta: Delta::default(), order: on_grid(4.0) }
}

#[test]
fn what_is_set_aside_covers_every_turnout() {
    // The cost is not monotone in the number of voters: neither end is the largest.
    let file = file("1000X^8+X", 5, 10, 1);
    let (accountant, budget) = (Accountant::default(), budget(1000.0));
    let epsilon = |cost: Cost| accountant.sum(&[cost], &budget).epsilon.get();
    let reserved = epsilon(Cost::reserved(&file));
    let each: Vec<f64> = (1..=10).map(|n| epsilon(Cost::new(&file, vec![(n, 8)]))).collect();
    assert!(each.iter().all(|&closed| closed <= reserved), "{each:?} of {reserved}");
    assert!(each[0] < reserved && each[9] < reserved, "{each:?} of {reserved}");
}

#[test]
fn a_sum_is_at_one_order_and_never_below_the_best() {
    let accountant = Accountant::default();
    let costs = [cost("2", vec![(20, 40)]), cost("5", vec![(18, 10), (20, 60)])];
    let best = accountant.total(&costs, Delta::default());
    let sum = accountant.sum(&costs, &budget(100.0));
    assert!(sum.epsilon >= best && sum.covered, "{sum:?} {best}");
    // For a budget of about its cost, the order is near the best one.
    let first = file("8X^4+6X^3+4X^2+X", 5, 20, 18);
    let order = accountant.order(&first, &Budget { epsilon: 7.0, delta: Delta::default() });
    let like = [Cost::new(&first, vec![(20, 40)])];
    let at = accountant.sum(&like, &GroupBudget { order, ..budget(100.0) }).epsilon.get();
    let best = accountant.total(&like, Delta::default()).get();
    assert!(at < 1.25 * best, "{at} is far from {best}");
}

#[test]
fn distances_are_paid_for_on_both_sides() {
    let accountant = Accountant::default();
    let free = cost("20", vec![(20, 1)]);
    let with = |distance: f64| Cost { distance, ..free.clone() };
    // At a high order, which costs little of the budget by itself.
    let high = |epsilon: f64| GroupBudget { order: on_grid(40.0), ..budget(epsilon) };
    let of = |distance: f64, epsilon: f64| accountant.sum(&[with(distance)], &high(epsilon));
    // As much as a million batches leave.
    let large = of(2_f64.powi(-20), 2.0);
    assert!((large.simulated / (2_f64.powi(-20) * (1.0 + 2_f64.exp())) - 1.0).abs() < 1e-9);
    assert!(!large.covered, "{large:?}");
    assert!(of(2_f64.powi(-40), 2.0).covered);
    // 250 batches of 2^-40 at epsilon 10, and no more than that.
    assert!(of(240.0 * 2_f64.powi(-40), 10.0).covered);
    assert!(!of(260.0 * 2_f64.powi(-40), 10.0).covered);
}
