//! How the student's settings were chosen: on MNIST's *training* images, never on the test images
//! that results are reported for.
//!
//! ```console
//! $ cargo run --release -p shield-learn --example choose_student -- \
//! >     package/data 0.13 strong:16:5:4e-3 plain:16:5:4e-3
//! ```
//!
//! Each trial draws 10,000 training images, 8,000 for the student and 2,000 to test, gives 100 of
//! the 8,000 a label, the given share of them wrong (uniformly), and trains one student a setting.
//! A setting is variant:channels:epochs:rate, then optionally :batch and, for `plain`, :repeats.
//! One line a setting: how many of the 8,000 images were taken for what they are, how many of the
//! 2,000 the student gets right, the worst trial, and seconds.
//!
//! | variant | images | likeness |
//! |---|---|---|
//! | `strong` | deskewed | gradients |
//! | `strokes` | as they are | gradients |
//! | `pixels` | as they are | pixels |
//! | `plain` | as they are | pixels, then what a first network makes of them |
//! | `alone`, `alone-upright` | the labelled ones only: as they are, deskewed | |

use std::env;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;
use shield::{Class, Classes, Label};
use shield_learn::data::{Labelled, Mnist};
use shield_learn::experiment::Split;
use shield_learn::neighbours::{Neighbours, Points};
use shield_learn::student::Variant;
use shield_learn::student::gradients::gradients;
use shield_learn::student::propagation::Propagation;
use shield_learn::training::{Augmentation, Averaging, Targets, Training};

const TRIALS: u64 = 6;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [data, wrong, settings @ ..] = arguments.as_slice() else {
        return Err("give the folder of MNIST, the share of wrong labels, and settings".into());
    };
    let training = Mnist::load(Path::new(data))?.training;
    let wrong: f64 = wrong.parse()?;
    for setting in settings {
        let start = Instant::now();
        let found: Vec<(f64, f64)> = (0..TRIALS)
            .into_par_iter()
            .map(|trial| accuracy(&training, setting, wrong, trial))
            .collect::<Result<_, String>>()?;
        let mean = |part: fn(&(f64, f64)) -> f64| {
            100.0 * found.iter().map(part).sum::<f64>() / found.len() as f64
        };
        let least = found.iter().map(|pair| 100.0 * pair.1).fold(100.0, f64::min);
        println!(
            "{setting:<34} targets {:.2} student {:.2} worst {least:.2} {:.1} s a student and \
             thread",
            mean(|pair| pair.0),
            mean(|pair| pair.1),
            start.elapsed().as_secs_f64() * rayon::current_num_threads() as f64 / TRIALS as f64,
        );
    }
    Ok(())
}

fn accuracy(
    training: &Labelled,
    setting: &str,
    wrong: f64,
    trial: u64,
) -> Result<(f64, f64), String> {
    let parts: Vec<&str> = setting.split(':').collect();
    let number = |i: usize| -> Result<f64, String> {
        parts.get(i).ok_or("too short")?.parse().map_err(|error| format!("{setting}: {error}"))
    };
    let mut rng = ChaCha20Rng::seed_from_u64(trial);
    // Random images of the 60,000, others in each trial.
    let pool = Split::draw(60_000, 10_000, 1, 99, usize::try_from(trial).unwrap_or(0))
        .map_err(|error| error.to_string())?
        .seen;
    let images = training.images.select(pool.iter().copied());
    let classes: Vec<u8> = pool.iter().map(|&image| training.classes[image]).collect();
    let labels: Vec<Label> = (0..8000)
        .map(|image| {
            let truth = u16::from(classes[image]);
            let other = (truth + rng.random_range(1..10)) % 10;
            let label = if rng.random_bool(wrong) { other } else { truth };
            (image < 100).then_some(Class(label))
        })
        .collect();
    let ten = Classes::new(10).map_err(|error| error.to_string())?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small settings")]
    let recipe = Training {
        channels: number(1)? as usize,
        epochs: number(2)? as usize,
        batch: parts.get(4).map_or(Ok(64), |text| text.parse()).map_err(|_| "batch")?,
        rate: number(3)?,
        augmentation: Augmentation::Affine,
        averaging: Averaging::Exponential(0.99),
    };
    let upright = matches!(parts[0], "strong" | "alone-upright");
    let variant = if upright { Variant::Strong } else { Variant::Plain };
    let (own, tested) =
        (variant.prepare(&images.select(0..8000)), variant.prepare(&images.select(8000..10_000)));
    let spread =
        |points: &Points| Propagation::default().spread(&Neighbours::of(points), &labels, ten);
    let known: Vec<usize> = labels.iter().flatten().map(|class| class.index()).collect();
    let alone = Targets::certain(10, known);
    let (model, right_targets) = match parts[0] {
        "strong" | "strokes" => {
            let targets = spread(&gradients(&own));
            (recipe.run(&own, &targets, &mut rng), right(&targets, &classes))
        }
        "pixels" => {
            let targets = spread(&Points::from(&own));
            (recipe.run(&own, &targets, &mut rng), right(&targets, &classes))
        }
        "plain" => {
            // Twice: what the first network makes of images tells which are alike.
            let mut targets = spread(&Points::from(&own));
            let mut model = recipe.run(&own, &targets, &mut rng);
            for _ in 0..parts.get(5).map_or(1, |text| text.parse().unwrap_or(1)) {
                targets = spread(&model.features(&own));
                model = recipe.run(&own, &targets, &mut rng);
            }
            (model, right(&targets, &classes))
        }
        "alone" | "alone-upright" => (recipe.run(&own.select(0..100), &alone, &mut rng), 0.0),
        other => return Err(format!("{other}: there is no such variant")),
    };
    let found = model.predict(&tested);
    let hits = found.iter().zip(&classes[8000..]).filter(|(a, b)| a == b).count();
    Ok((right_targets, hits as f64 / 2000.0))
}

fn right(targets: &Targets, classes: &[u8]) -> f64 {
    let best = |image: usize| {
        let row = targets.row(image);
        (0..10).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0)
    };
    (0..8000).filter(|&image| best(image) == usize::from(classes[image])).count() as f64 / 8000.0
}
