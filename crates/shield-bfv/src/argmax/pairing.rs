//! Which pairs of classes are compared in which slot.
//!
//! A sample has a *run* of P slots, P a power of two. Slot j of a ballot holds the count of class
//! j mod K, so classes repeat where P is larger than K. Rotating by d shows in slot j what slot
//! j + d holds, cyclically; so slot j can compare its class with that of slot j + d for any
//! distance d. With one distance for each slot, one evaluation of the comparison serves P pairs.
//! All K (K-1)/2 pairs are shared out among as few evaluations as a matching finds.

/// A comparison: in one slot of a run, with the class at one distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// The slot.
    pub(crate) slot: usize,
    /// The distance.
    pub(crate) distance: usize,
    /// The class in the slot.
    pub(crate) first: usize,
    /// The class that it is compared with.
    pub(crate) second: usize,
}

/// Every pair of classes once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pairing {
    classes: usize,
    run: usize,
    /// For each evaluation, its comparisons.
    evaluations: Vec<Vec<Comparison>>,
}

impl Pairing {
    /// The pairing of `classes` classes in runs of `run` slots, a power of two that holds them all.
    pub(crate) fn new(classes: usize, run: usize) -> Self {
        Self::sparing(classes, run, usize::MAX)
    }

    /// The same with nothing in the last of every `spared` slots.
    pub(crate) fn sparing(classes: usize, run: usize, spared: usize) -> Self {
        let pairs = classes * (classes - 1) / 2;
        let fewest = pairs.div_ceil(run).max(1);
        // Near distances first: the server reaches distance d with d rotations. At half the classes
        // every pair is in reach where a run holds them twice, at half the run in any case.
        let near = (classes / 2).max(1);
        (fewest..=2 * run)
            .flat_map(|evaluations| [(evaluations, near), (evaluations, (run / 2).max(near))])
            .find_map(|(evaluations, furthest)| {
                Self::matching(classes, run, [evaluations, furthest, spared])
            })
            .unwrap_or(Self { classes, run, evaluations: Vec::new() })
    }

    /// Whether there is nothing in the last of every `spared` slots.
    pub(crate) fn spares(&self, spared: usize) -> bool {
        self.evaluations.iter().flatten().all(|c| c.slot % spared != spared - 1)
    }

    fn matching(
        classes: usize,
        run: usize,
        [evaluations, furthest, spared]: [usize; 3],
    ) -> Option<Self> {
        let class = |slot: usize| slot % run % classes;
        let mut candidates: Vec<Vec<Comparison>> = vec![Vec::new(); classes * classes];
        for distance in 1..=furthest.min(run - 1) {
            for slot in (0..run).filter(|slot| slot % spared != spared - 1) {
                let (first, second) = (class(slot), class(slot + distance));
                if first != second {
                    let pair = first.min(second) * classes + first.max(second);
                    candidates[pair].push(Comparison { slot, distance, first, second });
                }
            }
        }
        let mut slots: Vec<Vec<(usize, Comparison)>> = vec![Vec::new(); run];
        for first in 0..classes {
            for second in first + 1..classes {
                let mut seen = vec![false; run];
                let pair = first * classes + second;
                if !place(pair, &candidates, evaluations, &mut slots, &mut seen) {
                    return None;
                }
            }
        }
        let mut sorted: Vec<Vec<Comparison>> = vec![Vec::new(); evaluations];
        for mut held in slots {
            held.sort_by_key(|(_, comparison)| comparison.distance);
            let mut free = vec![true; evaluations];
            for (_, comparison) in held {
                // Equal distances meet in one evaluation where they can: fewer masks.
                let home = (comparison.distance - 1) % evaluations;
                let next = (0..evaluations).map(|i| (home + i) % evaluations).find(|&i| free[i])?;
                free[next] = false;
                sorted[next].push(comparison);
            }
        }
        Some(Self { classes, run, evaluations: sorted })
    }

    /// Slots a sample.
    pub(crate) fn run(&self) -> usize {
        self.run
    }

    /// The class in each slot of a run.
    pub(crate) fn class(&self, slot: usize) -> usize {
        slot % self.classes
    }

    /// The comparisons of each evaluation.
    pub(crate) fn evaluations(&self) -> &[Vec<Comparison>] {
        &self.evaluations
    }

    /// The distances of an evaluation, increasing.
    pub(crate) fn distances(&self, evaluation: usize) -> Vec<usize> {
        let mut distances: Vec<usize> =
            self.evaluations[evaluation].iter().map(|comparison| comparison.distance).collect();
        distances.sort_unstable();
        distances.dedup();
        distances
    }

    /// The largest distance of all.
    pub(crate) fn furthest(&self) -> usize {
        let all = self.evaluations.iter().flatten();
        all.map(|comparison| comparison.distance).max().unwrap_or(1)
    }
}

/// Finds a slot for a pair, moving others on where it must (augmenting paths).
fn place(
    pair: usize,
    candidates: &[Vec<Comparison>],
    capacity: usize,
    slots: &mut [Vec<(usize, Comparison)>],
    seen: &mut [bool],
) -> bool {
    for &comparison in &candidates[pair] {
        let slot = comparison.slot;
        if std::mem::replace(&mut seen[slot], true) {
            continue;
        }
        if slots[slot].len() < capacity {
            slots[slot].push((pair, comparison));
            return true;
        }
        for i in 0..capacity {
            let (held, _) = slots[slot][i];
            if place(held, candidates, capacity, slots, seen) {
                slots[slot][i] = (pair, comparison);
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_compared_once() {
        for classes in [2_usize, 3, 5, 8, 10, 12, 15, 16, 17, 31, 32, 64] {
            let mut run = classes.next_power_of_two();
            while run <= 512 {
                let pairing = Pairing::new(classes, run);
                let mut seen = vec![0; classes * classes];
                for (i, comparisons) in pairing.evaluations().iter().enumerate() {
                    let mut used = vec![false; run];
                    for c in comparisons {
                        assert_eq!(c.first, pairing.class(c.slot));
                        assert_eq!(c.second, pairing.class((c.slot + c.distance) % run));
                        assert!(!std::mem::replace(&mut used[c.slot], true), "evaluation {i}");
                        seen[c.first.min(c.second) * classes + c.first.max(c.second)] += 1;
                    }
                }
                for a in 0..classes {
                    assert!(
                        (a + 1..classes).all(|b| seen[a * classes + b] == 1),
                        "{classes} {run}"
                    );
                }
                run *= 2;
            }
        }
    }

    #[test]
    fn ten_classes_take_three_evaluations_of_sixteen_slots() {
        assert_eq!(Pairing::new(10, 16).evaluations().len(), 3);
        assert_eq!(Pairing::new(10, 32).evaluations().len(), 2);
        assert_eq!(Pairing::new(10, 64).evaluations().len(), 1);
        assert_eq!(Pairing::new(32, 32).evaluations().len(), 16);
        assert_eq!(Pairing::new(2, 2).evaluations().len(), 1);
    }
}
