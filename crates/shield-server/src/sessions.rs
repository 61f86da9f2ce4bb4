//! Who is signed in at the page: sessions in memory, under the hash of a random name that only the
//! browser has.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rand::TryRngCore;
use rand::rngs::OsRng;

use shield_protocol::credentials::TokenHash;
use shield_protocol::hex::hex;

/// How long a session lasts that nobody uses.
const IDLE: Duration = Duration::from_hours(12);

/// How many there may be; the one unused for longest makes room.
const MOST: usize = 100;

/// Who asks: a page that was left open, and asks by itself, must not keep its session alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Person,
    Page,
}

struct Session {
    /// Whose it is: looked up again at every use, so that a token that is taken away ends its
    /// sessions.
    token: TokenHash,
    used: Instant,
}

/// The sessions. A restart ends them all.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<[u8; 32], Session>>);

impl Sessions {
    /// Begins a session and gives its name, for the browser alone.
    pub(crate) fn begin(&self, token: TokenHash, now: Instant) -> String {
        let mut bytes = [0; 32];
        OsRng.unwrap_err().try_fill_bytes(&mut bytes).unwrap_or_else(|never| match never {});
        let name = hex(&bytes);
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, session| is_fresh(session, now));
        while sessions.len() >= MOST {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.used);
            let Some(oldest) = oldest.map(|(key, _)| *key) else { break };
            sessions.remove(&oldest);
        }
        sessions.insert(key(&name), Session { token, used: now });
        name
    }

    /// The token that a session was begun with, if it goes on.
    pub(crate) fn token(&self, name: &str, now: Instant, by: By) -> Option<TokenHash> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.get_mut(&key(name)).filter(|session| is_fresh(session, now))?;
        if by == By::Person {
            session.used = now;
        }
        Some(session.token.clone())
    }

    /// Ends a session.
    pub(crate) fn end(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&key(name));
    }
}

fn is_fresh(session: &Session, now: Instant) -> bool {
    now.saturating_duration_since(session.used) < IDLE
}

fn key(name: &str) -> [u8; 32] {
    blake3::derive_key("shield 2026 session v1", name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> TokenHash {
        "7".repeat(64).try_into().unwrap()
    }

    #[test]
    fn a_session_lasts_while_it_is_used() {
        let sessions = Sessions::default();
        let start = Instant::now();
        let name = sessions.begin(token(), start);
        let other = sessions.begin(token(), start);
        assert_ne!(name, other);
        assert_eq!(sessions.token("0", start, By::Person), None);
        let hours = |hours: u64| start + Duration::from_hours(hours);
        assert_eq!(sessions.token(&name, hours(11), By::Person), Some(token()));
        assert_eq!(sessions.token(&name, hours(22), By::Person), Some(token()));
        assert_eq!(sessions.token(&other, hours(22), By::Person), None);
        assert_eq!(sessions.token(&name, hours(34), By::Person), None);
        let name = sessions.begin(token(), hours(34));
        assert_eq!(sessions.token(&name, hours(45), By::Page), Some(token()));
        assert_eq!(sessions.token(&name, hours(46), By::Page), None, "a page that was left open");
        let name = sessions.begin(token(), hours(34));
        sessions.end(&name);
        assert_eq!(sessions.token(&name, hours(34), By::Person), None);
    }

    #[test]
    fn names_are_not_kept_and_the_number_is_bounded() {
        let sessions = Sessions::default();
        let start = Instant::now();
        let first = sessions.begin(token(), start);
        let later = start + Duration::from_secs(1);
        let names: Vec<String> = (0..MOST).map(|_| sessions.begin(token(), later)).collect();
        assert_eq!(sessions.0.lock().unwrap().len(), MOST);
        assert_eq!(sessions.token(&first, later, By::Person), None);
        assert!(names.iter().all(|name| sessions.token(name, later, By::Person).is_some()));
        let kept = sessions.0.lock().unwrap();
        assert!(kept.keys().all(|key| !names.contains(&hex(key))));
    }
}
