//! Tests of the engine as a whole. Those of one module sit in that module.

mod elections;

use shield::Sampling;
use shield::backend::suite::Shape;

pub(crate) fn shape(
    teachers: usize,
    classes: usize,
    samples: usize,
    polynomial: &'static str,
) -> Shape {
    let sampling = Sampling::WithReplacement;
    Shape { teachers, classes, samples, polynomial, offset: 1, sampling, abstentions: 0 }
}
