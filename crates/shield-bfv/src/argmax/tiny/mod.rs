//! Tiny ballots: 17 bits per sample and class, hidden by the teacher's own share of the noise.
//!
//! A checked ballot is a ciphertext: megabytes for a batch, whatever the number of
//! samples. A tiny one is a row of samples of module learning with errors modulo t whose *errors
//! are the noise* that the teacher adds anyway: the imperfection of the encryption is the privacy
//! of the label. What it takes beside that is one sealed seed of 1,088 bytes per batch.
//!
//! | module | subject |
//! |---|---|
//! | `seal` | seeds that only the student opens |
//! | `teacher`, `residues` | secrets, public polynomials, ballots; their bytes |
//! | `unlocking` | what server and student say to each other before the aggregation |
//! | `phases` | from the sum of the ballots to encrypted differences |
//! | `keys`, `engine` | all of it behind the trait that engines share |
//!
//! # The scheme
//!
//! Let R be `Z_t[Z]/(Z^d + 1)`, d at least 16 and the number of classes, and r the rank
//! (`argmax::mlwe`). A *context* c is the digest of the election with all that its teachers were
//! shown, of the keys and of the batch; it stands for polynomials a_(p,k), k < r, uniform in R, for
//! every polynomial p of a ballot. A teacher with votes m and shares of the noise e
//!
//! 1. seals: coins = H(c, 32 fresh bytes, m + e), and (seed, capsule) = Encapsulate(coins);
//! 2. expands: (s_1, ..., s_r) = H(c, seed), uniform in R^r;
//! 3. sends the capsule and, of b_p = sum over k of a_(p,k) s_k + (m + e)_p, the coefficients that
//!    hold classes of samples.
//!
//! The server adds up the b of those who are present, B, and asks the student, with the capsules
//! and nothing else. The student opens the seeds and returns one encryption of S, the sum of the
//! secrets, under its own key. Since B - sum over k of a_k S_k is the sum of all m + e, the server
//! gets the encrypted noisy counts by a linear map (`argmax::mlwe`'s route), and goes on as with
//! checked ballots: the student sees the label and nothing else (`argmax::wins`).
//!
//! # Who sees what
//!
//! **Claim.** To whoever has neither the student's key nor a teacher's secret, that teacher's
//! ballot is a capsule and uniform residues, whatever its votes. **Proof**, for random oracles H.
//! (1) The student opens capsules for the server and answers with ciphertexts; ML-KEM is secure
//! against chosen ciphertexts, so the teacher's seed may be replaced by a uniform one that is in
//! nothing else. (2) The secret is then uniform in R^r. (3) The a_(p,k) are uniform, and e has the
//! law of a share: b - m is a row of samples of module learning with errors, so b may be replaced
//! by uniform residues. The same a serve all teachers, whose secrets are independent: one teacher
//! after the other. [] How hard (3) is: `argmax::mlwe`'s table, which the planner holds every
//! election to; a share of the noise below a deviation of 0.8 is refused.
//!
//! | who | sees | and not |
//! |---|---|---|
//! | server | ballots, capsules, an encryption of S | votes, secrets, labels |
//! | student | capsules, so all secrets; labels | ballots: it must not be given any |
//! | student and server together | every m + e, as with checked ballots | |
//!
//! **Labels are hints.** A label is a function of the noisy counts, so whoever sees labels beside
//! the ballots knows something of the errors. Let it even know the sums of all errors and of all
//! secrets of h honest teachers. For h = 1 that is the ballot's phase, and the ballot is simulated
//! from it: choose s, and set b. For h > 1, any sum of some of the ballots with whole weights has,
//! given the sum of all, an error of at least (h - 1)/h of the variance of a share: that is what
//! the best attack that we know meets. A reduction, for Gaussian errors: replace one ballot after
//! the other by uniform residues, each with the sum of those before as its partner; given their
//! sum, the error of ballot i + 1 has i/(i + 1) of its variance, so the worst step has errors of
//! 0.71 of the deviation. For Skellam errors this is an assumption. In truth labels say far less
//! than sums.
//!
//! # The rule that a secret hides one ballot
//!
//! Two ballots under the same a and s differ by what they hide. So **no two different ballots have
//! the same a and s**: the coins, and with them seed and secret, are a digest of everything that a
//! ballot hides and belongs to, besides fresh bytes. A teacher's program that is asked twice, is
//! restored from a backup or has a generator that repeats itself sends the same ballot again or one
//! under another secret; there is nothing to keep a journal of. The tests in `tests/once.rs` break
//! the rule and see the votes.
//!
//! The student's side of it: one unlocking per batch, of at least as many ballots as the noise has
//! shares, no two of them with the same capsule ([`Unlocks`](shield_core::engine::Unlocks)). The
//! labels of two sets that differ in one ballot would cost more than the price of one.
//!
//! # What is not checked
//!
//! - A teacher can send any residues: votes that are none, noise that is too little. Tiny ballots
//!   carry no proof.
//! - A student that departs from the protocol chooses what it encrypts in place of S, and so shifts
//!   counts, also out of the range that the circuit compares. All that it ever sees follows from
//!   the noisy counts, so against it the price of the noisy counts holds, not that of the label.
//! - Ballots are not signed: a server can make ballots of its own in the place of teachers who sent
//!   none, as it can with checked ones that are not signed.
//!
//! # Size and time
//!
//! With 10 classes a vote takes 21.25 bytes, and its part of capsule and frame. The work of the
//! server hardly depends on the number of teachers, whose ballots it only adds up. Where a batch is
//! as full as can be, some places stay empty (`argmax::mlwe`'s grid): 1,970 samples of 10 classes
//! and not 2,048.

mod engine;
mod keys;
mod phases;
mod residues;
mod seal;
mod teacher;
mod unlocking;

pub use engine::{TinyBallot, TinyEngine};
pub use keys::{TinyEvaluationKey, TinyPublicKey, TinySecretKey};

#[cfg(test)]
mod tests;
