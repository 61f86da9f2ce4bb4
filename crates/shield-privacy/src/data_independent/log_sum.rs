//! Sums of exponentials in logarithms.

/// ln of a sum of exponentials, added one by one.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogSum {
    top: f64,
    sum: f64,
}

impl Default for LogSum {
    fn default() -> Self {
        Self { top: f64::NEG_INFINITY, sum: 0.0 }
    }
}

impl LogSum {
    pub(super) fn add(&mut self, log: f64) {
        if log <= self.top {
            if log > f64::NEG_INFINITY && self.top < f64::INFINITY {
                self.sum += (log - self.top).exp();
            }
        } else if log == f64::INFINITY {
            (self.top, self.sum) = (log, 1.0);
        } else {
            self.sum = self.sum * (self.top - log).exp() + 1.0;
            self.top = log;
        }
    }

    pub(super) fn log(self) -> f64 {
        self.top + self.sum.ln()
    }
}
