//! How other crates wait for this one.

use std::pin::Pin;

/// What a caller outside this crate waits for. Its code is compiled here, once; that of a plain
/// `async fn` would be compiled again, with all it waits for, in every crate that calls it.
pub type Waiting<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
