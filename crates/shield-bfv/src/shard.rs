//! Shards of teachers: an aggregation whose ballots no single machine reads.
//!
//! The tally and the sums of the check are linear in the ballots. So each shard of the teachers
//! adds up its own, the shards are added up in any order, and what remains to be done, from the
//! unanimity test on, starts from the same numbers modulo the same primes: the release has the very
//! bytes that one machine would compute. Every shard needs to know who is present and the digest of
//! every ballot, because draws and coefficients follow from those, but opens its own ballots only.
//!
//! As bytes a shard is
//!
//! ```text
//! magic "SHPT" | version u16 | 0 u16 | binding 32 | key 32 | batch u64 | first u32 | end u32
//! tallies | sums of the check | checksum 32
//! ```
//!
//! A shard always holds the sums of the check, whatever [`BallotCheck`](crate::BallotCheck) says.
//! Shards hold sums of ballots under known weights: they belong to the server like ballots do.

use std::ops::Range;

use rayon::prelude::*;
use shield::Seed;
use shield::backend::{BallotBox, ShardError, urns};
use shield::framing::Reader;

use crate::aggregation::{Aggregation, Examination, challenge, voters};
use crate::backend::BfvBackend;
use crate::ballot::BfvBallot;
use crate::bytes::{read_poly, write_poly};
use crate::error::BfvError;
use crate::keys::{EvaluationKey, KeyId};
use crate::plan::sizes::poly_bytes;
use crate::release::Release;
use crate::ring::{Poly, Values};
use crate::scheme::Ciphertext;
use crate::validity::ReducedSums;

const MAGIC: [u8; 4] = *b"SHPT";
const VERSION: u16 = 1;
const HEAD: usize = 4 + 2 + 2 + 32 + 32 + 8 + 4 + 4;
const CHECKSUM: usize = 32;
/// Polynomials of the sums of the check, per ciphertext of a ballot.
const POLYS_OF_CHECK: usize = 10;

/// What some teachers' ballots add to the aggregation of a batch.
pub struct Shard {
    teachers: Range<u32>,
    batch: usize,
    key: KeyId,
    tallies: Vec<Ciphertext>,
    sums: Vec<ReducedSums>,
}

impl std::fmt::Debug for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Shard");
        shown.field("teachers", &self.teachers).field("batch", &self.batch).finish_non_exhaustive()
    }
}

impl Shard {
    /// Whose ballots are in it.
    pub fn teachers(&self) -> Range<u32> {
        self.teachers.clone()
    }
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

impl BfvBackend {
    /// What the ballots of some teachers add to a batch. The box opens those, and knows the
    /// presence of everybody; it should know everybody's digest, or all ballots are opened for it.
    pub fn shard<B: BallotBox<BfvBallot>>(
        &self,
        key: &EvaluationKey,
        batch: usize,
        ballots: &B,
        seed: &Seed,
        teachers: Range<u32>,
    ) -> Result<Shard, ShardError> {
        self.check_aggregation(key, batch).map_err(ShardError::engine)?;
        let all = self.plan().teachers() as u32;
        if teachers.start >= teachers.end || teachers.end > all {
            return Err(ShardError::Teachers { range: teachers, teachers: all });
        }
        let aggregation = self.aggregation(key, batch, seed);
        let (tallies, sums) = aggregation.shard(ballots, &teachers).map_err(ShardError::engine)?;
        Ok(Shard { teachers, batch, key: key.id, tallies, sums })
    }

    /// Shards of neighbours, in order, as one: bytes in, bytes out. A polynomial of each shard is
    /// unpacked at a time, because shards are large and all of them are in memory already.
    pub fn merge_encoded(
        &self,
        shards: &[&[u8]],
        batch: usize,
        key: KeyId,
    ) -> Result<Vec<u8>, ShardError> {
        let mut all: Option<Range<u32>> = None;
        let mut bodies = Vec::with_capacity(shards.len());
        for bytes in shards {
            let (teachers, body) = self.check_shard(bytes, batch, key)?;
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
        let mut out = Vec::with_capacity(self.shard_size());
        self.write_head(&mut out, &all.ok_or(ShardError::Damaged)?, batch, key);
        out.resize(self.shard_size() - CHECKSUM, 0);
        let size = poly_bytes(self.plan(), self.context().limbs());
        out[HEAD..].par_chunks_mut(size).enumerate().try_for_each(|(i, sum)| {
            let parts = bodies.iter().map(|body| &body[i * size..][..size]);
            self.add_packed(sum, parts).ok_or(ShardError::Damaged)
        })?;
        let checksum = blake3::hash(&out);
        out.extend(checksum.as_bytes());
        Ok(out)
    }

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

    /// The release of a batch, once all teachers are in the shard: the bytes that
    /// [`Backend::aggregate`](shield::backend::Backend::aggregate) gives. No ballot is opened.
    pub fn release_shard<B: BallotBox<BfvBallot>>(
        &self,
        key: &EvaluationKey,
        batch: usize,
        ballots: &B,
        seed: &Seed,
        whole: Shard,
    ) -> Result<Release, ShardError> {
        self.check_aggregation(key, batch).map_err(ShardError::engine)?;
        if (whole.batch, whole.key) != (batch, key.id) {
            return Err(ShardError::Damaged);
        }
        let teachers = self.plan().teachers() as u32;
        if whole.teachers != (0..teachers) {
            return Err(ShardError::Incomplete { range: whole.teachers, teachers });
        }
        let aggregation = self.aggregation(key, batch, seed);
        let release = aggregation.release_of_shards(ballots, whole.tallies, &whole.sums);
        release.map_err(ShardError::engine)
    }

    /// A shard as bytes.
    pub fn encode_shard(&self, shard: &Shard) -> Vec<u8> {
        let context = self.context();
        let mut out = Vec::with_capacity(self.shard_size());
        self.write_head(&mut out, &shard.teachers, shard.batch, shard.key);
        for poly in shard.tallies.iter().flat_map(|tally| &tally.parts) {
            write_poly(&mut out, context, poly);
        }
        for poly in shard.sums.iter().flat_map(ReducedSums::polys) {
            write_poly(&mut out, context, poly);
        }
        let checksum = blake3::hash(&out);
        out.extend(checksum.as_bytes());
        out
    }

    fn write_head(&self, out: &mut Vec<u8>, teachers: &Range<u32>, batch: usize, key: KeyId) {
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        out.extend([0; 2]);
        out.extend(self.binding);
        out.extend(key.as_bytes());
        out.extend((batch as u64).to_le_bytes());
        out.extend(teachers.start.to_le_bytes());
        out.extend(teachers.end.to_le_bytes());
    }

    /// A shard of a batch from bytes.
    pub fn decode_shard(
        &self,
        bytes: &[u8],
        batch: usize,
        key: KeyId,
    ) -> Result<Shard, ShardError> {
        let (teachers, body) = self.check_shard(bytes, batch, key)?;
        self.read_shard(teachers, body, batch, key).ok_or(ShardError::Damaged)
    }

    /// Whose ballots are in a shard of this batch, and its polynomials as bytes.
    fn check_shard<'b>(
        &self,
        bytes: &'b [u8],
        batch: usize,
        key: KeyId,
    ) -> Result<(Range<u32>, &'b [u8]), ShardError> {
        let checked = || {
            let (content, checksum) = bytes.split_last_chunk::<CHECKSUM>()?;
            let whole = bytes.len() == self.shard_size();
            if !whole || blake3::hash(content).as_bytes() != checksum {
                return None;
            }
            let mut reader = Reader::new(content);
            let sound = reader.array()? == MAGIC
                && reader.array()? == VERSION.to_le_bytes()
                && reader.array()? == [0; 2]
                && reader.array()? == self.binding
                && reader.array()? == *key.as_bytes()
                && reader.array()? == (batch as u64).to_le_bytes();
            let teachers = u32::from_le_bytes(reader.array()?)..u32::from_le_bytes(reader.array()?);
            let fits =
                teachers.start < teachers.end && teachers.end <= self.plan().teachers() as u32;
            (sound && fits).then(|| (teachers, &content[HEAD..]))
        };
        checked().ok_or(ShardError::Damaged)
    }

    fn read_shard(
        &self,
        teachers: Range<u32>,
        body: &[u8],
        batch: usize,
        key: KeyId,
    ) -> Option<Shard> {
        let (context, mut reader) = (self.context(), Reader::new(body));
        let limbs = context.limbs();
        let mut tallies = Vec::with_capacity(self.shard_ciphertexts());
        for _ in 0..self.shard_ciphertexts() {
            let parts =
                [read_poly(&mut reader, context, limbs)?, read_poly(&mut reader, context, limbs)?];
            tallies.push(Ciphertext { parts });
        }
        let mut sums = Vec::new();
        for _ in 0..self.plan().layout().planes() {
            let polys = (0..POLYS_OF_CHECK).map(|_| read_poly(&mut reader, context, limbs));
            sums.push(ReducedSums::from_polys(polys.collect::<Option<Vec<_>>>()?)?);
        }
        Some(Shard { teachers, batch, key, tallies, sums })
    }

    /// Ciphertexts of the tallies of a batch.
    fn shard_ciphertexts(&self) -> usize {
        let layout = self.plan().layout();
        layout.ciphertexts() * layout.planes()
    }

    /// Bytes of every shard.
    pub fn shard_size(&self) -> usize {
        let planes = self.plan().layout().planes();
        let polys = 2 * self.shard_ciphertexts() + POLYS_OF_CHECK * planes;
        HEAD + polys * poly_bytes(self.plan(), self.context().limbs()) + CHECKSUM
    }
}
