//! Does the paper's exponential operator pay? SHIELD and the operator at the same proven cost, with
//! the same number of rounds, each with the best schedule that a climb finds.
//!
//! ```console
//! $ cargo run --release -p shield-privacy --example exponential_operator -- \
//!     examples/mnist/paper-votes.npy.gz examples/mnist/digits.npy.gz 64 1 8,12,16
//! ```
//!
//! Votes of ten classes, true labels, the number of rounds, epsilon, and the offsets to try. The
//! climbs look at every fortieth sample; what they find is measured on all.

use std::env;
use std::error::Error;
use std::path::Path;

use shield_core::Watch;
use shield_core::{Classes, Epsilon, Histogram, Labels, Offset, Sampling};
use shield_privacy::Mechanism;
use shield_privacy::Usage;
use shield_privacy::mechanism::best;
use shield_privacy::tune::climb::{Climb, Composition};

/// Every so many samples: enough to climb by.
const STEP: usize = 40;

/// Rates of the operator that a climb chooses from: an entry of the urn is drawn so many times per
/// round, in the mean.
const RATES: [f64; 12] =
    [0.004, 0.006, 0.008, 0.01, 0.013, 0.016, 0.02, 0.025, 0.03, 0.04, 0.05, 0.07];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [votes, labels, rounds, epsilon, offsets] = arguments.as_slice() else {
        return Err("give votes, labels, rounds, epsilon and offsets".into());
    };
    let votes = shield_data::read_votes(Path::new(votes), Some(Classes::new(10)?))?;
    let labels = shield_data::read_labels(Path::new(labels))?;
    let histograms: Vec<Histogram> = votes.histograms().collect();
    let some: Vec<Histogram> = histograms.iter().step_by(STEP).cloned().collect();
    let truth = Labels::new(labels.as_slice().iter().step_by(STEP).copied().collect())?;
    for dummies in offsets.split(',') {
        let climb = Climb {
            max_degree: 10,
            max_terms: rounds.parse()?,
            offset: Offset::new(dummies.parse()?)?,
            sampling: Sampling::default(),
            usage: Usage::default(),
            budget: Epsilon::new(epsilon.parse()?)?,
            composition: Composition::Moments,
        };
        let watch = &Watch::default();
        let shield = climb.run(&some, Some(&truth), watch)?;
        let shield = shield.map(|summit| (Mechanism::Shield(summit.setting), summit.epsilon));
        let operator = climb.run_operator(&RATES, &some, Some(&truth), watch)?;
        let operator = operator
            .map(|summit| (Mechanism::ExponentialOperator(summit.operator), summit.epsilon));
        for (mechanism, epsilon) in shield.into_iter().chain(operator) {
            let (right, answered) =
                best::right_and_answered(&mechanism, &histograms, Some(&labels));
            println!(
                "offset {dummies}, epsilon {epsilon:.3}, right labels {:.2}%, answered {:.2}%: {}",
                100.0 * right,
                100.0 * answered,
                mechanism.setting()
            );
        }
    }
    Ok(())
}
