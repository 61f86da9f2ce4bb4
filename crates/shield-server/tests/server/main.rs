//! Tests of the server from outside, all in one program so that it is linked once.
//!
//! | a test of | goes to |
//! |---|---|
//! | what parties do with the API, step by step | `protocol` |
//! | engines behind the API, and engines that fail | `engines` |
//! | aggregation that is left to others | `jobs` |
//! | requests that nobody honest sends | `hostile` |
//! | cheats, audits, receipts, rehearsals, budgets | `trust` |
//! | a server that does not follow the protocol | `lying` |
//! | a server that loses files | `losses` |
//! | the page, in a real browser | `page` |
//! | what an operator does at the page | `page_actions` |
//! | the calculator, in a real browser | `explore` |
//! | the store alone, on SQLite and PostgreSQL | `store` |
//! | a server whose database goes and comes back | `database` |
//! | a server as its own process: how it starts, what it survives | `serve`, `service` |
//! | both programs, as their users run them | `clients`, `roles`, `upkeep`, `tutorial` |
//! | the files in `deploy` | `deploy` |
//!
//! `described` checks answers against the API's description. `harness` has a server in this process
//! and parties that talk to it. `programs`, `browser` (over `webdriver`) and `postgres` start real
//! programs.

#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod browser;
mod clients;
mod database;
mod deploy;
mod described;
mod engines;
mod explore;
mod harness;
mod hostile;
mod jobs;
mod losses;
mod lying;
mod page;
mod page_actions;
mod postgres;
mod programs;
mod protocol;
mod roles;
mod serve;
mod service;
mod store;
mod trust;
mod tutorial;
mod upkeep;
mod webdriver;

#[path = "../../../shield-cli/tests/it/pages.rs"]
mod pages;
