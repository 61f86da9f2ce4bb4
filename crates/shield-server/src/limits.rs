//! How much one caller may have under way at once, so that none takes what is there for all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use shield_protocol::credentials::TokenHash;

/// Counts what is under way for each token.
#[derive(Clone, Debug)]
pub(crate) struct PerToken {
    most: u32,
    counts: Arc<Mutex<HashMap<TokenHash, u32>>>,
}

/// The right to have one more thing under way.
#[derive(Debug)]
pub(crate) struct Turn {
    token: TokenHash,
    counts: Arc<Mutex<HashMap<TokenHash, u32>>>,
}

impl PerToken {
    pub(crate) fn new(most: u32) -> Self {
        Self { most, counts: Arc::default() }
    }

    /// One more, if that is not too many.
    pub(crate) fn enter(&self, token: &TokenHash) -> Option<Turn> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(token.clone()).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Turn { token: token.clone(), counts: Arc::clone(&self.counts) })
    }

    /// How many things are under way.
    pub(crate) fn under_way(&self) -> u32 {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.token) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.token);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_has_its_own_turns_and_gets_them_back() {
        let token = |digit: &str| -> TokenHash { digit.repeat(64).try_into().unwrap() };
        let limit = PerToken::new(2);
        let first = limit.enter(&token("1")).unwrap();
        let _second = limit.enter(&token("1")).unwrap();
        assert!(limit.enter(&token("1")).is_none());
        let _other = limit.enter(&token("2")).unwrap();
        assert_eq!(limit.under_way(), 3);
        drop(first);
        assert!(limit.enter(&token("1")).is_some());
        assert_eq!(limit.under_way(), 2);
        assert_eq!(limit.counts.lock().unwrap().len(), 2, "nothing is kept of those who left");
    }
}
