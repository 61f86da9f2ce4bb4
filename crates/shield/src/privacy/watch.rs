//! How far a long computation is.

use std::fmt;
use std::sync::Arc;

/// Hears how many percent of some work are done. The default hears nothing.
#[derive(Clone, Default)]
pub struct Watch(Option<Arc<dyn Fn(u64) + Send + Sync>>);

impl Watch {
    /// Told of every change, from any thread.
    pub fn new(told: impl Fn(u64) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(told)))
    }

    /// Says that so much of all the work is done.
    pub fn tell(&self, done: u64, all: u64) {
        if let Some(told) = &self.0 {
            told((100 * done.min(all)).checked_div(all).unwrap_or(100));
        }
    }

    /// Hears about a part of the work, which goes from one percentage to another.
    #[must_use]
    pub fn part(&self, from: u64, to: u64) -> Self {
        match self.0.clone() {
            None => Self(None),
            Some(told) => Self::new(move |percent| told(from + percent * (to - from) / 100)),
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watch").field(&self.0.is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn parts_add_up() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let watch = Watch::new({
            let heard = Arc::clone(&heard);
            move |percent| heard.lock().unwrap().push(percent)
        });
        watch.part(0, 40).tell(1, 2);
        watch.part(40, 100).tell(7, 7);
        watch.tell(0, 0);
        Watch::default().part(1, 2).tell(1, 1);
        assert_eq!(*heard.lock().unwrap(), [20, 100, 100]);
    }
}
