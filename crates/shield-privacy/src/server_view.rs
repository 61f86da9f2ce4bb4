//! What a server that also sees the labels could tell of one teacher.
//!
//! The epsilons of this crate are about a student who sees labels and no draws. The server made the
//! draws; if it sees a label too, then the vote of a teacher shows wherever the label depends on
//! it. Nothing but the probability of that event protects the teacher, and it is small only because
//! most labels are decided without it.
//!
//! # The formula
//!
//! Fix a teacher and the votes of all others. Given the draws, the label is a function of the
//! teacher's vote v. In a round of degree p, with phi(c) the chance that it is unanimous about c
//! entries of the urn,
//!
//! - the others alone are unanimous about class k with probability phi(e_k), where e_k counts their
//!   votes for k and the dummies: all v get the label k;
//! - it draws nothing but the teacher with probability phi(1): each v gets itself as label;
//! - it draws the teacher and otherwise only class k with probability phi(e_k + 1) - phi(e_k) -
//!   phi(1): v = k gets the label k, all others go on to the next round.
//!
//! Let D be the chance that the label depends on v, from some round on, and E_k the chance that it
//! does where v = k already has the label k and the others go on. After the last round D = 0 and
//! E_k = 1 ("no label" is not k); before a round, with the three cases above and "no v has a
//! label" for the rest,
//!
//! ```text
//! D   = phi(1) + sum_k (phi(e_k + 1) - phi(e_k) - phi(1)) E_k + (rest) D
//! E_k = phi(1) + sum over j != k of (phi(e_j + 1) - phi(1)) + (rest + what is pivotal for k) E_k
//! ```
//!
//! (in E_k, the others' unanimity about k ends with the label k for all v: no dependence). All
//! terms are positive; the recursion is exact.

use std::fmt;

use serde::Serialize;

use crate::rounds::Rounds;
use shield_core::histogram::Histogram;
use shield_core::parameters::{Classes, ParameterError, Queries, Voters};
use shield_core::setting::Setting;

/// The probability, over the draws, that the label depends on the vote of one more teacher, given
/// the votes of all others.
///
/// # Errors
///
/// If there are too few or too many classes.
pub fn dependence(setting: &Setting, others: &Histogram) -> Result<f64, ParameterError> {
    let classes = Classes::new(others.classes())?;
    let voters = others.counts().iter().sum::<u32>() + 1;
    let rounds = Rounds::new(setting, classes, voters);
    let offset = setting.offset.dummies();
    let entries: Vec<f64> = others.counts().iter().map(|&n| f64::from(n + offset)).collect();

    let mut depends = 0.0;
    let mut depends_but_for = vec![1.0; entries.len()];
    // Terms are in increasing degree: from the last round to the first.
    for term in &rounds.terms {
        let phi = |entries: f64| rounds.log_unanimous(term.degree, entries).exp();
        let alone = phi(1.0);
        let decided: Vec<f64> = entries.iter().map(|&e| phi(e)).collect();
        let pivotal: Vec<f64> =
            entries.iter().map(|&e| (rounds.step(term.degree, e + 1.0) - alone).max(0.0)).collect();
        let all_decided: f64 = decided.iter().sum();
        let all_pivotal: f64 = pivotal.iter().sum();
        let rest = (1.0 - alone - all_decided - all_pivotal).max(0.0);
        for _ in 0..term.rounds {
            let but_for: f64 = pivotal.iter().zip(&depends_but_for).map(|(p, e)| p * e).sum();
            depends = alone + but_for + rest * depends;
            for (k, value) in depends_but_for.iter_mut().enumerate() {
                let elsewhere = all_decided - decided[k] + all_pivotal - pivotal[k];
                *value = (alone + elsewhere + (rest + pivotal[k]) * *value).min(1.0);
            }
        }
    }
    Ok(f64::min(depends, 1.0))
}

/// The same for a teacher drawn at random from those who made a histogram.
///
/// # Errors
///
/// If there are too few or too many classes.
pub fn mean_dependence(setting: &Setting, histogram: &Histogram) -> Result<f64, ParameterError> {
    let voters = histogram.voters() as f64;
    let mut mean = 0.0;
    for (class, &votes) in histogram.counts().iter().enumerate().filter(|(_, votes)| **votes > 0) {
        let mut others = histogram.counts().to_vec();
        others[class] -= 1;
        let share = f64::from(votes) / voters;
        mean += share * dependence(setting, &Histogram::new(others)?)?;
    }
    Ok(mean)
}

/// The probability that at least one of `samples` labels depends on a teacher's vote, if each
/// sample is drawn at random from these histograms, and the teacher from those who voted.
///
/// # Errors
///
/// If there are no histograms, or too few or too many classes.
pub fn dependence_over(
    setting: &Setting,
    histograms: &[Histogram],
    samples: Queries,
) -> Result<f64, ParameterError> {
    let mut mean = 0.0;
    for histogram in histograms {
        mean += mean_dependence(setting, histogram)? / histograms.len() as f64;
    }
    Ok(-(samples.count() as f64 * (-mean).ln_1p()).exp_m1())
}

/// What a server that also sees the labels could tell of one teacher, in figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ServerView {
    /// The chance that one label depends on the teacher's vote.
    pub one_label: f64,
    /// The chance that at least one of all labels does.
    pub all_labels: f64,
    /// How many labels.
    pub queries: u64,
}

impl ServerView {
    /// For these votes: samples and teacher drawn at random.
    pub fn of_votes(setting: &Setting, histograms: &[Histogram], queries: Queries) -> Option<Self> {
        let all_labels = dependence_over(setting, histograms, queries).ok()?;
        let one_label = dependence_over(setting, histograms, Queries::new(1).ok()?).ok()?;
        Some(Self { one_label, all_labels, queries: queries.count() })
    }

    /// Before there are votes: the least and the most of some histograms of n - 1 other votes, from
    /// all in agreement to an even split. Nothing is proven about others.
    pub fn of_splits(
        setting: &Setting,
        classes: Classes,
        voters: Voters,
        queries: Queries,
    ) -> Option<[Self; 2]> {
        let others = voters.count() - 1;
        let even = |among: u32| {
            let counts = (0..u32::try_from(classes.count()).ok()?)
                .map(|class| match class {
                    class if class < others % among => others / among + 1,
                    class if class < among => others / among,
                    _ => 0,
                })
                .collect();
            let one_label = dependence(setting, &Histogram::new(counts).ok()?).ok()?;
            let all_labels = -(queries.count() as f64 * (-one_label).ln_1p()).exp_m1();
            Some(Self { one_label, all_labels, queries: queries.count() })
        };
        let most = u32::try_from(classes.count()).ok()?;
        let views: Vec<Self> = (1..=most.min(16)).map(even).collect::<Option<_>>()?;
        let by_label = |a: &&Self, b: &&Self| a.one_label.total_cmp(&b.one_label);
        Some([*views.iter().min_by(by_label)?, *views.iter().max_by(by_label)?])
    }
}

impl fmt::Display for ServerView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a label depends on one teacher's vote with probability {:.2e}, and one of {} labels \
             with {:.2}",
            self.one_label, self.queries, self.all_labels
        )
    }
}

/// The sentence for `analyze`: about these votes.
pub fn sentence(view: Option<ServerView>) -> String {
    view.map_or_else(String::new, |view| {
        format!(
            "A server that sees the labels, too, knows the draws: to it {view}. No epsilon says \
             so: keep the labels from it, or take --mechanism noisy-argmax, whose epsilon holds \
             against it, too.\n"
        )
    })
}

/// The sentence for `bound`: before there are votes.
pub fn sentence_of_splits(views: Option<[ServerView; 2]>) -> String {
    views.map_or_else(String::new, |[least, most]| {
        format!(
            "A server that sees the labels, too, knows the draws: to it one of {} labels depends \
             on one teacher's vote with probability {:.2} if all others agree, up to {:.2} if they \
             are split. No epsilon says so: keep the labels from it, or take --mechanism \
             noisy-argmax, whose epsilon holds against it, too.\n",
            least.queries, least.all_labels, most.all_labels
        )
    })
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use shield_core::draws::{Draws, Urn};
    use shield_core::operator::elect;
    use shield_core::parameters::{Class, Offset, Sampling};

    /// Draws, then tries every vote of the first teacher.
    fn simulated(setting: &Setting, others: &[u32], runs: u32) -> f64 {
        let classes = Classes::new(others.len()).unwrap();
        let mut votes = vec![Class(0)];
        for (class, &count) in classes.all().zip(others) {
            votes.extend(std::iter::repeat_n(class, count as usize));
        }
        let urn = Urn::of_all(u32::try_from(votes.len()).unwrap(), classes, setting.offset);
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        let mut draws = Draws::empty(&setting.polynomial);
        let mut dependent = 0;
        for _ in 0..runs {
            draws.redraw(setting, &urn, &mut rng);
            let mut labels = classes.all().map(|own| {
                elect(&draws, |teacher| if teacher == 0 { own } else { votes[teacher as usize] })
            });
            let first = labels.next();
            dependent += u32::from(labels.any(|label| Some(label) != first));
        }
        f64::from(dependent) / f64::from(runs)
    }

    #[test]
    fn agrees_with_draws() {
        let cases: [(&str, u32, Sampling, &[u32]); 6] = [
            ("X", 1, Sampling::WithReplacement, &[2, 1]),
            ("2X^2+X", 1, Sampling::WithReplacement, &[2, 1]),
            ("2X^2", 1, Sampling::WithReplacement, &[3, 0, 1]),
            ("2X^3+3X^2+X", 2, Sampling::WithReplacement, &[5, 3, 0]),
            ("2X^3+3X^2+X", 1, Sampling::WithoutReplacement, &[5, 3, 0]),
            ("8X^4+6X^3+4X^2+X", 1, Sampling::WithReplacement, &[12, 4, 3, 0]),
        ];
        for (polynomial, offset, sampling, others) in cases {
            let setting = Setting {
                polynomial: polynomial.parse().unwrap(),
                offset: Offset::new(offset).unwrap(),
                sampling,
            };
            let exact = dependence(&setting, &Histogram::new(others.to_vec()).unwrap()).unwrap();
            let runs = 40_000;
            let found = simulated(&setting, others, runs);
            let deviation = (exact * (1.0 - exact) / f64::from(runs)).sqrt();
            assert!((found - exact).abs() < 4.5 * deviation, "{polynomial}: {found} {exact}");
        }
    }

    #[test]
    fn a_view_is_stated_in_figures() {
        let setting = Setting { offset: Offset::PAPER, ..Setting::default() };
        let (classes, voters) = (Classes::new(10).unwrap(), Voters::new(250).unwrap());
        let queries = Queries::new(100).unwrap();
        let [least, most] = ServerView::of_splits(&setting, classes, voters, queries).unwrap();
        assert!(least.all_labels < most.all_labels && most.all_labels < 1.0, "{least:?} {most:?}");
        let mut counts = vec![0; 10];
        counts[0] = 250;
        let agreed = [Histogram::new(counts).unwrap()];
        let view = ServerView::of_votes(&setting, &agreed, queries).unwrap();
        assert!((view.one_label / least.one_label - 1.0).abs() < 1e-9, "{view:?} {least:?}");
        let text = sentence(Some(view));
        assert!(text.contains("100 labels") && sentence(None).is_empty(), "{text}");
    }

    #[test]
    fn one_draw_shows_the_vote_with_one_in_the_urn() {
        let (polynomial, offset) = ("X".parse().unwrap(), Offset::PAPER);
        let setting = Setting { polynomial, offset, ..Setting::default() };
        let found = dependence(&setting, &Histogram::new(vec![4, 3]).unwrap()).unwrap();
        assert!((found - 1.0 / 10.0).abs() < 1e-15, "{found}");
    }
}
