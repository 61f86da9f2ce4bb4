//! Labels spread over the graph: Zhou and others, "Learning with local and global consistency"
//! (2003), with the class masses set right afterwards (Zhu and others, 2003), and with labels that
//! the others contradict left out.
//!
//! Spreading is linear. So what *one* labelled image says of all others, its [`Influence`], depends
//! on the graph alone and is computed once; beliefs from any labels are sums of it. That also tells
//! what all *other* labels say of a labelled image: private labels are wrong now and then, and a
//! label that they find less likely than a random guess is left out.

use rayon::prelude::*;
use shield_core::{Class, Classes, Label};

use crate::neighbours::Neighbours;
use crate::training::Targets;

/// The settings of the spreading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Propagation {
    /// How much of what an image is taken for comes from its neighbours, at each step.
    pub(crate) trust: f32,
    /// How many steps.
    pub(crate) steps: usize,
}

impl Default for Propagation {
    fn default() -> Self {
        Self { trust: 0.99, steps: 300 }
    }
}

/// Beyond so many labels their influences would take gigabytes; they are then spread class by
/// class, and none is left out. So many labels outvote the wrong ones among them anyway.
const MOST_SOURCES: usize = 1000;

/// What each of some images says of every image.
#[derive(Clone, Debug)]
pub(crate) struct Influence {
    sources: Vec<usize>,
    /// Image by image, source by source.
    rows: Vec<f32>,
}

impl Propagation {
    /// What some images say of all.
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn influence(&self, graph: &Neighbours, sources: &[usize]) -> Influence {
        let width = sources.len();
        assert!(width > 0, "somebody has to say something");
        let mut given = vec![0.0f32; graph.len() * width];
        for (source, &image) in sources.iter().enumerate() {
            given[image * width + source] = 1.0;
        }
        Influence { sources: sources.to_vec(), rows: self.steps(graph, &given, width) }
    }

    /// What each image is taken for, given the labels of some.
    ///
    /// # Panics
    /// If the labels are not as many as the images, or none of them is there.
    pub(crate) fn spread(&self, graph: &Neighbours, labels: &[Label], classes: Classes) -> Targets {
        assert_eq!(graph.len(), labels.len(), "one label an image");
        let sources: Vec<usize> = (0..labels.len()).filter(|&i| labels[i].is_some()).collect();
        if sources.len() <= MOST_SOURCES {
            return self.influence(graph, &sources).spread(labels, classes);
        }
        let k = classes.count();
        let mut given = vec![0.0f32; labels.len() * k];
        for (image, label) in labels.iter().enumerate() {
            if let Some(class) = label {
                given[image * k + class.index()] = 1.0;
            }
        }
        Targets::new(k, sharpened(self.steps(graph, &given, k), k))
    }

    fn steps(&self, graph: &Neighbours, given: &[f32], width: usize) -> Vec<f32> {
        let mut belief = given.to_vec();
        let mut next = vec![0.0f32; belief.len()];
        for _ in 0..self.steps {
            next.par_chunks_exact_mut(width).with_min_len(256).enumerate().for_each(
                |(image, row)| {
                    row.fill(0.0);
                    for &(other, weight) in graph.row(image) {
                        let part = &belief[other * width..(other + 1) * width];
                        for (sum, part) in row.iter_mut().zip(part) {
                            *sum += weight * part;
                        }
                    }
                    let given = &given[image * width..(image + 1) * width];
                    for (sum, given) in row.iter_mut().zip(given) {
                        *sum = self.trust * *sum + (1.0 - self.trust) * given;
                    }
                },
            );
            std::mem::swap(&mut belief, &mut next);
        }
        belief
    }
}

impl Influence {
    /// What each image is taken for, given labels of the sources. Labels of other images count for
    /// nothing.
    pub(crate) fn spread(&self, labels: &[Label], classes: Classes) -> Targets {
        let k = classes.count();
        let mut known: Vec<Label> = self.sources.iter().map(|&image| labels[image]).collect();
        let contradicted = self.contradicted(&known, k);
        for source in contradicted {
            known[source] = None;
        }
        Targets::new(k, sharpened(self.beliefs(&known, k), k))
    }

    /// The sources whose labels are less likely than a random guess by what all others say.
    fn contradicted(&self, known: &[Label], k: usize) -> Vec<usize> {
        let width = self.sources.len();
        let mut masses = vec![1e-12f32; k];
        for row in self.rows.chunks_exact(width) {
            for (part, class) in row.iter().zip(known).filter_map(with_class) {
                masses[class.index()] += part;
            }
        }
        let doubted = |source: &usize| {
            let Some(own) = known[*source] else { return false };
            let image = self.sources[*source];
            let row = &self.rows[image * width..(image + 1) * width];
            let mut belief = vec![0.0f32; k];
            let others = row.iter().zip(known).enumerate().filter(|(other, _)| other != source);
            for (part, class) in others.filter_map(|(_, pair)| with_class(pair)) {
                belief[class.index()] += part / masses[class.index()];
            }
            let sum: f32 = belief.iter().sum();
            sum > 0.0 && belief[own.index()] * (k as f32) < sum
        };
        let doubted: Vec<usize> = (0..width).filter(doubted).collect();
        // A student who would have to doubt all it was told believes it all.
        let labelled = known.iter().flatten().count();
        if doubted.len() < labelled { doubted } else { Vec::new() }
    }

    fn beliefs(&self, known: &[Label], k: usize) -> Vec<f32> {
        let mut belief = Vec::with_capacity(self.rows.len() / known.len().max(1) * k);
        for row in self.rows.chunks_exact(known.len()) {
            let start = belief.len();
            belief.resize(start + k, 0.0);
            for (part, class) in row.iter().zip(known).filter_map(with_class) {
                belief[start + class.index()] += part;
            }
        }
        belief
    }
}

fn with_class((part, label): (&f32, &Label)) -> Option<(f32, Class)> {
    label.map(|class| (*part, class))
}

/// Gives every class the same mass, then squares and normalises each row.
///
/// Equal masses are an assumption about the images, not something the labels say: digits are about
/// equally frequent, and so are these. Where classes are not equally frequent, expect less.
fn sharpened(mut belief: Vec<f32>, k: usize) -> Vec<f32> {
    let mut mass = vec![1e-12f32; k];
    for row in belief.chunks_exact(k) {
        for (mass, part) in mass.iter_mut().zip(row) {
            *mass += part;
        }
    }
    for row in belief.chunks_exact_mut(k) {
        for (part, mass) in row.iter_mut().zip(&mass) {
            *part /= mass;
        }
        // First to a sum of 1, so that squares of tiny beliefs do not vanish.
        normalise(row);
        for part in row.iter_mut() {
            *part *= *part;
        }
        normalise(row);
    }
    belief
}

/// To a sum of 1; a row that nothing reached becomes uniform.
fn normalise(row: &mut [f32]) {
    let sum: f32 = row.iter().sum();
    let uniform = 1.0 / row.len() as f32;
    for part in row {
        *part = if sum > 0.0 { *part / sum } else { uniform };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::drawn_digits;
    use crate::neighbours::Points;

    /// Beliefs about 400 drawn digits from labels of the first, some of them wrong: how many are
    /// right.
    fn right(labelled: usize, wrong: impl Fn(usize) -> bool) -> usize {
        let digits = drawn_digits(400, 5);
        let graph = Neighbours::of(&Points::from(&digits.images));
        let labels: Vec<Label> = digits
            .classes
            .iter()
            .enumerate()
            .map(|(image, &class)| {
                let class = u16::from(class);
                let class = if wrong(image) { (class + 3) % 10 } else { class };
                (image < labelled).then_some(Class(class))
            })
            .collect();
        let targets = Propagation::default().spread(&graph, &labels, Classes::new(10).unwrap());
        (0..400)
            .filter(|&image| {
                let row = targets.row(image);
                let best = (0..10).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
                assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-3);
                best == usize::from(digits.classes[image])
            })
            .count()
    }

    #[test]
    fn a_few_labels_reach_everybody() {
        let found = right(40, |_| false);
        assert!(found > 340, "{found} of 400");
    }

    #[test]
    fn wrong_labels_are_left_out() {
        let (clean, noisy) = (right(60, |_| false), right(60, |image| image % 6 == 0));
        assert!(
            noisy + 8 >= clean && noisy > 360,
            "{noisy} of 400, {clean} with right labels only"
        );
    }

    #[test]
    fn sums_of_influences_are_what_spreading_gives() {
        let digits = drawn_digits(60, 8);
        let graph = Neighbours::of(&Points::from(&digits.images));
        let sources = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
        let influence = Propagation::default().influence(&graph, &sources);
        let known: Vec<Label> =
            sources.iter().map(|&i| Some(Class(u16::from(digits.classes[i])))).collect();
        let sums = influence.beliefs(&known, 10);
        let mut given = vec![0.0; 600];
        for &image in &sources {
            given[image * 10 + usize::from(digits.classes[image])] = 1.0;
        }
        let whole = Propagation::default().steps(&graph, &given, 10);
        for (sum, whole) in sums.iter().zip(whole) {
            assert!((sum - whole).abs() < 1e-6, "{sum} {whole}");
        }
    }
}
