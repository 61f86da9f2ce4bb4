//! Tests of the server from outside, all in one program so that it is linked once.
//!
//! | a test of | goes to |
//! |---|---|
//! | what parties do with the API, step by step | `protocol` |
//! | engines behind the API, and engines that fail | `engines` |
//! | aggregation that is left to others | `jobs` |
//! | requests that nobody honest sends | `hostile` |
//! | cheats, audits, receipts, rehearsals, budgets | `trust` |
//! | the page, in a real browser | `page` |
//! | what an operator does at the page | `page_actions` |
//! | the calculator, in a real browser | `explore` |
//! | the store alone, on SQLite and PostgreSQL | `store` |
//! | a server whose database goes and comes back | `database` |
//!
//! `harness` has a server in this process and parties that talk to it; the tests of the program
//! `shield` use it, too. `browser` (over `webdriver`) and `postgres` start real programs.

#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod browser;
mod database;
mod engines;
mod explore;
mod harness;
mod hostile;
mod jobs;
mod page;
mod page_actions;
mod postgres;
mod programs;
mod protocol;
mod store;
mod trust;
mod webdriver;
