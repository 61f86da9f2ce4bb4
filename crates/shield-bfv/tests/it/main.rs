//! The integration tests of the crate, in one program: a new one is a module here.
//!
//! The allocator counts bytes for `memory`; tests that allocate much would disturb it, so they
//! belong into the modules' own tests.

mod memory;
