//! The law of a sum of shares, as a table.

/// The law of noise, which is the same on both sides of its middle: 0, or minus a half.
#[derive(Clone, Debug)]
pub struct NoiseLaw {
    /// P(z) for z = 0, 1, ...; P(-z - lean) is the same.
    probabilities: Vec<f64>,
    /// Entry z: P(Z >= z).
    tails: Vec<f64>,
    /// 0 where the middle is 0, 1 where it is minus a half.
    lean: i64,
}

impl NoiseLaw {
    /// The law on -reach..=reach with P(k - 1) = step(k, P(k), P(k + 1)), computed downwards.
    pub(super) fn downwards(reach: usize, step: impl Fn(f64, f64, f64) -> f64) -> Self {
        let mut probabilities = vec![0.0; reach + 1];
        let (mut above, mut here) = (0.0, 1e-280);
        probabilities[reach] = here;
        for k in (1..=reach).rev() {
            let below = step(k as f64, here, above);
            (above, here) = (here, below);
            probabilities[k - 1] = here;
            if here > 1e200 {
                for p in &mut probabilities[k - 1..] {
                    *p *= 1e-300;
                }
                (above, here) = (above * 1e-300, here * 1e-300);
            }
        }
        let total = probabilities[0] + 2.0 * probabilities[1..].iter().sum::<f64>();
        for p in &mut probabilities {
            *p /= total;
        }
        Self::of_half(probabilities, 0)
    }

    /// The law of a sum with these probabilities of 0, 1, ..., which are the same read backwards,
    /// less its mean, rounded up.
    pub(super) fn around_the_mean(masses: &[f64]) -> Self {
        let most = masses.len() - 1;
        if most.is_multiple_of(2) {
            Self::of_half(masses[most / 2..].to_vec(), 0)
        } else {
            Self::of_half(masses[most.div_ceil(2)..].to_vec(), 1)
        }
    }

    fn of_half(probabilities: Vec<f64>, lean: i64) -> Self {
        let mut tails = probabilities.clone();
        for z in (0..tails.len() - 1).rev() {
            tails[z] += tails[z + 1];
        }
        Self { probabilities, tails, lean }
    }

    /// The largest noise that is worth a number, on either side.
    pub fn reach(&self) -> i64 {
        i64::try_from(self.probabilities.len() - 1).expect("tables are short") + self.lean
    }

    /// P(Z = z).
    pub fn probability(&self, z: i64) -> f64 {
        let z = if z < 0 { -z - self.lean } else { z };
        let z = usize::try_from(z).unwrap_or(usize::MAX);
        self.probabilities.get(z).copied().unwrap_or(0.0)
    }

    /// P(Z >= z).
    pub fn at_least(&self, z: i64) -> f64 {
        let tail = |z: i64| {
            let z = usize::try_from(z).unwrap_or(usize::MAX);
            self.tails.get(z).copied().unwrap_or(0.0)
        };
        if z > 0 { tail(z) } else { 1.0 - tail(1 - z - self.lean) }
    }

    /// The smallest number that |Z| passes with at most some probability.
    pub fn bound(&self, probability: f64) -> i64 {
        let far = self.tails.iter().position(|tail| 2.0 * tail <= probability);
        i64::try_from(far.unwrap_or(self.tails.len())).expect("tables are short") + self.lean
    }
}
