//! How good the output is before anyone trains on it: the paper's a-priori accuracies.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::distribution::OutputDistribution;
use crate::histogram::Histogram;
use crate::setting::Setting;
use crate::votes::{Label, Labels};

/// Accuracy over all samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// Ground-truth accuracy, the paper's GTA: sum over classes of (share of votes) times
    /// (probability of the output), averaged over samples.
    pub ground_truth: f64,
    /// The probability of the true argmax, averaged over samples. Where m classes tie for it, each
    /// counts for 1/m.
    pub argmax: f64,
    /// The expected number of labels that equal the given ones.
    pub correct_labels: Option<f64>,
    /// The probability of "no label", averaged over samples.
    pub failure: f64,
}

/// What one sample adds to the accuracy.
#[derive(Clone, Copy, Debug, Default)]
struct SampleAccuracy {
    ground_truth: f64,
    argmax: f64,
    correct: f64,
    failure: f64,
}

impl SampleAccuracy {
    fn of(law: &OutputDistribution, histogram: &Histogram, truth: Label) -> Self {
        let voters = histogram.voters().max(1) as f64;
        let weighted = law.probabilities().zip(histogram.counts()).map(|(p, &n)| p * f64::from(n));
        let leaders: Vec<f64> = histogram.leaders().map(|leader| law.probability(leader)).collect();
        Self {
            ground_truth: weighted.sum::<f64>() / voters,
            argmax: leaders.iter().sum::<f64>() / leaders.len() as f64,
            correct: truth.map_or(0.0, |class| law.probability(class)),
            failure: law.failure(),
        }
    }

    fn add(self, other: Self) -> Self {
        Self {
            ground_truth: self.ground_truth + other.ground_truth,
            argmax: self.argmax + other.argmax,
            correct: self.correct + other.correct,
            failure: self.failure + other.failure,
        }
    }
}

impl Accuracy {
    /// The accuracy of any mechanism whose output law is known, over some samples (at least one).
    ///
    /// `labels`, where given, are as many as the histograms.
    pub fn over(
        histograms: &[Histogram],
        labels: Option<&Labels>,
        law: impl Fn(&Histogram) -> OutputDistribution + Sync,
    ) -> Self {
        // Collected before it is summed, so that the figure does not depend on the threads.
        let parts: Vec<SampleAccuracy> = histograms
            .par_iter()
            .enumerate()
            .map(|(sample, histogram)| {
                let truth = labels.and_then(|labels| labels.as_slice()[sample]);
                SampleAccuracy::of(&law(histogram), histogram, truth)
            })
            .collect();
        let sum = parts.into_iter().fold(SampleAccuracy::default(), SampleAccuracy::add);
        let samples = histograms.len().max(1) as f64;
        Self {
            ground_truth: sum.ground_truth / samples,
            argmax: sum.argmax / samples,
            correct_labels: labels.map(|_| sum.correct),
            failure: sum.failure / samples,
        }
    }

    /// The share of right labels among those samples that get one, of so many; nothing where the
    /// truth is not known or nothing is answered.
    pub fn precision(&self, samples: usize) -> Option<f64> {
        let answered = (1.0 - self.failure) * samples as f64;
        self.correct_labels.filter(|_| answered > 0.0).map(|correct| correct / answered)
    }

    /// The accuracy of SHIELD.
    pub fn of(setting: &Setting, histograms: &[Histogram], labels: Option<&Labels>) -> Self {
        Self::over(histograms, labels, |histogram| OutputDistribution::of(setting, histogram))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::{Class, Offset};

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
    }

    #[test]
    fn by_hand() {
        // X with offset 0 returns class k with probability n_k / n.
        let setting = Setting {
            polynomial: "X".parse().unwrap(),
            offset: Offset::new(0).unwrap(),
            ..Setting::default()
        };
        let histograms =
            [Histogram::new(vec![3, 1, 0]).unwrap(), Histogram::new(vec![2, 2, 0]).unwrap()];
        let labels = Labels::new(vec![Some(Class(1)), None]).unwrap();
        let accuracy = Accuracy::of(&setting, &histograms, Some(&labels));
        close(accuracy.ground_truth, f64::midpoint(0.75 * 0.75 + 0.25 * 0.25, 0.5));
        close(accuracy.argmax, f64::midpoint(0.75, 0.5));
        close(accuracy.correct_labels.unwrap(), 0.25);
        close(accuracy.failure, 0.0);
    }

    #[test]
    fn failures_are_counted() {
        let setting = Setting {
            polynomial: "X^2".parse().unwrap(),
            offset: Offset::new(0).unwrap(),
            ..Setting::default()
        };
        let accuracy = Accuracy::of(&setting, &[Histogram::new(vec![1, 1]).unwrap()], None);
        close(accuracy.failure, 0.5);
        close(accuracy.argmax, 0.25);
        assert_eq!(accuracy.correct_labels, None);
    }
}
