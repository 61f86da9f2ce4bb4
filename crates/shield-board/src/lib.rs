//! Identities of parties, and the signed, hash-chained record of an election: its *board*.
//!
//! Nobody is taken at their word: every step of a signed election is a line of its board, signed by
//! the party that took it and countersigned by the keeper of the board, the operator. A copy of the
//! board is checked by anyone, offline and without secrets. `docs/specification.md` has every byte
//! that is signed or hashed.
//!
//! ```
//! use rand::{SeedableRng, rngs::StdRng};
//! use shield_board::{Folder, Identity, Kind, Parties, Party, Role, Statement, verify};
//!
//! # let temporary = tempfile::tempdir()?;
//! # let folder = temporary.path().join("ward-7.board");
//! let mut rng = StdRng::from_os_rng();
//! let operator = Identity::generate("office".parse()?, &mut rng);
//! let file = "the election file, with everybody's public line";
//! let election = shield_board::Digest::of("an election", file.as_bytes());
//! let parties = Parties::new(election, [Party::new(Role::Operator, operator.public_line())])?;
//!
//! let mut board = Folder::create(&folder)?;
//! let body = board.add_body(Kind::Election, file.as_bytes())?;
//! let first = Statement::new(&parties, Kind::Election, &operator, Some(body), None)?;
//! board.append(&parties, first.sign(&operator), &operator)?;
//! assert!(verify(&board, &parties).all_passed());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | subject |
//! |---|---|
//! | [`identity`], [`public`], [`fingerprint`] | a party's keys, its public line, and what it reads out |
//! | [`roster`] | the parties that this user knows, like `known_hosts` |
//! | [`sealed`] | messages that one party can read |
//! | [`parties`], [`kinds`] | who takes part, and what each may say when |
//! | [`statement`], [`line`](mod@line) | what a party signs, and its place on the board |
//! | [`folder`] | a board as a folder |
//! | [`checks`], [`verify`](mod@verify) | the numbered checks of a board |
//! | [`compare`](mod@compare) | the proof that a keeper showed two boards |
//! | [`name`], [`hex`], [`digest`] | small types |
//! | [`new_file`], [`private`] | files that are written once, or are private |

pub mod checks;
pub mod compare;
pub mod digest;
mod error;
pub mod fingerprint;
pub mod folder;
pub mod hex;
pub mod identity;
pub mod kinds;
pub mod line;
pub mod name;
pub mod new_file;
mod order;
pub mod parties;
pub mod private;
pub mod public;
pub mod roster;
pub mod sealed;
pub mod statement;
#[cfg(test)]
mod tests;
pub mod verify;

pub use checks::{Check, Checks, Outcome, Unsound};
pub use compare::{Comparison, compare};
pub use digest::Digest;
pub use error::{BoardError, Fault};
pub use fingerprint::Fingerprint;
pub use folder::Folder;
pub use identity::Identity;
pub use kinds::Kind;
pub use line::Line;
pub use name::Name;
pub use parties::{Parties, Party, Role};
pub use public::{PublicKeys, PublicLine};
pub use roster::Roster;
pub use statement::{Body, Signed, Statement};
pub use verify::verify;
