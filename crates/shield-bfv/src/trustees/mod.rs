//! A key that nobody has: trustees make it together, and only together read a release.
//!
//! | role | what it does | holds |
//! |---|---|---|
//! | trustee | [`KeyMaker`]: commitment, first and second share, deal; then [`TrusteeKey::open`] | its seed, then its [`TrusteeKey`] |
//! | anyone | [`Ceremony`]: checks every message, sums them to the [`JointKeys`], re-derives discarded sets | nothing |
//! | student | [`combine`], [`combine_checked`]: labels from openings | nothing that opens a ballot |
//!
//! Everything goes in and out as bytes; a protocol around this module carries them, signs them, and
//! seals what is secret ([`Kind::DealtShare`](shield_core::framing::Kind), openings). The modules:
//!
//! | module | subject |
//! |---|---|
//! | `error`, `messages` | what can be wrong; polynomials in the common frame |
//! | `parts` | what an engine tells: which keys it needs, how a release is read |
//! | `ceremony`, `maker`, `derivation` | joint keys: commitments, two rounds, sums, discarded sets |
//! | `dealing` | Shamir shares of the secret, and their public check |
//! | `holder`, `openings` | a trustee's key and what it has opened |
//! | `opening`, `checked` | the parts of a decryption, summed or each by itself |
//! | `together` | all trustees in one process: for demonstrations, benchmarks and tests |
//!
//! # Keys
//!
//! Trustee i draws a ternary secret s_i, a ternary u_i and all errors from one seed; the secret is
//! their sum s. With uniform polynomials a from a common random string and the gadget g:
//!
//! | | trustee i sends | the sums are |
//! |---|---|---|
//! | public key | `b_i = e - a s_i` | b |
//! | rotation by phi, digit d | `e + g_d s_i - a_d phi^-1(s_i)` | the rotation's key |
//! | relinearisation, round 1 | `e + g_d s_i - a_d u_i` and `a_d s_i + e` | h0, h1 |
//! | relinearisation, round 2 | `s_i h0 + (u_i - s_i) h1 + e` | r; the key is (r, h1) |
//!
//! `r + h1 s = g s^2 + s e0 + u e1 + e2`, the errors being sums over trustees. (As in lattigo's
//! multiparty package; the paper of Mouchet et al., 2021, sends two polynomials in round 2.)
//!
//! **Nobody chooses its share after seeing others'.** A trustee sends a commitment to its first
//! share, and the share itself only when all commitments are there. Its second share depends on
//! everybody's first: a trustee that answered to an h0 of an opponent's choice would give its
//! secret away, so it takes part only where every first share is the one that was committed to, and
//! its own is among them; and the errors of its answer are drawn anew for every set of first
//! shares. *The list of commitments must be final before the first share is sent, once and for
//! all*: that is for the protocol to see to.
//!
//! **Shares are what the protocol says.** Errors that are too long would weaken the flooding
//! unnoticed. So trustees make several sets of keys, a common coin says which one stays
//! ([`Ceremony::kept`]), and everybody re-derives every byte of the others from their opened seeds:
//! a share that is not right passes with chance 1 in the number of sets, and is named otherwise.
//!
//! # Opening
//!
//! A release of joint keys is re-randomised and not flooded. Trustee i of a set T adds to its share
//! of `c1 s` flooding f_i and a part z_i of zero, which the pairs of T agree on (the sum of all z
//! is 0), rounds the result to one prime, and sends
//!
//! ```text
//! d_i = round( c1 s'_i + f_i + z_i )      s'_i = s_i, or Lagrange's factor times its Shamir share
//! ```
//!
//! and the student reads the slots of `round(c0) + sum of d_i`. Lagrange's factor comes before the
//! flooding, so the noise grows with the number of trustees and no more (Mouchet, Bertrand, Hubaux
//! 2022).
//!
//! **Theorem.** Let n trustees hold the key, t of whom open, and each of whom opens one release
//! with at most 8 sets T, so that at most `R = min(C(n, t), 8 n)` sets open it; let the release
//! have X ciphertexts with errors (re-randomisation included) of canonical norm at most B, and `W =
//! 2^b >= 1.53 sqrt(R X) B 2^40`, where each coefficient of f_i is the sum of three uniform
//! integers of b bits. Given the secrets of t - 1 trustees, all public messages and the messages m
//! of a release, all openings of that release are at a statistical distance of at most 2^-40 from
//! what can be computed of these alone, besides the advantage against the pseudo-random functions
//! that f and z are drawn from.
//!
//! **Proof.** *One set T.* Let H be its honest trustees: not empty, as T has t members. The parts z
//! of H are uniform modulo Q but for their sum, which follows from what the adversary knows. So the
//! terms `c1 s'_i + f_i + z_i` of H are uniform but for their sum, and rounding acts on each of
//! them alone: everything that the openings of H show follows from the sum `c1 s_H + F`, s_H being
//! the sum of their s' and F of their f. The adversary's own s' sum up to s - s_H, hence `c1 s_H =
//! Delta m + e - c0 - c1 (s - s_H)` is known but for e. (With H a single trustee, its z
//! is known, and the same holds.) F is f_j for some j of H plus something independent.
//!
//! *All sets.* Every set has an honest trustee, so each honest trustee giving at most 8 openings,
//! and one for each set, there are at most R; no two of them share an f (it is drawn from the set
//! and the release; asked again, a trustee gives the same bytes). By the theorem of
//! [`crate::flooding`], replacing e + f by f in all of them and in all X ciphertexts, a shift of
//! Euclidean norm at most sqrt(R X) B, changes the law by at most 2^-40. What is left is computed
//! from m, c0, c1 and the adversary's own secrets. []
//!
//! The ciphertexts themselves are those of [`crate::flooding`], under a public key whose secret has
//! a summand that the adversary does not know. That flooding by the server is not needed: only who
//! sees phases needs to be kept from e, and phases are seen in openings alone.
//!
//! # Openings that are checked
//!
//! A wrong share turns every slot of the student's sum into junk, without a name. With t < n the
//! trustees then open the release once more, each share by itself at the level of the release,
//! without z and without Lagrange's factor: `d_i = c1 S_i + f_i` with the Shamir share S_i of `D s`
//! ([`crate::quorum`] says why D). The true shares of any t trustees read the same message;
//! [`combine_checked`] looks for the largest set of openings of which every t read the same. With L
//! liars among at least t + 2 L openings, that set has t honest trustees or more, so what it reads
//! is right, and whoever is not in it lied. With t + L + 1 openings it shows that somebody lies.
//!
//! **Theorem.** Let C be the largest norm of the multiples of e in the shares of honest trustees
//! ([`Trustees::shift`](crate::quorum)) and `W >= 1.53 sqrt(X) C B 2^40`. Given the secrets of t -
//! 1 trustees and m, the openings of all others are at a distance of at most 2^-40 from what can be
//! computed of these. **Proof.** `c1 S_i = c_i c1 s` plus a combination of `c1 S_j` over the t - 1
//! known shares, with an integer c_i, and `c1 s = Delta m + e - c0`: the vector of all c_i e over
//! all ciphertexts has norm at most sqrt(X) C B, and the theorem of [`crate::flooding`] replaces
//! it. A trustee gives one such opening of a release: its flooding is the same if it is asked
//! again. []
//!
//! # What is left
//!
//! All t trustees together read every ballot. One who refuses stops n of n. Without a second,
//! larger opening nobody can say whose share of an n of n was wrong. Seeds: the bound T sqrt(k) on
//! the norm of the secret ([`crate::noise`], from five trustees on) and those on the errors hold
//! for seeds drawn at random; trustees who search for seeds whose noise adds up at one root gain a
//! few bits of the 40 that the flooding keeps, and none of the secrecy of a trustee who does not.

mod ceremony;
mod checked;
mod dealing;
mod derivation;
mod error;
mod holder;
mod maker;
mod messages;
mod opening;
mod openings;
mod parts;
mod together;

pub use crate::quorum::{HeldByTrustees, MOST_TRUSTEES, Trustees, TrusteesError};
pub use ceremony::{Ceremony, FirstRound, JointKeys, MessageBytes, commitment};
pub use checked::{CheckedReading, combine_checked};
pub use dealing::Deal;
pub use error::TrusteeError;
pub use holder::TrusteeKey;
pub use maker::KeyMaker;
pub use opening::{PairSecret, combine};
pub use openings::Openings;
pub use parts::Jointly;
pub use together::{Openers, Together};

#[cfg(test)]
mod tests;
