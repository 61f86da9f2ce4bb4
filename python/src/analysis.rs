//! What labels cost and how good they are, as the documents that the program prints.

use std::ops::ControlFlow;
use std::time::Instant;

use pyo3::prelude::*;
use serde_json::json;
use shield_bfv::advice::{self, ANSWERED, Against, Aims, Comparison, Planned, Wishes};
use shield_core::shared_noise::bits::WeightedBits;
use shield_core::shared_noise::{NoiseFamily, SharedNoise};
use shield_core::{
    Classes, Delta, Epsilon, Histogram, Histograms, Labels, Offset, Queries, Sampling, Setting,
    Voters, Votes, Watch,
};
use shield_privacy::bound::{Bound as ProvenBound, LabelBound};
use shield_privacy::data_independent::DataIndependent;
use shield_privacy::mechanism::{
    Analysis, ArgmaxOfShares, ConfidentGnmax, ExponentialOperator, Observed, Rate, Thin,
};
use shield_privacy::noisy_argmax::Noise;
use shield_privacy::tune::climb::{self, Ascent};
use shield_privacy::tune::{MAX_DEGREE, MAX_TERMS, Objective, Search, Space};
use shield_privacy::{Attendance, Mechanism};
use shield_privacy::{Usage, calibrate};

use crate::errors::refuse;
use crate::{arrays, calls};

/// Polynomial, offset and sampling rule, as Python gives them.
pub(crate) type SettingArgs = (Option<String>, u32, String);

pub(crate) fn parse_setting((polynomial, offset, sampling): &SettingArgs) -> PyResult<Setting> {
    let polynomial = polynomial.as_deref().map(str::parse).transpose().map_err(refuse)?;
    Ok(Setting {
        polynomial: polynomial.unwrap_or_default(),
        offset: Offset::new(*offset).map_err(refuse)?,
        sampling: sampling.parse().map_err(refuse)?,
    })
}

pub(crate) fn usage(queries: u64, delta: f64) -> PyResult<Usage> {
    let queries = Queries::new(queries).map_err(refuse)?;
    Ok(Usage { queries, delta: Delta::new(delta).map_err(refuse)? })
}

/// A document as Python's dictionaries, lists, numbers and strings.
pub(crate) fn document<'py>(
    py: Python<'py>,
    document: &impl serde::Serialize,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(pythonize::pythonize(py, document)?)
}

/// What mechanisms other than SHIELD take, as Python gives it: the noise, its law and how many
/// teachers may be missing; a rate; a schedule; and for an argmax that answers where it is sure,
/// the votes that the leader must seem to have and the noise of that question.
pub(crate) type MechanismOptions =
    (f64, Option<String>, u32, f64, String, Option<f64>, Option<f64>);

/// A threshold of a noisy argmax: a count, as those of its classes.
fn whole(votes: f64) -> PyResult<u32> {
    let whole = (0.0..=f64::from(u32::MAX)).contains(&votes) && votes.fract() == 0.0;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number of the range"
    )]
    let count = votes as u32;
    let refused = || refuse(format!("threshold is {votes}; it must be a whole number of votes"));
    whole.then_some(count).ok_or_else(refused)
}

/// The mechanism of a name, with the program's defaults.
pub(crate) fn mechanism(
    name: &str,
    setting: &SettingArgs,
    options: &MechanismOptions,
    teachers: u32,
) -> PyResult<Mechanism> {
    let (noise, law, dropouts, rate, schedule, threshold, check_noise) = options;
    let size = |noise: f64| Noise::new(noise).map_err(refuse);
    let rate = || Rate::new(*rate).map_err(refuse);
    Ok(match name {
        "shield" => Mechanism::Shield(parse_setting(setting)?),
        "exact" => Mechanism::Exact,
        "lnmax" => Mechanism::Lnmax(size(*noise)?),
        "gnmax" => Mechanism::Gnmax(size(*noise)?),
        "noisy-argmax" => {
            let law =
                law.as_deref().map_or(Ok(NoiseFamily::Laplace), str::parse).map_err(refuse)?;
            let noise = SharedNoise::of(law, size(*noise)?, teachers, *dropouts);
            let threshold = threshold.map(whole).transpose()?;
            Mechanism::NoisyArgmax(ArgmaxOfShares { noise: noise.map_err(refuse)?, threshold })
        }
        "confident-gnmax" => Mechanism::ConfidentGnmax(ConfidentGnmax {
            threshold: threshold.unwrap_or(f64::from(teachers) / 2.0),
            check: size(check_noise.unwrap_or(*noise))?,
            answer: size(*noise)?,
        }),
        "exponential" => Mechanism::Exponential(rate()?),
        "permute-and-flip" => Mechanism::PermuteAndFlip(rate()?),
        "exponential-operator" => {
            let operator = ExponentialOperator::parse(schedule, parse_setting(setting)?.offset);
            Mechanism::ExponentialOperator(operator.map_err(refuse)?)
        }
        other => {
            return Err(refuse(format!(
                "`{other}` is not a mechanism; it must be one of shield, exact, lnmax, gnmax, \
                 noisy-argmax, confident-gnmax, exponential, permute-and-flip, \
                 exponential-operator"
            )));
        }
    })
}

/// Votes, and true labels that fit them.
fn read(
    votes: &Bound<'_, PyAny>,
    truth: Option<&Bound<'_, PyAny>>,
    classes: Option<usize>,
) -> PyResult<(Votes, Option<Labels>)> {
    let votes = arrays::votes(votes, classes)?;
    let truth = truth.map(|truth| arrays::labels(truth, &votes)).transpose()?;
    Ok((votes, truth))
}

/// Does nothing: what a call costs.
#[pyfunction]
pub(crate) fn nothing() {}

/// Checks a setting, and gives its polynomial in the usual form.
#[pyfunction]
pub(crate) fn setting(setting: SettingArgs) -> PyResult<(String, usize, u32)> {
    let polynomial = parse_setting(&setting)?.polynomial;
    Ok((polynomial.to_string(), polynomial.round_count(), polynomial.degree()))
}

#[pyfunction]
pub(crate) fn bound(
    py: Python<'_>,
    setting: SettingArgs,
    teachers: u32,
    classes: usize,
    voters: Option<String>,
    queries: u64,
    delta: f64,
    threads: Option<usize>,
) -> PyResult<Bound<'_, PyAny>> {
    let (setting, usage) = (parse_setting(&setting)?, usage(queries, delta)?);
    let teachers = Voters::new(teachers).map_err(refuse)?;
    let classes = Classes::new(classes).map_err(refuse)?;
    if let Some(voters) = voters {
        let attendance = Attendance::parse(&voters, teachers, usage.queries).map_err(refuse)?;
        let holds_for = attendance.holds_for(teachers.count() as usize);
        let queries = attendance.samples();
        let mechanism = Mechanism::Shield(setting);
        let proof = calls::run(py, threads, None, move |watch| {
            mechanism.price(classes, &attendance, usage.delta, watch)
        })?;
        let exact = proof.tight.unwrap_or(proof.moments);
        return document(
            py,
            &json!({
                "epsilon": proof.moments,
                "exact": { "epsilon": exact },
                "queries": queries,
                "holds_for": holds_for,
            }),
        );
    }
    let bound = calls::run(py, threads, None, move |watch| {
        ProvenBound::new(&setting, classes, teachers, usage, None, watch)
    })?;
    document(py, &bound)
}

/// What the labels of a noisy argmax cost, for all votes there could be.
#[pyfunction]
pub(crate) fn label_bound<'py>(
    py: Python<'py>,
    name: &str,
    noise: (f64, Option<String>, u32),
    weights: Option<Vec<u32>>,
    teachers: u32,
    classes: usize,
    queries: u64,
    delta: f64,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let usage = usage(queries, delta)?;
    let (amount, law, dropouts) = noise;
    let voters = Voters::new(teachers).map_err(refuse)?;
    let classes = Classes::new(classes).map_err(refuse)?;
    let mechanism = if let Some(weights) = weights {
        let bits = WeightedBits::new(&weights).map_err(refuse)?;
        let noise = SharedNoise::of_bits(bits, teachers, dropouts).map_err(refuse)?;
        Mechanism::NoisyArgmax(noise.into())
    } else {
        let options = (amount, law, dropouts, 1.0, String::new(), None, None);
        let setting = (None, 1, "with-replacement".to_owned());
        mechanism(name, &setting, &options, teachers)?
    };
    let bound = calls::run(py, threads, None, move |watch| {
        LabelBound::new(&mechanism, classes, voters, usage, None, watch)
    })?;
    let bound = bound.ok_or_else(|| refuse(format!("`{name}` has no noisy counts to argmax")))?;
    document(py, &bound)
}

/// How many queries cost at most a budget.
#[pyfunction]
pub(crate) fn queries_within(
    py: Python<'_>,
    setting: SettingArgs,
    epsilon: f64,
    teachers: u32,
    classes: usize,
    delta: f64,
) -> PyResult<u64> {
    let setting = parse_setting(&setting)?;
    let budget = Epsilon::new(epsilon).map_err(refuse)?;
    let delta = Delta::new(delta).map_err(refuse)?;
    let teachers = Voters::new(teachers).map_err(refuse)?;
    let classes = Classes::new(classes).map_err(refuse)?;
    calls::run(py, None, None, move |_| {
        let mut figure = DataIndependent::new(&setting, classes, teachers);
        let found = calibrate::queries_within(budget, delta, |usage| figure.epsilon(usage));
        found.map_or(0, Queries::count)
    })
}

#[pyfunction]
pub(crate) fn analyze<'py>(
    py: Python<'py>,
    votes: &Bound<'py, PyAny>,
    truth: Option<&Bound<'py, PyAny>>,
    classes: Option<usize>,
    name: &str,
    setting: SettingArgs,
    options: MechanismOptions,
    queries: Option<u64>,
    delta: f64,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let (votes, truth) = read(votes, truth, classes)?;
    let usage = usage(queries.unwrap_or(votes.samples() as u64), delta)?;
    let teachers = u32::try_from(votes.teachers()).map_err(refuse)?;
    let mechanism = mechanism(name, &setting, &options, teachers)?;
    let analysis = calls::run(py, threads, None, move |watch| {
        let histograms: Vec<Histogram> = votes.histograms().collect();
        let observed = Observed { histograms: &histograms, votes: Some(&votes) };
        Analysis::new(&mechanism, observed, truth.as_ref(), usage, watch)
    })?;
    let mut found = serde_json::to_value(&analysis).map_err(refuse)?;
    found["thin"] = json!(analysis.price.thin.as_ref().map(Thin::sentence));
    document(py, &found)
}

#[pyfunction]
pub(crate) fn tune<'py>(
    py: Python<'py>,
    votes: &Bound<'py, PyAny>,
    truth: Option<&Bound<'py, PyAny>>,
    classes: Option<usize>,
    max_degree: u32,
    max_terms: u32,
    offsets: Vec<u32>,
    sampling: &str,
    aim: (Option<f64>, Option<f64>),
    queries: Option<u64>,
    delta: f64,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (target, time_limit) = aim;
    let target = target.map(Epsilon::new).transpose().map_err(refuse)?;
    for (name, value, most) in
        [("max_degree", max_degree, MAX_DEGREE), ("max_terms", max_terms, MAX_TERMS)]
    {
        if !(1..=most).contains(&value) {
            return Err(refuse(format!("{name} is {value}; it must be from 1 to {most}")));
        }
    }
    let (votes, truth) = read(votes, truth, classes)?;
    let offsets = offsets.into_iter().map(Offset::new).collect::<Result<Vec<_>, _>>();
    let mut offsets = offsets.map_err(refuse)?;
    offsets.sort_unstable();
    offsets.dedup();
    let mut search = Search {
        space: Space { max_degree, max_terms },
        offsets,
        sampling: sampling.parse::<Sampling>().map_err(refuse)?,
        objective: Objective::DataIndependent,
        usage: usage(queries.unwrap_or(votes.samples() as u64), delta)?,
    };
    let usage = search.usage;
    let start = Instant::now();
    let outcome = calls::run(py, threads, progress, move |watch| {
        let histograms: Vec<Histogram> = votes.histograms().collect();
        if search.offsets.is_empty() {
            search.offsets = shield_privacy::tune::offsets(&histograms, usage, target);
        }
        let whole = watch.clone();
        let watch = &Watch::new(move |now| {
            whole.tell(now.done, now.of);
            let late = time_limit.is_some_and(|limit| start.elapsed().as_secs_f64() > limit);
            if late || whole.is_stopped() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        let climbs = (2..=climb::MAX_DEGREE).contains(&max_degree) && max_terms <= climb::MAX_TERMS;
        match target.filter(|_| climbs && !search.is_whole()) {
            Some(budget) => {
                Ascent { search: &search, budget }.run(&histograms, truth.as_ref(), watch)
            }
            None => search.run(&histograms, truth.as_ref(), watch),
        }
    })?
    .map_err(refuse)?;
    document(
        py,
        &json!({
            "evaluated": outcome.evaluated,
            "exhaustive": outcome.exhaustive,
            "stopped": outcome.stopped,
            "queries": usage.queries,
            "delta": usage.delta,
            "sampling": sampling,
            "front": outcome.front.points(),
        }),
    )
}

#[pyfunction]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    votes: &Bound<'py, PyAny>,
    truth: Option<&Bound<'py, PyAny>>,
    classes: Option<usize>,
    epsilons: Vec<f64>,
    queries: Option<u64>,
    delta: f64,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (votes, truth) = read(votes, truth, classes)?;
    let usage = usage(queries.unwrap_or(votes.samples() as u64), delta)?;
    let budgets = epsilons.into_iter().map(Epsilon::new).collect::<Result<Vec<_>, _>>();
    let budgets = budgets.map_err(refuse)?;
    let comparison = calls::run(py, threads, progress, move |watch| {
        let aims = Aims { budgets: &budgets, answered: ANSWERED };
        Comparison::new(&Histograms::from(&votes), truth.as_ref(), aims, usage, watch)
    })?;
    let comparison = comparison.map_err(refuse)?;
    let mut found = serde_json::to_value(&comparison).map_err(refuse)?;
    found["verdicts"] = json!(comparison.verdicts());
    document(py, &found)
}

#[pyfunction]
pub(crate) fn recommend(
    py: Python<'_>,
    teachers: u32,
    classes: usize,
    queries: u64,
    epsilon: f64,
    wishes: (bool, Option<f64>),
    delta: f64,
    threads: Option<usize>,
) -> PyResult<Bound<'_, PyAny>> {
    let (server, answered) = wishes;
    let against = if server { Against::Server } else { Against::Readers };
    let planned = Planned {
        teachers: Voters::new(teachers).map_err(refuse)?,
        classes: Classes::new(classes).map_err(refuse)?,
        usage: usage(queries, delta)?,
        budget: Epsilon::new(epsilon).map_err(refuse)?,
        attendance: None,
    };
    let found = calls::run(py, threads, None, move |_| {
        advice::recommend(&planned, Wishes { against, answered })
    })?;
    document(py, &found.map_err(refuse)?)
}
