//! Both laws: the shares that teachers draw sum up to the noise that was promised.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::*;

const FAMILIES: [NoiseFamily; 2] = [NoiseFamily::Laplace, NoiseFamily::Skellam];
const RUNS: u32 = 30_000;

fn noise(family: NoiseFamily, scale: f64, teachers: u32, dropouts: u32) -> SharedNoise {
    SharedNoise::of(family, Noise::new(scale).unwrap(), teachers, dropouts).unwrap()
}

/// The p-value of a chi-square test that sums of `voters` shares follow a law.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small whole numbers")]
fn p_value(noise: SharedNoise, voters: u32, law: &NoiseLaw) -> f64 {
    let shares = Shares::new(&noise);
    let mut rng = ChaCha20Rng::seed_from_u64(u64::from(voters));
    let edge = (2.5 * noise.scale().get()).ceil() as i64;
    let mut seen = vec![0.0; 2 * edge as usize + 1];
    for _ in 0..RUNS {
        let sum: i64 = (0..voters).map(|_| shares.share(&mut rng)).sum();
        seen[(sum.clamp(-edge, edge) + edge) as usize] += 1.0;
    }
    let mut expected: Vec<f64> = (-edge..=edge).map(|z| law.probability(z)).collect();
    let rest = (1.0 - expected.iter().sum::<f64>()) / 2.0;
    expected[0] += rest;
    *expected.last_mut().unwrap() += rest;
    let total = f64::from(RUNS);
    let cells = seen.iter().zip(&expected);
    let chi: f64 = cells.map(|(s, p)| (s - total * p).powi(2) / (total * p)).sum();
    ChiSquared::new(seen.len() as f64 - 1.0).unwrap().sf(chi)
}

fn shares_sum_up(family: NoiseFamily) {
    for (scale, teachers, dropouts) in [(4.0, 1, 0), (4.0, 20, 0), (7.0, 60, 20)] {
        // What the law is, the tests of each law say.
        let law = noise(family, scale, 1, 0).law(1);
        let noise = noise(family, scale, teachers, dropouts);
        let p = p_value(noise, noise.shares(), &law);
        assert!(p > 1e-3, "{noise:?}: p = {p}");
    }
}

#[test]
fn shares_sum_up_to_laplace_noise() {
    shares_sum_up(NoiseFamily::Laplace);
}

#[test]
fn shares_sum_up_to_skellam_noise() {
    shares_sum_up(NoiseFamily::Skellam);
}

#[test]
fn a_share_too_few_is_noticed() {
    // The test above can fail: some of the noise missing, or a scale that is off.
    let promised = |family| noise(family, 4.0, 1, 0).law(1);
    for (family, voters, other_scale) in
        [(NoiseFamily::Laplace, 14, 3.4), (NoiseFamily::Skellam, 17, 3.7)]
    {
        let law = promised(family);
        assert!(p_value(noise(family, 4.0, 20, 0), voters, &law) < 1e-6, "{family}");
        assert!(p_value(noise(family, other_scale, 20, 0), 20, &law) < 1e-6, "{family}");
    }
}

#[test]
fn more_voters_than_shares_only_add_noise() {
    for family in FAMILIES {
        let noise = noise(family, 4.0, 30, 15);
        let (law, promised) = (noise.law(30), noise.law(15));
        assert!(p_value(noise, 30, &law) > 1e-3, "{family}");
        // Every interval around 0 holds less of it.
        let (mut more, mut less) = (0.0, 0.0);
        for z in 0..30 {
            let both = if z == 0 { 1.0 } else { 2.0 };
            more += both * law.probability(z);
            less += both * promised.probability(z);
            assert!(more < less, "{family} {z}");
        }
    }
}
