//! What the server does: a folder of ballots in, results out, exactly once.
//!
//! [`aggregate()`] does all of it in one go. A [`Job`] is the same work as a folder that can be
//! stopped, resumed and shared: it is frozen once, its batches are computed in any order by
//! whoever can read it, and it is finished when all of them are there. What both fix before they
//! start is in [`freeze`]. A server's closed election is such a folder, too: its tables say which
//! ballots count, and [`Job::keep`] writes that down.
//!
//! | module | subject |
//! |---|---|
//! | `inputs`, `ballot_folder` | key and ballots, checked as a whole |
//! | [`freeze`] | exactly one release: the seed and the record |
//! | `releases` | what follows from them, batch by batch |
//! | `aggregate` | all of it in one go |
//! | `folder`, `index` | a job as a folder |
//! | [`lease`] | several workers that share one job |
//! | [`audit`] | whose ballot is no vote, and the spoiled samples once more without it |
//! | [`answered`] | what the student has answered: each question once, and only a few |
//! | [`verify`](mod@verify) | everything computed again by an auditor |
//! | `board` | the same from the bodies of a signed board |
//! | `storage` | where ballots are kept: a folder, or an object store |

mod aggregate;
pub mod answered;
pub mod audit;
mod ballot_folder;
pub(crate) mod board;
mod folder;
pub mod freeze;
mod index;
mod inputs;
pub mod lease;
mod releases;
mod storage;

#[cfg(test)]
mod tests;
pub mod verify;

pub use aggregate::{Aggregated, aggregate};
pub use ballot_folder::{BallotFolder, KeptBatch};
pub use folder::Job;
pub use inputs::Inputs;
pub use releases::{Releases, turnout_again};
pub use storage::{ByteRange, LocalFiles, Storage};
