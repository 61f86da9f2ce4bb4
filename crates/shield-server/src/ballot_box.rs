//! The ballots of a batch, where they are stored, and the key to aggregate them with.

use std::collections::HashMap;
use std::sync::Arc;

use shield::backend::{BallotBoxError, Presence};
use shield_protocol::engine::{Aggregating, BallotBytes};

use crate::service::{Service, Setup};
use crate::store::{Object, Store, StoreError, StoredBallot, presence_from_text};

/// The ballots of one batch, in the data folder.
pub(crate) struct StoredBox<'a> {
    store: &'a Store,
    setup: &'a Setup,
    batch: u32,
    ballots: HashMap<u32, &'a StoredBallot>,
}

impl<'a> StoredBox<'a> {
    /// The ballots of those who voted on every batch.
    pub(crate) fn new(
        store: &'a Store,
        setup: &'a Setup,
        batch: u32,
        ballots: &'a [StoredBallot],
        voters: &[u32],
    ) -> Self {
        let own = ballots.iter().filter(|ballot| {
            ballot.batch == batch && voters.binary_search(&ballot.teacher).is_ok()
        });
        let ballots = own.map(|ballot| (ballot.teacher, ballot)).collect();
        Self { store, setup, batch, ballots }
    }

    fn samples(&self) -> usize {
        self.setup.engine.batch(self.batch as usize).len()
    }
}

impl BallotBytes for StoredBox<'_> {
    fn presence(&self, teacher: u32) -> Result<Presence, BallotBoxError> {
        match self.ballots.get(&teacher) {
            None => Ok(Presence::none(self.samples())),
            Some(ballot) => presence_from_text(self.samples(), &ballot.presence).ok_or_else(|| {
                BallotBoxError { teacher, source: StoreError::Damaged("presence").into() }
            }),
        }
    }

    fn bytes(&self, teacher: u32) -> Result<Vec<u8>, BallotBoxError> {
        let refuse = |source| BallotBoxError { teacher, source };
        let ballot = self.ballots.get(&teacher).ok_or_else(|| refuse("it is not stored".into()))?;
        let object = Object::Ballot { teacher, batch: self.batch };
        let bytes = self.store.read(self.setup.file.name(), object, &ballot.hash);
        bytes.map_err(|error| refuse(error.into()))
    }

    fn checksum(&self, teacher: u32) -> Result<Option<[u8; 32]>, BallotBoxError> {
        let Some(ballot) = self.ballots.get(&teacher) else { return Ok(None) };
        let object = Object::Ballot { teacher, batch: self.batch };
        let found = self.store.ballot_checksum(self.setup.file.name(), object, &ballot.hash);
        found.map_err(|error| BallotBoxError { teacher, source: error.into() })
    }
}

/// Why an aggregation could not go on.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The engine with the student's evaluation key.
pub(crate) async fn open_key(
    service: &Service,
    setup: &Arc<Setup>,
) -> Result<Arc<Box<dyn Aggregating>>, Failure> {
    let name = setup.file.name().clone();
    let stored =
        service.store.key(&name, "evaluation").await?.ok_or("there is no evaluation key")?;
    let (store, setup) = (service.store.clone(), Arc::clone(setup));
    let read = move || -> Result<Box<dyn Aggregating>, Failure> {
        let bytes = store.read(&name, Object::EvaluationKey, &stored.hash)?;
        Ok(Arc::clone(&setup.engine).aggregating(&bytes)?)
    };
    Ok(Arc::new(tokio::task::spawn_blocking(read).await??))
}
