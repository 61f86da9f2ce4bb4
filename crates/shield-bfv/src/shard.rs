//! Shards of teachers: an aggregation whose ballots no single machine reads.
//!
//! The tally and the sums of the check are linear in the ballots. So each shard of the teachers
//! adds up its own, the shards are added up in any order, and what remains to be done, from the
//! unanimity test on, starts from the same numbers modulo the same primes: the release has the very
//! bytes that one machine would compute. Every shard needs to know who is present and the digest of
//! every ballot, because draws and coefficients follow from those, but opens its own ballots only.
//!
//! As bytes, in the frame of [`shield_core::framing`], a shard is the range of its teachers (two
//! u32), its tallies, and its sums of the check.
//!
//! A shard always holds the sums of the check, whatever [`BallotCheck`](crate::BallotCheck) says.
//! Shards hold sums of ballots under known weights: they belong to the server like ballots do.

use std::ops::Range;

use rayon::prelude::*;
use shield_core::Seed;
use shield_core::engine::{BallotBox, Engine, ShardError, Shards, urns};
use shield_core::framing::{Kind, MadeFor, Reader, check_place, open, seal};

use crate::aggregation::{Aggregation, Examination, challenge, voters};
use crate::ballot::BfvBallot;
use crate::bytes::{read_ciphertexts, read_poly, write_ciphertexts, write_poly};
use crate::engine::BfvEngine;
use crate::error::BfvError;
use crate::keys::{EvaluationKey, KeyId};
use crate::layout::Layout;
use crate::plan::{CHECK_POLYS, RANGE};
use crate::release::Release;
use crate::ring::{Poly, Values};
use crate::scheme::Ciphertext;
use crate::validity::ReducedSums;

/// What some teachers' ballots add to the aggregation of a batch.
struct Shard {
    teachers: Range<u32>,
    tallies: Vec<Ciphertext>,
    sums: Vec<ReducedSums>,
}

impl Aggregation<'_> {
    /// What one shard of the teachers adds to the tallies and to the sums of the check.
    fn shard<B: BallotBox<BfvBallot>>(
        &self,
        ballots: &B,
        teachers: &Range<u32>,
    ) -> Result<(Vec<Ciphertext>, Vec<ReducedSums>), BfvError> {
        let urns = urns(self.election, self.samples.len(), ballots)?;
        let mut selected = self.select(&urns, &self.shifts()).ballots;
        selected.retain(|one| teachers.contains(&one.teacher));
        let mut examination = Examination::of_shard(self, ballots, teachers)?;
        let tallies = self.tally_ballots(&selected, |t| examination.open(t))?;
        Ok((tallies, examination.into_sums()?))
    }

    /// The release from what all shards together add.
    fn release_of_shards<B: BallotBox<BfvBallot>>(
        &self,
        ballots: &B,
        mut tallies: Vec<Ciphertext>,
        sums: &[ReducedSums],
    ) -> Result<Release, BfvError> {
        let urns = urns(self.election, self.samples.len(), ballots)?;
        let shifts = self.shifts();
        let selected = self.select(&urns, &shifts);
        self.add_plaintexts(&mut tallies, selected.plaintexts);
        let voters = voters(self.election.teachers(), ballots)?;
        let validity = self.validity(challenge(self, &voters, ballots)?);
        let checks = self.lowered(validity.of_sums(sums, &voters));
        Ok(self.release(tallies, &checks, &shifts))
    }
}

impl Shards<Self> for BfvEngine {
    fn shard(
        &self,
        key: &EvaluationKey,
        batch: usize,
        ballots: &dyn BallotBox<BfvBallot>,
        seed: &Seed,
        teachers: Range<u32>,
    ) -> Result<Vec<u8>, ShardError> {
        self.check_aggregation(key, batch).map_err(ShardError::engine)?;
        let all = self.plan().teachers() as u32;
        if teachers.start >= teachers.end || teachers.end > all {
            return Err(ShardError::Teachers { range: teachers, teachers: all });
        }
        let aggregation = self.aggregation(key, batch, seed);
        let (tallies, sums) = aggregation.shard(&ballots, &teachers).map_err(ShardError::engine)?;
        Ok(self.encode_shard(&Shard { teachers, tallies, sums }, batch, key.id))
    }

    /// A polynomial of each shard is unpacked at a time, because shards are large and all of them
    /// are in memory already.
    fn merge(
        &self,
        key: &EvaluationKey,
        batch: usize,
        shards: &[&[u8]],
    ) -> Result<Vec<u8>, ShardError> {
        let mut all: Option<Range<u32>> = None;
        let mut bodies = Vec::with_capacity(shards.len());
        for bytes in shards {
            let (teachers, body) = self.check_shard(bytes, batch, key.id)?;
            let start = match all {
                Some(before) if before.end != teachers.start => {
                    return Err(ShardError::Gap { end: before.end, start: teachers.start });
                }
                Some(before) => before.start,
                None => teachers.start,
            };
            all = Some(start..teachers.end);
            bodies.push(body);
        }
        let all = all.ok_or(ShardError::Damaged)?;
        let size = self.plan().ring().poly_bytes(self.context().limbs());
        let mut added = None;
        let merged = self.seal_shard(&all, batch, key.id, |out| {
            out.resize(out.len() + self.plan().payload_bytes(Kind::Shard) - RANGE, 0);
            let start = out.len() + RANGE - self.plan().payload_bytes(Kind::Shard);
            let sums = out[start..].par_chunks_mut(size).enumerate();
            added = sums
                .map(|(i, sum)| self.add_packed(sum, bodies.iter().map(|b| &b[i * size..][..size])))
                .collect();
        });
        added.map(|()| merged).ok_or(ShardError::Damaged)
    }

    /// No ballot is opened.
    fn release(
        &self,
        key: &EvaluationKey,
        batch: usize,
        ballots: &dyn BallotBox<BfvBallot>,
        seed: &Seed,
        whole: &[u8],
    ) -> Result<Release, ShardError> {
        self.check_aggregation(key, batch).map_err(ShardError::engine)?;
        let (range, body) = self.check_shard(whole, batch, key.id)?;
        let whole = self.read_shard(range, body).ok_or(ShardError::Damaged)?;
        let teachers = self.plan().teachers() as u32;
        if whole.teachers != (0..teachers) {
            return Err(ShardError::Incomplete { range: whole.teachers, teachers });
        }
        let aggregation = self.aggregation(key, batch, seed);
        let release = aggregation.release_of_shards(&ballots, whole.tallies, &whole.sums);
        release.map_err(ShardError::engine)
    }
}

impl BfvEngine {
    /// The sum of packed polynomials, packed.
    fn add_packed<'b>(&self, to: &mut [u8], parts: impl Iterator<Item = &'b [u8]>) -> Option<()> {
        let context = self.context();
        let mut sum: Poly<Values> = Poly::zero(context.degree(), context.limbs());
        for part in parts {
            let next = read_poly(&mut Reader::new(part), context, context.limbs())?;
            context.add(&mut sum, &next);
        }
        let mut packed = Vec::with_capacity(to.len());
        write_poly(&mut packed, context, &sum);
        to.copy_from_slice(&packed);
        Some(())
    }

    /// A shard as bytes.
    fn encode_shard(&self, shard: &Shard, batch: usize, key: KeyId) -> Vec<u8> {
        let context = self.context();
        self.seal_shard(&shard.teachers, batch, key, |out| {
            write_ciphertexts(out, context, &shard.tallies);
            for poly in shard.sums.iter().flat_map(ReducedSums::polys) {
                write_poly(out, context, poly);
            }
        })
    }

    /// The frame of a shard, with the polynomials that `write` appends.
    fn seal_shard(
        &self,
        teachers: &Range<u32>,
        batch: usize,
        key: KeyId,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Vec<u8> {
        let made_for = MadeFor { batch, key };
        seal(Kind::Shard, self.binding(), made_for, self.plan().payload_bytes(Kind::Shard), |out| {
            out.extend(teachers.start.to_le_bytes());
            out.extend(teachers.end.to_le_bytes());
            write(out);
        })
    }

    /// Whose ballots are in a shard of this batch, and its polynomials as bytes.
    fn check_shard<'b>(
        &self,
        bytes: &'b [u8],
        batch: usize,
        key: KeyId,
    ) -> Result<(Range<u32>, &'b [u8]), ShardError> {
        let (kind, binding) = (Kind::Shard, self.binding());
        let checked = || {
            check_place(bytes, kind, binding, batch, Some(key)).ok()?;
            let (_, payload) =
                open(bytes, kind, binding, &[self.plan().payload_bytes(Kind::Shard)]).ok()?;
            let mut reader = Reader::new(payload);
            let teachers = u32::from_le_bytes(reader.array()?)..u32::from_le_bytes(reader.array()?);
            let fits =
                teachers.start < teachers.end && teachers.end <= self.plan().teachers() as u32;
            fits.then(|| (teachers, &payload[RANGE..]))
        };
        checked().ok_or(ShardError::Damaged)
    }

    fn read_shard(&self, teachers: Range<u32>, body: &[u8]) -> Option<Shard> {
        let (context, mut reader) = (self.context(), Reader::new(body));
        let limbs = context.limbs();
        let tallies = read_ciphertexts(&mut reader, context, tallies(self.plan().layout()), limbs)?;
        let mut sums = Vec::new();
        for _ in 0..self.plan().layout().planes() {
            let polys = (0..CHECK_POLYS).map(|_| read_poly(&mut reader, context, limbs));
            sums.push(ReducedSums::from_polys(polys.collect::<Option<Vec<_>>>()?)?);
        }
        Some(Shard { teachers, tallies, sums })
    }
}

/// Ciphertexts of the tallies of a batch.
fn tallies(layout: &Layout) -> usize {
    layout.ciphertexts() * layout.planes()
}
