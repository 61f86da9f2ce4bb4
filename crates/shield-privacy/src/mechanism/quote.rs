//! The price of some votes as every report states it: the figure that counts, what it holds for,
//! and which samples make it large.

use serde::Serialize;

use super::{Mechanism, Proof, classes_of};
use crate::Usage;
use crate::attendance::Attendance;
use crate::price::Proven;
use shield_core::Watch;
use shield_core::histogram::Histogram;

/// The proven price of some samples, in numbers and words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quote {
    /// The price: the smaller of what moments and tight composition prove.
    pub epsilon: Proven,
    /// By moments alone, which ledgers add up.
    pub by_moments: Proven,
    /// Samples x voters, such as 391x30,8x29; as `bound --voters` takes it.
    pub turnout: String,
    /// What the price holds for, in words.
    pub holds_for: String,
    /// Samples with so few voters that they make the price of all much larger.
    pub thin: Option<Thin>,
}

/// Samples with few voters, and what they add to a price.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Thin {
    /// The samples, counted from 1.
    pub rows: Vec<usize>,
    /// The most voters that one of them has.
    pub voters: u32,
    /// What they cost alone.
    pub alone: Proven,
    /// What the others cost without them.
    pub without: Proven,
}

/// Samples are thin that have fewer voters than this share of the most.
const FEW: f64 = 0.5;

/// They are named where they make a price larger by this part of it.
const MUCH: f64 = 0.05;

impl Quote {
    /// The price of some votes of so many teachers.
    pub fn new(
        mechanism: &Mechanism,
        histograms: &[Histogram],
        teachers: usize,
        usage: Usage,
        watch: &Watch,
    ) -> Self {
        let proof = mechanism.price_of(histograms, usage, &watch.part(0, 70));
        Self::of(mechanism, proof, histograms, teachers, usage, &watch.part(70, 100))
    }

    /// The same where the price is known.
    pub(crate) fn of(
        mechanism: &Mechanism,
        proof: Proof,
        histograms: &[Histogram],
        teachers: usize,
        usage: Usage,
        watch: &Watch,
    ) -> Self {
        let attendance = Attendance::of(histograms, usage.queries);
        let epsilon = proof.price();
        let depends = mechanism.depends_on_turnout();
        let holds_for = if depends {
            attendance.holds_for(teachers)
        } else {
            "all votes there could be".to_owned()
        };
        let thin = depends.then(|| thin(mechanism, histograms, &attendance, epsilon, usage, watch));
        Self {
            epsilon,
            by_moments: proof.moments,
            turnout: attendance.to_string(),
            holds_for,
            thin: thin.flatten(),
        }
    }

    /// The first sentence of a report: the figure, for how many labels and at which delta, and what
    /// it holds for.
    pub fn sentence(&self, usage: Usage) -> String {
        let Usage { queries, delta } = usage;
        let delta = delta.get();
        if !self.epsilon.get().is_finite() {
            return format!("These {queries} labels have no proven privacy: epsilon is infinite.");
        }
        format!(
            "Epsilon {:.3} for {queries} labels at delta {delta:e}, proven for {}.",
            self.epsilon, self.holds_for
        )
    }
}

impl Thin {
    /// Names the samples, and says what they cost.
    pub fn sentence(&self) -> String {
        const NAMED: usize = 6;
        let names: Vec<String> = self.rows.iter().take(NAMED).map(ToString::to_string).collect();
        let more = match self.rows.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names = names.join(", ");
        let (what, it, votes) = match (self.rows.len(), self.voters) {
            (1, 1) => (format!("row {names} has one vote"), "it", ""),
            (1, _) => (format!("row {names} has {} votes", self.voters), "it", ""),
            (_, most) => (format!("rows {names}{more} have at most {most}"), "them", " votes each"),
        };
        format!(
            "{what}{votes} and alone would cost epsilon {:.2}: leave {it} out, and the others cost \
             {:.2}",
            self.alone, self.without
        )
    }
}

/// The samples with few voters, if they cost much.
fn thin(
    mechanism: &Mechanism,
    histograms: &[Histogram],
    attendance: &Attendance,
    epsilon: Proven,
    usage: Usage,
    watch: &Watch,
) -> Option<Thin> {
    let most = f64::from(attendance.most());
    let few = |voters: u32| voters > 0 && f64::from(voters) < FEW * most;
    let (thin, others) = attendance.parted(few)?;
    let (classes, delta) = (classes_of(histograms), usage.delta);
    // Moments tell at once whether it is worth a proof.
    let by_moments = |some: &Attendance| mechanism.by_moments_of(classes, some, delta).get();
    if by_moments(&others) > (1.0 - MUCH) * by_moments(attendance) {
        return None;
    }
    let price = |some: &Attendance| mechanism.price(classes, some, delta, watch).price();
    let without = price(&others);
    let voters = |one: &Histogram| u32::try_from(one.voters()).unwrap_or(u32::MAX);
    let rows = histograms.iter().enumerate().filter(|(_, one)| few(voters(one)));
    (without.get() <= (1.0 - MUCH) * epsilon.get()).then(|| Thin {
        rows: rows.map(|(row, _)| row + 1).collect(),
        voters: thin.most(),
        alone: price(&thin),
        without,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use shield_core::parameters::Queries;
    use shield_core::setting::Setting;

    fn quote(counts: &[[u32; 2]], mechanism: &Mechanism) -> Quote {
        let histograms: Vec<Histogram> =
            counts.iter().map(|counts| Histogram::new(counts.to_vec()).unwrap()).collect();
        let queries = Queries::new(counts.len() as u64).unwrap();
        let usage = Usage { queries, ..Usage::default() };
        Quote::new(mechanism, &histograms, 12, usage, &Watch::default())
    }

    #[test]
    fn a_row_with_one_vote_is_named_and_costs_what_is_said() {
        let shield = Mechanism::Shield(Setting::default());
        let whole = vec![[8, 4]; 9];
        let with = [&whole[..4], &[[0, 1]], &whole[4..]].concat();
        let (without, with) = (quote(&whole, &shield), quote(&with, &shield));
        assert_eq!((without.turnout.as_str(), &without.thin), ("9x12", &None));
        assert_eq!(without.holds_for, "all votes of 12 teachers on every sample");
        let thin = with.thin.clone().unwrap();
        assert_eq!((thin.rows.as_slice(), thin.voters), (&[5][..], 1));
        assert_eq!(thin.without, without.epsilon);
        assert!(with.epsilon > without.epsilon && thin.alone < with.epsilon);
        assert!(thin.sentence().starts_with("row 5 has one vote and alone would cost epsilon "));
        assert_eq!(with.turnout, "9x12,1x1");
        // Noise costs the same whoever votes.
        let noise = crate::noisy_argmax::Noise::new(30.0).unwrap();
        let noisy = quote(&[[8, 4], [0, 1]], &Mechanism::Lnmax(noise));
        assert_eq!((noisy.thin, noisy.holds_for.as_str()), (None, "all votes there could be"));
    }
}
