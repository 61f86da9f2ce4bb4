//! Progress of long work: what is done, of how much, and whether to stop.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Where some work stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// What is being done, such as "aggregating"; empty where the caller knows.
    pub stage: String,
    /// How many steps are done.
    pub done: u64,
    /// How many steps there are.
    pub of: u64,
}

/// The listener of a [`Watch`]: hears of every change, from any thread, and may end the work.
type Listener = dyn Fn(&Progress) -> ControlFlow<()> + Send + Sync;

/// Progress callback of long work; the default ignores it. Copies share one state.
#[derive(Clone, Default)]
pub struct Watch(Option<Arc<State>>);

struct State {
    listener: Box<Listener>,
    now: Mutex<Progress>,
    stopped: AtomicBool,
}

impl Watch {
    /// A watch that tells a listener of every change. Work that is told to break ends soon, with
    /// what it has, if it can end early at all.
    pub fn new(listener: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        let state = State {
            listener: Box::new(listener),
            now: Mutex::default(),
            stopped: AtomicBool::new(false),
        };
        Self(Some(Arc::new(state)))
    }

    /// Starts a stage of so many steps.
    pub fn begin(&self, stage: &str, of: u64) {
        self.change(|now| *now = Progress { stage: stage.to_owned(), done: 0, of });
    }

    /// So many more steps are done; with 0, the listener may only stop the work.
    pub fn add(&self, steps: u64) {
        self.change(|now| now.done += steps);
    }

    /// So many of all steps are done.
    pub fn tell(&self, done: u64, of: u64) {
        self.change(|now| (now.done, now.of) = (done.min(of), of));
    }

    /// Whether the work is to end.
    pub fn is_stopped(&self) -> bool {
        self.0.as_ref().is_some_and(|state| state.stopped.load(Ordering::Relaxed))
    }

    /// A watch of a part of the work, which goes from one percentage of the whole to another.
    #[must_use]
    pub fn part(&self, from: u64, to: u64) -> Self {
        if self.0.is_none() {
            return Self(None);
        }
        let whole = self.clone();
        Self::new(move |part| {
            whole.tell(from + (part.done * (to - from)).checked_div(part.of).unwrap_or(0), 100);
            if whole.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    }

    fn change(&self, change: impl FnOnce(&mut Progress)) {
        let Some(state) = &self.0 else { return };
        let now = {
            let mut now = state.now.lock().unwrap_or_else(PoisonError::into_inner);
            change(&mut now);
            now.clone()
        };
        if (state.listener)(&now).is_break() {
            state.stopped.store(true, Ordering::Relaxed);
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
    use super::*;

    #[test]
    fn steps_and_parts_add_up_and_a_break_is_remembered() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let watch = Watch::new({
            let heard = Arc::clone(&heard);
            move |now: &Progress| {
                heard.lock().unwrap().push((now.done, now.of));
                if now.done < 100 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            }
        });
        watch.begin("checking", 3);
        watch.add(2);
        watch.part(0, 40).tell(1, 2);
        assert!(!watch.is_stopped());
        let part = watch.part(40, 100);
        part.tell(7, 7);
        assert!(watch.is_stopped() && part.is_stopped());
        Watch::default().part(1, 2).tell(1, 1);
        assert_eq!(*heard.lock().unwrap(), [(0, 3), (2, 3), (20, 100), (100, 100)]);
    }
}
