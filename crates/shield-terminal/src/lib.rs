//! What the programs `shield` and `shield-server` share: how they read arguments, what they show,
//! and how they end.
//!
//! Data goes to stdout, messages and progress to stderr. Exit code 0 is fine, 1 failed, 2 wrong
//! usage or bad input.
//!
//! | module | subject |
//! |---|---|
//! | [`console`] | tables, JSON, messages, progress, Ctrl-C |
//! | [`failure`] | what went wrong, and the exit code |
//! | [`arguments`] | arguments of both programs; completions and manual pages |

pub mod arguments;
pub mod console;
pub mod failure;

pub use console::Output;
pub use failure::Failure;
