//! Axes with round numbers.

/// An axis that starts and ends on a tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    pub(crate) start: f64,
    pub(crate) end: f64,
    /// How many ticks there are, both ends included.
    pub(crate) ticks: usize,
    step: f64,
}

impl Axis {
    /// An axis that holds a range, with about that many ticks: steps are 1, 2 or 5 times a power
    /// of ten.
    pub(crate) fn around(low: f64, high: f64, ticks: f64) -> Self {
        let rough = (high - low).max(1e-9) / ticks;
        let power = 10f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = steps.into_iter().find(|&step| step >= rough * (1.0 - 1e-9));
        let step = step.unwrap_or(10.0 * power);
        let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
        let last = if last > first { last } else { first + 1.0 };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few ticks")]
        let count = (last - first).round() as usize + 1;
        Self { start: first * step, end: last * step, ticks: count, step }
    }

    /// The values of all ticks.
    pub(crate) fn values(&self) -> impl Iterator<Item = f64> {
        let Self { start, step, .. } = *self;
        (0..self.ticks).map(move |tick| start + step * tick as f64)
    }

    /// A tick with the digits that tell it from the next.
    pub(crate) fn label(&self, value: f64) -> String {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "few digits")]
        let digits = (-self.step.log10()).ceil().max(0.0) as usize;
        format!("{value:.digits$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_start_and_end_on_ticks() {
        for (low, high) in [(0.3, 6.48), (88.1, 93.9), (0.0, 1.0), (4.999, 5.001), (99.2, 100.0)] {
            let axis = Axis::around(low, high, 7.0);
            assert!(axis.start <= low && axis.end >= high, "{axis:?}");
            assert!((2..=12).contains(&axis.ticks), "{axis:?}");
            for end in [axis.start, axis.end] {
                let steps = end / axis.step;
                assert!((steps - steps.round()).abs() < 1e-6, "{axis:?}");
            }
            let last = axis.start + axis.step * (axis.ticks - 1) as f64;
            assert!((last - axis.end).abs() < 1e-6, "{axis:?}");
        }
        let axis = Axis::around(91.0, 100.0, 7.0);
        assert!((axis.end - 100.0).abs() < 1e-9, "no axis of shares goes beyond 100: {axis:?}");
        assert_eq!(Axis::around(0.0, 0.5, 5.0).label(0.25), "0.2");
    }
}
