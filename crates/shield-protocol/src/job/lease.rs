//! Leases: several workers share the batches of one job, and none computes what another has begun.
//!
//! A lease is a file, `leases/<n>`, that says who computes batch n and until when. Its holder
//! renews it while it works; whoever finds one that has expired takes it over. A lease saves work
//! and protects nothing: batches are pure, so two workers who both believe that they hold one
//! compute the same bytes, and [`Job::put`] takes them once. Clocks that differ by less than a
//! lease's length, and folders of a network, are therefore good enough.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rand::CryptoRng;
use serde::{Deserialize, Serialize};

use super::folder::Job;
use crate::error::ProtocolError;
use crate::files::read_bounded;
use crate::hex::hex;
use crate::new_file::{Readers, Unnamed, folder_of};
use crate::private;
use shield_core::Watch;

/// More than any lease has.
const MAX_LEASE_FILE: usize = 1 << 10;
/// The longest that a worker waits before it looks again for leases that have expired.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How long a lease lasts unless it is renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseLength(Duration);

impl LeaseLength {
    /// The longest: an hour. What claims to last longer comes from a clock that is wrong.
    pub const LONGEST: u64 = 3600;

    /// So many seconds, from 1 to [`Self::LONGEST`].
    pub fn from_seconds(seconds: u64) -> Option<Self> {
        (1..=Self::LONGEST).contains(&seconds).then(|| Self(Duration::from_secs(seconds)))
    }

    /// As a duration.
    pub fn get(self) -> Duration {
        self.0
    }
}

/// What a lease says.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    holder: String,
    /// Seconds since 1970.
    until: u64,
}

impl Written {
    fn read(path: &Path) -> Option<Self> {
        let bytes = read_bounded(path, MAX_LEASE_FILE).ok()?;
        toml::from_str(&String::from_utf8(bytes).ok()?).ok()
    }

    /// Whether its holder is at work. One that lasts too long was not written by this program.
    fn is_live(&self, now: u64) -> bool {
        (now..=now + LeaseLength::LONGEST).contains(&self.until)
    }
}

/// The time that leases are held against. Tests have a clock of their own.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Seconds since 1970.
    fn now(&self) -> u64;

    /// Waits before the leases of others are looked at again.
    fn wait(&self, time: Duration);
}

#[derive(Debug)]
struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }

    fn wait(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// Somebody who computes batches, told apart from all others by a random name.
#[derive(Clone, Debug)]
pub struct Worker {
    name: String,
    clock: Arc<dyn Clock>,
}

impl Worker {
    /// A new one.
    pub fn new<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        Self::with_clock(rng, Arc::new(SystemClock))
    }

    /// The same, with a clock of its own.
    pub fn with_clock<R: CryptoRng + ?Sized>(rng: &mut R, clock: Arc<dyn Clock>) -> Self {
        let mut name = [0; 16];
        rng.fill_bytes(&mut name);
        Self { name: hex(&name), clock }
    }
}

/// The right to compute a batch, as long as it is renewed. Given up when it is dropped.
#[derive(Debug)]
pub struct Lease {
    path: PathBuf,
    worker: Worker,
    length: LeaseLength,
}

impl Lease {
    /// Takes a lease that nobody holds, or holds any more.
    fn take(path: PathBuf, worker: &Worker, length: LeaseLength) -> io::Result<Option<Self>> {
        // Looked at first: what is not there yet is made, and never taken from whoever is quicker.
        let is_there = path.exists();
        let known = Written::read(&path);
        let now = worker.clock.now();
        if known.is_some_and(|known| known.holder != worker.name && known.is_live(now)) {
            return Ok(None);
        }
        let lease = Self { path, worker: worker.clone(), length };
        if is_there {
            // If several take over at once, the last to write has it.
            lease.renew()?;
            return Ok(lease.is_ours().then_some(lease));
        }
        let file = Unnamed::write(&lease.path, Readers::Everyone, &lease.text())?;
        match file.name(&lease.path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
            named => named.map(|()| Some(lease)),
        }
    }

    fn text(&self) -> Vec<u8> {
        let until = self.worker.clock.now() + self.length.0.as_secs();
        let written = Written { holder: self.worker.name.clone(), until };
        toml::to_string(&written).expect("a string and a number").into_bytes()
    }

    /// Lets it last from now on. Others never read half of it.
    fn renew(&self) -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(".shield-")
            .suffix(".tmp")
            .tempfile_in(folder_of(&self.path))?;
        file.write_all(&self.text())?;
        file.persist(&self.path).map(drop).map_err(|error| error.error)
    }

    fn is_ours(&self) -> bool {
        Written::read(&self.path).is_some_and(|known| known.holder == self.worker.name)
    }

    /// Does some work, and renews the lease as long as it takes.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        std::thread::scope(|scope| {
            let (done, is_done) = mpsc::channel::<()>();
            scope.spawn(move || {
                let third = self.length.0 / 3;
                while is_done.recv_timeout(third) == Err(RecvTimeoutError::Timeout) {
                    // A lease that cannot be renewed expires, and then another does the same work.
                    let _ = self.renew();
                }
            });
            let made = work();
            drop(done);
            made
        })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // What another has taken over is the other's.
        if self.is_ours() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Job {
    /// Leases a batch: none if it is computed, or if somebody else has it.
    pub fn lease(
        &self,
        batch: usize,
        worker: &Worker,
        length: LeaseLength,
    ) -> Result<Option<Lease>, ProtocolError> {
        self.check(batch)?;
        let folder = self.path().join("leases");
        let cannot = |source| ProtocolError::Write { path: folder.clone(), source };
        private::make_folder(&folder).map_err(cannot)?;
        if self.has(batch) {
            return Ok(None);
        }
        let lease = Lease::take(folder.join(batch.to_string()), worker, length).map_err(cannot)?;
        // Whoever had it may have finished just before.
        Ok(lease.filter(|_| !self.has(batch)))
    }

    /// Computes batches together with all others who do the same, until all of `asked` are there.
    /// Gives how many of them this worker computed; the watch hears how many are done.
    pub fn share(
        &self,
        asked: impl Fn(usize) -> bool,
        worker: &Worker,
        length: LeaseLength,
        watch: &Watch,
    ) -> Result<usize, ProtocolError> {
        let (mut computed, mut watched) = (0, None);
        loop {
            let mut missing = self.missing();
            missing.retain(|&batch| asked(batch));
            if watched.is_none() {
                watch.begin("aggregating", missing.len() as u64);
            }
            let of = *watched.get_or_insert(missing.len());
            watch.tell((of - missing.len().min(of)) as u64, of as u64);
            if missing.is_empty() {
                return Ok(computed);
            }
            let before = computed;
            for (place, &batch) in missing.iter().enumerate() {
                let Some(lease) = self.lease(batch, worker, length)? else { continue };
                let release = lease.during(|| self.run_batch(batch))?;
                self.put(batch, &release)?;
                computed += 1;
                let left = missing.len() - place - 1;
                watch.tell((of - left.min(of)) as u64, of as u64);
            }
            if computed == before {
                worker.clock.wait(LOOK_AGAIN.min(length.0 / 4));
            }
        }
    }
}
