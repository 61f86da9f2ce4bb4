//! One run of SPEED: who may vote, on how many samples, and with which mechanism.

use serde::Serialize;

use crate::parameters::{Classes, ParameterError};
use crate::setting::Setting;

/// Everything that all parties must agree on before anyone votes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Election {
    teachers: u32,
    classes: Classes,
    samples: usize,
    setting: Setting,
    /// What else the parties agreed on, as a digest; zeros for nothing.
    #[serde(skip)]
    agreement: [u8; 32],
}

impl Election {
    /// The most teachers accepted.
    pub const MAX_TEACHERS: usize = 1_000_000;
    /// The most samples accepted.
    pub const MAX_SAMPLES: usize = 100_000_000;

    /// An election of at least one teacher and one sample.
    pub fn new(
        teachers: usize,
        classes: Classes,
        samples: usize,
        setting: Setting,
    ) -> Result<Self, ParameterError> {
        let count = match u32::try_from(teachers) {
            Ok(count @ 1..) if teachers <= Self::MAX_TEACHERS => count,
            _ => {
                let allowed = "it must be from 1 to 1,000,000";
                return Err(ParameterError::new("the number of teachers", teachers, allowed));
            }
        };
        if samples == 0 || samples > Self::MAX_SAMPLES {
            let allowed = "it must be from 1 to 100,000,000";
            return Err(ParameterError::new("the number of samples", samples, allowed));
        }
        let dummies = u64::from(setting.offset.dummies()) * classes.count() as u64;
        if dummies + u64::from(count) > u64::from(u32::MAX) {
            let allowed = "with so many classes the urn would hold more than 4 billion votes; \
                           use a smaller offset";
            return Err(ParameterError::new("the offset", setting.offset, allowed));
        }
        Ok(Self { teachers: count, classes, samples, setting, agreement: [0; 32] })
    }

    /// The same election, bound to whatever else the parties agreed on (its name, who the teachers
    /// are), given as a digest: keys, ballots and releases of another agreement are then refused.
    #[must_use]
    pub fn bound_to(self, agreement: [u8; 32]) -> Self {
        Self { agreement, ..self }
    }

    /// How many teachers may vote. They are numbered from 0.
    pub fn teachers(&self) -> u32 {
        self.teachers
    }

    /// How many classes there are.
    pub fn classes(&self) -> Classes {
        self.classes
    }

    /// How many samples are to be labelled.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// The operator's setting.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// Whether every sample of an honest run has a label: a round of degree 1 draws one entry, and
    /// is always unanimous, as long as there is an entry.
    pub fn always_labels(&self) -> bool {
        self.setting.offset.dummies() > 0 && !self.setting.polynomial.can_fail()
    }

    /// A short name for exactly this election: the same for all parties, another for any other one.
    ///
    /// Every field is written with a fixed width or a length, so that no two elections are written
    /// alike.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("shield 2026 election fingerprint v1");
        hasher.update(&self.teachers.to_le_bytes());
        hasher.update(&(self.classes.count() as u64).to_le_bytes());
        hasher.update(&(self.samples as u64).to_le_bytes());
        hasher.update(&self.setting.offset.dummies().to_le_bytes());
        for text in [self.setting.polynomial.to_string(), self.setting.sampling.to_string()] {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.update(&self.agreement);
        *hasher.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Offset;

    #[test]
    fn every_field_changes_the_fingerprint() {
        let classes = |count| Classes::new(count).unwrap();
        let base = Setting::default();
        let offset = Setting { offset: Offset::new(2).unwrap(), ..base.clone() };
        let polynomial = Setting { polynomial: "X".parse().unwrap(), ..base.clone() };
        let sampling = Setting { sampling: "without-replacement".parse().unwrap(), ..base.clone() };
        let elections = [
            Election::new(5, classes(3), 7, base.clone()),
            Election::new(5, classes(3), 7, base.clone()).map(|e| e.bound_to([1; 32])),
            Election::new(6, classes(3), 7, base.clone()),
            Election::new(5, classes(4), 7, base.clone()),
            Election::new(5, classes(3), 8, base),
            Election::new(5, classes(3), 7, offset),
            Election::new(5, classes(3), 7, polynomial),
            Election::new(5, classes(3), 7, sampling),
        ];
        let prints: std::collections::HashSet<_> =
            elections.iter().map(|election| election.as_ref().unwrap().fingerprint()).collect();
        assert_eq!(prints.len(), elections.len());
    }

    #[test]
    fn refuses_nobody_and_nothing() {
        let classes = Classes::new(2).unwrap();
        assert!(Election::new(0, classes, 1, Setting::default()).is_err());
        assert!(Election::new(1, classes, 0, Setting::default()).is_err());
        assert!(Election::new(1_000_001, classes, 1, Setting::default()).is_err());
    }
}
