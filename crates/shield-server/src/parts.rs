//! Uploads that come in parts: what has arrived stays, and the next part goes on where it ends.
//!
//! A part is a `PUT` like any other upload, with the header `upload-part: OFFSET/TOTAL/HASH`: from
//! which byte, of how many, of a file with which BLAKE3 hash. `GET /v1/uploads/HASH` says how much
//! has arrived. A part that breaks off counts as far as it came. With the last byte the file is
//! treated as if it had come whole.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use shield_protocol::credentials::TokenHash;
use shield_protocol::hex::unhex;

use crate::problem::Problem;
use crate::store::Incoming;

/// How long an upload is kept that nobody goes on with.
const KEPT: Duration = Duration::from_hours(1);

/// How many one token may have begun.
const MOST: usize = 2;

/// Which bytes of which file a request brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) offset: u64,
    pub(crate) total: u64,
    pub(crate) hash: String,
}

impl Part {
    /// What the headers say of it, if they speak of one.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Self>, Problem> {
        let Some(value) = headers.get("upload-part") else { return Ok(None) };
        let wrong = || Problem::unusable("`upload-part` is OFFSET/TOTAL/HASH");
        let text = value.to_str().map_err(|_| wrong())?;
        let mut fields = text.split('/');
        let mut next = || fields.next().ok_or_else(wrong);
        let offset = next()?.parse().map_err(|_| wrong())?;
        let total = next()?.parse().map_err(|_| wrong())?;
        let hash = next()?.to_owned();
        if unhex::<32>(&hash).is_none() || fields.next().is_some() || offset >= total {
            return Err(wrong());
        }
        Ok(Some(Self { offset, total, hash }))
    }
}

struct Begun {
    incoming: Incoming,
    used: Instant,
}

/// What has arrived so far, by token and hash.
#[derive(Default)]
pub(crate) struct Parts(Mutex<HashMap<(TokenHash, String), Begun>>);

impl Parts {
    /// Takes what has arrived of a file, or begins it: `None` if the part does not go on where that
    /// ends, or if another part is under way.
    pub(crate) fn take(
        &self,
        token: &TokenHash,
        part: &Part,
        begin: impl FnOnce() -> Result<Incoming, Problem>,
    ) -> Result<Option<Incoming>, Problem> {
        let mut begun = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        begun.retain(|_, begun| begun.used.elapsed() < KEPT);
        let key = (token.clone(), part.hash.clone());
        if part.offset == 0 && !begun.contains_key(&key) {
            // The one unused for longest makes room.
            while begun.keys().filter(|(own, _)| own == token).count() >= MOST {
                let own = begun.iter().filter(|((own, _), _)| own == token);
                let oldest = own.min_by_key(|(_, begun)| begun.used).map(|(key, _)| key.clone());
                let Some(oldest) = oldest else { break };
                begun.remove(&oldest);
            }
            drop(begun);
            return begin().map(Some);
        }
        match begun.remove(&key) {
            Some(known) if known.incoming.bytes() == part.offset => Ok(Some(known.incoming)),
            Some(known) => {
                begun.insert(key, known);
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// Keeps what has arrived.
    pub(crate) fn keep(&self, token: &TokenHash, part: &Part, incoming: Incoming) {
        let mut begun = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (token.clone(), part.hash.clone());
        begun.insert(key, Begun { incoming, used: Instant::now() });
    }

    /// How much has arrived.
    pub(crate) fn received(&self, token: &TokenHash, hash: &str) -> u64 {
        let begun = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        begun.get(&(token.clone(), hash.to_owned())).map_or(0, |begun| begun.incoming.bytes())
    }
}
