//! SPEED between parties who do not share a machine, as files and messages.
//!
//! | step | party | takes | makes |
//! |---|---|---|---|
//! | [`make_keys`] | student | the election file | `secret.key`, `public.key`, `evaluation.key` |
//! | [`cast`] | teacher | the public key, its own votes | a ballot |
//! | [`freeze::commit`](job::freeze::commit) | server | the election file | its part of the seed, and a commitment |
//! | [`aggregate()`] | server | the evaluation key, a folder of ballots | results, and their seed |
//! | [`reveal()`] | student | the secret key, the results | labels, and alarms |
//! | [`audit`] | student and server | results with spoiled samples | whose ballot it was; results without it |
//! | [`verify()`] | auditor | all of it but the secret key | whether the results follow from it |
//!
//! An election of three teachers, from the agreement to the labels:
//!
//! ```
//! use rand::{SeedableRng, rngs::StdRng};
//! use shield_core::{Class, Watch};
//! use shield_protocol::{ElectionFile, Inputs, aggregate, cast, make_keys, reveal};
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let mut rng = StdRng::from_os_rng();
//! let election = ElectionFile::parse(
//!     r#"name = "birds"
//!     group = "zoos"
//!     samples = 2
//!     classes = 2
//!     polynomial = "X^2+X"
//!     quorum = 3
//!     teachers = ["anna", "bela", "cora"]"#,
//! )?
//! .plan();
//! let keys = make_keys(&election, &folder.join("keys"), &mut rng)?.files; // the student
//! let ballots = folder.join("ballots");
//! std::fs::create_dir(&ballots)?;
//! for teacher in ["anna", "bela", "cora"] {
//!     let votes = [Some(Class(1)), Some(Class(0))];
//!     let out = ballots.join(teacher).with_extension("ballot");
//!     cast(&election, &keys.public, teacher, &votes, &out, &mut rng)?;
//! }
//! let (results, watch) = (folder.join("results.bin"), Watch::default());
//! let inputs = Inputs::new(&election, &keys.evaluation, &ballots); // the server
//! aggregate(&inputs, &results, None, &mut rng, &watch)?;
//! let labels = reveal(&election, &keys.secret, &results)?; // the student
//! # assert_eq!(labels.as_slice().len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every file carries the digest of the election file, so that a file of another election is
//! recognised and refused. The server's work is frozen before it starts: see [`job`].
//!
//! | module | subject |
//! |---|---|
//! | [`election_file`], [`name`] | what all parties agree on before anyone makes a key |
//! | [`samples`] | the list of samples that an election binds |
//! | [`engine`] | the one place that turns an election into its engine |
//! | [`keys`], [`ballot`], [`reveal`](mod@reveal) | what student and teachers do |
//! | [`job`] | what the server does |
//! | [`rehearsal`] | whether the keys work, before anyone votes |
//! | [`seed`], [`transcript`], [`receipt`] | draws that can be checked |
//! | [`signed`] | elections in which every step is signed, and checked by everybody |
//! | [`results`] | what the student gets, as a file |
//! | [`bundle`] | the format of ballot and result files |
//! | [`files`], [`new_file`], [`private`] | files that are bounded, written once, or private |
//! | [`ledger`] | what elections cost a group of teachers, and what it can still afford |
//! | [`turnout`] | how many voters each sample has, and whether that is a quorum |
//! | [`messages`], [`credentials`] | what clients and servers say to each other, and who may |
//! | [`hex`], [`this_machine`] | small helpers that both sides need |
//!
//! There is no server here and nothing asynchronous: a teacher's program needs no more than this.

pub mod audit_log;
pub mod ballot;
pub mod bundle;
pub mod credentials;
pub mod election_file;
pub mod engine;
mod error;
pub mod files;
pub mod job;
pub mod keys;
pub mod ledger;
pub mod messages;
pub mod receipt;
pub mod rehearsal;
pub mod results;
pub mod reveal;
pub mod samples;
pub mod seed;
pub mod signed;
pub mod this_machine;
pub mod transcript;
pub mod turnout;

pub use shield_board::{hex, name, new_file, private};

pub use ballot::{Cast, cast, cast_counts, read_votes, understand_counts, understand_votes};
pub use election_file::{ElectionFile, PlannedElection};
pub use error::{Problem, ProtocolError, Refused};
pub use files::read_election;
pub use job::verify::verify;
pub use job::{Aggregated, Inputs, Job, aggregate, audit};
pub use keys::{KeyFiles, MadeKeys, make_keys};
pub use name::Name;
pub use receipt::Receipt;
pub use reveal::{Inspected, inspect, reveal};
pub use samples::{SampleList, SamplesDigest};
pub use signed::SignedElection;
pub use transcript::Transcript;
