//! How many teachers voted for each class of every sample: all that most analyses need of votes.

use super::{ClassNames, Votes, VotesError};
use crate::histogram::Histogram;
use crate::parameters::{Classes, Voters};

/// One histogram per sample, all of the same classes.
///
/// Where votes of 10,000 teachers on 100,000 samples take a gigabyte, their histograms over ten
/// classes take some megabytes. Who voted what is not in them.
#[derive(Clone, PartialEq, Eq)]
pub struct Histograms {
    classes: Classes,
    teachers: usize,
    samples: Vec<Histogram>,
    names: Option<ClassNames>,
}

impl std::fmt::Debug for Histograms {
    /// Shows the shape only, as for votes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histograms")
            .field("samples", &self.samples.len())
            .field("teachers", &self.teachers)
            .field("classes", &self.classes.count())
            .finish_non_exhaustive()
    }
}

impl Histograms {
    /// Histograms of the votes of that many teachers.
    pub fn new(
        classes: Classes,
        teachers: usize,
        samples: Vec<Histogram>,
        names: Option<ClassNames>,
    ) -> Result<Self, VotesError> {
        let most = samples.iter().map(Histogram::voters).max().unwrap_or(0);
        let known = u32::try_from(teachers).ok().and_then(|teachers| Voters::new(teachers).ok());
        if samples.is_empty() || most == 0 || known.is_none() {
            return Err(VotesError::Empty);
        }
        if let Some(stray) = samples.iter().find(|sample| sample.classes() != classes.count()) {
            let found = Classes::new(stray.classes())?;
            return Err(VotesError::FewerClasses { found, given: classes });
        }
        let teachers = teachers.max(usize::try_from(most).unwrap_or(usize::MAX));
        Ok(Self { classes, teachers, samples, names })
    }

    /// How many classes there are.
    pub fn classes(&self) -> Classes {
        self.classes
    }

    /// How many teachers there are: those who voted on the sample with the most votes, at least.
    pub fn teachers(&self) -> usize {
        self.teachers
    }

    /// One histogram per sample.
    pub fn as_slice(&self) -> &[Histogram] {
        &self.samples
    }

    /// The names of the classes, where names were given.
    pub fn class_names(&self) -> Option<&ClassNames> {
        self.names.as_ref()
    }

    /// The same histograms among more classes, which nobody voted for.
    pub fn among(mut self, classes: Classes) -> Result<Self, VotesError> {
        if classes < self.classes {
            return Err(VotesError::FewerClasses { found: self.classes, given: classes });
        }
        if classes > self.classes {
            let wider = |sample: &Histogram| {
                let mut counts = sample.counts().to_vec();
                counts.resize(classes.count(), 0);
                Histogram::new(counts)
            };
            self.samples = self.samples.iter().map(wider).collect::<Result<_, _>>()?;
            self.classes = classes;
            self.names = None;
        }
        Ok(self)
    }

    /// The same histograms among named classes, each of ours being one of them.
    pub fn named(mut self, names: ClassNames) -> Result<Self, VotesError> {
        let given = names.classes();
        let stray = VotesError::FewerClasses { found: self.classes, given };
        if let Some(ours) = self.names.take() {
            let numbers = names.numbers();
            let places: Option<Vec<usize>> = ours
                .as_slice()
                .iter()
                .map(|name| numbers.get(name).map(|&number| number as usize))
                .collect();
            let places = places.ok_or(stray)?;
            for sample in &mut self.samples {
                let mut counts = vec![0; given.count()];
                for (&place, &count) in places.iter().zip(sample.counts()) {
                    counts[place] = count;
                }
                *sample = Histogram::new(counts)?;
            }
            self.classes = given;
        }
        let named = self.among(given)?;
        Ok(Self { names: Some(names), ..named })
    }
}

impl From<&Votes> for Histograms {
    fn from(votes: &Votes) -> Self {
        Self {
            classes: votes.classes(),
            teachers: votes.teachers(),
            samples: votes.histograms().collect(),
            names: votes.class_names().cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_bring_their_counts_along() {
        let sample = Histogram::new(vec![3, 1]).unwrap();
        let names: ClassNames = "cat,dog".parse().unwrap();
        let two = Classes::new(2).unwrap();
        let ours = Histograms::new(two, 4, vec![sample], Some(names)).unwrap();
        let named = ours.clone().named("ant,dog,cat".parse().unwrap()).unwrap();
        assert_eq!(named.as_slice()[0].counts(), [0, 1, 3]);
        assert!(ours.clone().named("ant,dog".parse().unwrap()).is_err());
        let wider = ours.among(Classes::new(4).unwrap()).unwrap();
        assert_eq!(wider.as_slice()[0].counts(), [3, 1, 0, 0]);
    }

    #[test]
    fn somebody_voted_and_all_samples_have_the_same_classes() {
        let two = Classes::new(2).unwrap();
        let sample = |counts: &[u32]| Histogram::new(counts.to_vec()).unwrap();
        assert!(Histograms::new(two, 3, vec![], None).is_err());
        assert!(Histograms::new(two, 3, vec![sample(&[0, 0])], None).is_err());
        assert!(Histograms::new(two, 3, vec![sample(&[1, 0, 2])], None).is_err());
        assert_eq!(Histograms::new(two, 3, vec![sample(&[4, 1])], None).unwrap().teachers(), 5);
    }
}
