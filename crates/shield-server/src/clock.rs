//! What time it is, by a clock that may be set wrong.
//!
//! The system's clock can jump: somebody sets it, a machine wakes up, a time server lies for four
//! seconds. So it is held against a steady one, which knows how much time has passed and not what
//! time it is. An election closes by its deadline only if both say so, and takes no ballot any more
//! if either does. A jump is an incident; if the system's clock keeps to it for [`BELIEVED`], it is
//! believed.
//!
//! At the start there is nothing to hold it against but what was written before: the steady clock
//! starts no earlier than that. So that a machine has time to ask a time server, nothing is closed
//! or deleted by the clock for as long as a jump would take to be believed.

#[cfg(test)]
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

/// How far the clocks may be apart before it is a jump.
const JUMP: SignedDuration = SignedDuration::from_secs(60);

/// After how long a jump is believed.
const BELIEVED: Duration = Duration::from_mins(10);

/// Both clocks.
#[derive(Debug)]
pub(crate) struct Clock {
    steady: Mutex<Steady>,
    /// How many milliseconds the system's clock is wrong.
    #[cfg(test)]
    wrong: AtomicI64,
    /// How many milliseconds a test has let pass, by both clocks.
    #[cfg(test)]
    passed: AtomicI64,
}

#[derive(Debug)]
struct Steady {
    /// The time when the steady clock was started.
    base: Timestamp,
    started: Instant,
    /// Since when the two disagree by this much.
    apart: Option<(Instant, SignedDuration)>,
}

/// What a comparison of the clocks shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// They agree.
    Agree,
    /// The system's clock has jumped by so many seconds, just now.
    Jumped(i64),
    /// They disagree, as before.
    Apart,
    /// The system's clock has kept to its jump for so long that it is believed.
    Believed,
}

impl Clock {
    /// A clock that is started now, which is after everything that was written before.
    pub(crate) fn after(newest: Option<Timestamp>) -> Self {
        let now = Timestamp::now();
        let base = newest.map_or(now, |newest| newest.max(now));
        let steady = Steady { base, started: Instant::now(), apart: None };
        Self {
            steady: Mutex::new(steady),
            #[cfg(test)]
            wrong: AtomicI64::default(),
            #[cfg(test)]
            passed: AtomicI64::default(),
        }
    }

    /// What the system's clock says.
    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "tests set their clock"))]
    pub(crate) fn system(&self) -> Timestamp {
        let now = Timestamp::now();
        #[cfg(test)]
        let now = later(now, &[&self.wrong, &self.passed]);
        now
    }

    /// What the steady clock says.
    pub(crate) fn steady(&self) -> Timestamp {
        let steady = self.steady.lock().unwrap_or_else(PoisonError::into_inner);
        let now = steady.base.saturating_add(steady.started.elapsed()).unwrap_or(Timestamp::MAX);
        #[cfg(test)]
        let now = later(now, &[&self.passed]);
        now
    }

    /// The earlier of what the clocks say, once they have run for so long that it can be believed.
    pub(crate) fn settled(&self) -> Option<Timestamp> {
        let steady = self.steady.lock().unwrap_or_else(PoisonError::into_inner);
        let ran = steady.started.elapsed();
        #[cfg(test)]
        let ran = ran + Duration::from_millis(self.passed.load(Ordering::Relaxed).unsigned_abs());
        drop(steady);
        (ran >= BELIEVED).then(|| self.system().min(self.steady()))
    }

    /// Whether a moment has passed by both clocks, and they can be believed.
    pub(crate) fn has_passed(&self, moment: Timestamp) -> bool {
        self.settled().is_some_and(|now| now >= moment)
    }

    /// Whether a moment has passed by one of the clocks.
    pub(crate) fn may_have_passed(&self, moment: Timestamp) -> bool {
        self.system() >= moment || self.steady() >= moment
    }

    /// Compares the clocks, and believes the system's once it has kept to a jump.
    pub(crate) fn compare(&self) -> Reading {
        self.compare_at(Instant::now())
    }

    fn compare_at(&self, now: Instant) -> Reading {
        let system = self.system();
        let apart = system.duration_since(self.steady());
        let mut steady = self.steady.lock().unwrap_or_else(PoisonError::into_inner);
        if apart.abs() <= JUMP {
            steady.apart = None;
            return Reading::Agree;
        }
        match steady.apart {
            Some((_, before)) if (apart - before).abs() > JUMP => {
                steady.apart = Some((now, apart));
                Reading::Jumped(apart.as_secs())
            }
            None => {
                steady.apart = Some((now, apart));
                Reading::Jumped(apart.as_secs())
            }
            Some((since, _)) if now.saturating_duration_since(since) >= BELIEVED => {
                // On top of what was counted so far, so that nothing is counted twice.
                steady.base = steady.base.saturating_add(apart).unwrap_or(Timestamp::MAX);
                steady.apart = None;
                Reading::Believed
            }
            Some(_) => Reading::Apart,
        }
    }

    /// Starts it anew while the system's clock is wrong.
    #[cfg(test)]
    pub(crate) fn start_wrong(&self, by: SignedDuration) {
        self.set_wrong(by);
        self.steady.lock().unwrap().base = self.system();
    }

    /// Sets the system's clock wrong.
    #[cfg(test)]
    pub(crate) fn set_wrong(&self, by: SignedDuration) {
        let by = i64::try_from(by.as_millis()).unwrap();
        self.wrong.store(by, Ordering::Relaxed);
    }

    /// Lets time pass, by both clocks.
    #[cfg(test)]
    pub(crate) fn pass(&self, time: SignedDuration) {
        let time = i64::try_from(time.as_millis()).unwrap();
        self.passed.fetch_add(time, Ordering::Relaxed);
    }
}

#[cfg(test)]
fn later(now: Timestamp, by: &[&AtomicI64]) -> Timestamp {
    let by = by.iter().map(|by| by.load(Ordering::Relaxed)).sum();
    now.saturating_add(SignedDuration::from_millis(by)).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that was 300 days ahead for four seconds once closed an election.
    #[test]
    fn a_jump_is_said_once_and_believed_if_it_lasts() {
        let clock = Clock::after(None);
        let tomorrow = clock.system() + SignedDuration::from_hours(24);
        assert_eq!(clock.compare(), Reading::Agree);
        clock.set_wrong(SignedDuration::from_hours(24 * 300));
        assert!(!clock.has_passed(tomorrow) && clock.may_have_passed(tomorrow));
        assert!(matches!(clock.compare(), Reading::Jumped(seconds) if seconds > 25_000_000));
        assert_eq!(clock.compare(), Reading::Apart);
        clock.set_wrong(SignedDuration::ZERO);
        assert_eq!(clock.compare(), Reading::Agree);
        assert!(!clock.may_have_passed(tomorrow));
        // A jump after a jump is believed no sooner than any other.
        let first = Instant::now();
        clock.set_wrong(SignedDuration::from_mins(2));
        assert_eq!(clock.compare_at(first), Reading::Jumped(120));
        clock.set_wrong(SignedDuration::from_hours(24 * 300));
        assert!(matches!(clock.compare_at(first + BELIEVED), Reading::Jumped(_)));
        clock.pass(SignedDuration::from_mins(11));
        assert!(clock.settled().unwrap() < tomorrow);
        clock.set_wrong(SignedDuration::ZERO);
        assert_eq!(clock.compare(), Reading::Agree);
        // Set back: what has passed stays past.
        let yesterday = clock.system() - SignedDuration::from_hours(1);
        clock.set_wrong(SignedDuration::from_hours(-48));
        assert!(!clock.has_passed(yesterday) && clock.may_have_passed(yesterday));
        let now = Instant::now();
        assert!(matches!(clock.compare_at(now), Reading::Jumped(_)));
        assert_eq!(clock.compare_at(now + BELIEVED), Reading::Believed);
        assert_eq!(clock.compare(), Reading::Agree);
        assert!(!clock.may_have_passed(yesterday));
    }

    /// A server that was started 300 days ahead once released an election within four seconds.
    #[test]
    fn at_the_start_nothing_has_passed_until_the_clock_is_settled() {
        let clock = Clock::after(None);
        let tomorrow = clock.system() + SignedDuration::from_hours(24);
        clock.start_wrong(SignedDuration::from_hours(24 * 300));
        assert_eq!(clock.compare(), Reading::Agree);
        assert!(!clock.has_passed(tomorrow) && clock.may_have_passed(tomorrow));
        // A time server has been asked.
        clock.set_wrong(SignedDuration::ZERO);
        clock.pass(SignedDuration::from_mins(11));
        assert!(!clock.has_passed(tomorrow));
    }

    /// One that was started behind took ballots after their deadline.
    #[test]
    fn the_clock_is_not_behind_what_was_written() {
        let newest = Timestamp::now() + SignedDuration::from_hours(48);
        let clock = Clock::after(Some(newest));
        assert!(clock.may_have_passed(newest - SignedDuration::from_hours(1)));
        assert!(matches!(clock.compare(), Reading::Jumped(seconds) if seconds < -172_000));
        let before = Clock::after(Some(Timestamp::UNIX_EPOCH));
        assert_eq!(before.compare(), Reading::Agree);
    }
}
