//! The exact argmax: costs nothing where no single vote can change it, and everything where one can
//! (the paper's appendix).
//!
//! Ties go to the lowest class. The paper speaks of a lead of two votes; a vote that moves from the
//! leader to the runner-up takes two from the lead, so with a lead of exactly two the tie-break
//! decides, and with less the winner changes.

use shield_core::distribution::OutputDistribution;
use shield_core::histogram::Histogram;
use shield_core::parameters::Epsilon;

use super::price::FromVotes;

/// The data-dependent cost over all samples: zero, or infinite if any winner hangs on one vote.
pub fn data_dependent(histograms: &[Histogram]) -> FromVotes {
    let settled = histograms.iter().all(is_settled);
    FromVotes::new(if settled { Epsilon::ZERO } else { Epsilon::INFINITE })
}

/// The output law: the leader, always; the lowest class where several lead.
pub fn law(histogram: &Histogram) -> OutputDistribution {
    let leader = histogram.leaders().next().map(shield_core::parameters::Class::index);
    let certain = |class: usize| if Some(class) == leader { 1.0 } else { 0.0 };
    OutputDistribution::from_probabilities((0..histogram.classes()).map(certain))
}

/// Whether the winner stays whichever single vote changes.
fn is_settled(histogram: &Histogram) -> bool {
    let counts = histogram.counts();
    let Some(leader) = histogram.leaders().next().map(shield_core::parameters::Class::index) else {
        return true;
    };
    if counts[leader] == 0 {
        // Nobody voted, so nobody's vote can change.
        return true;
    }
    // The strongest attack on the winner moves one of its own votes to the rival.
    counts.iter().enumerate().all(|(rival, &votes)| {
        let (stays, comes) = (counts[leader] - 1, votes + 1);
        rival == leader || stays > comes || (stays == comes && leader < rival)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let of = |histograms: &[Histogram]| Epsilon::new(data_dependent(histograms).get()).unwrap();
        let cost = |counts: &[u32]| of(&[Histogram::new(counts.to_vec()).unwrap()]);
        assert_eq!(cost(&[9, 1, 0]), Epsilon::ZERO);
        assert_eq!(cost(&[1, 9, 0]), Epsilon::ZERO);
        assert_eq!(cost(&[5, 2, 2]), Epsilon::ZERO);
        // A lead of two: the tie-break decides.
        assert_eq!(cost(&[5, 3, 0]), Epsilon::ZERO);
        assert_eq!(cost(&[3, 5, 0]), Epsilon::INFINITE);
        assert_eq!(cost(&[5, 4, 0]), Epsilon::INFINITE);
        assert_eq!(cost(&[4, 4, 0]), Epsilon::INFINITE);
        assert_eq!(cost(&[0, 0]), Epsilon::ZERO);
        assert_eq!(cost(&[1, 0]), Epsilon::INFINITE);
        let both = ["90", "54"].map(|digits| {
            Histogram::new(digits.chars().map(|d| d.to_digit(10).unwrap()).collect()).unwrap()
        });
        assert_eq!(of(&both), Epsilon::INFINITE);
    }
}
