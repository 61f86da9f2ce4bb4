//! A server in this process, and parties that talk to it.

#![allow(unreachable_pub, reason = "every test file is a crate of its own")]
#![allow(dead_code, reason = "every test file uses its own part")]

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;
use shield_client::{self as client, Client, ClientError, Invitation};
use shield_core::Watch;
use shield_core::engine::{ClearEngine, Engine, MemoryBallotBox};
use shield_core::{Class, Label, Seed, Vote};
use shield_protocol::bundle::{BundleWriter, Content};
use shield_protocol::credentials::{Role, Token};
use shield_protocol::engine::EncodedKeys;
use shield_protocol::ledger::Budget;
use shield_protocol::{ElectionFile, KeyFiles, PlannedElection, Receipt};
use shield_server::tls::{Certificate, self_signed};
use shield_server::{Aggregation, ServeError, Service, Settings, serve};
use tempfile::TempDir;
use tokio::sync::oneshot;

/// A server that runs until it is dropped.
pub struct Running {
    pub url: String,
    pub operator: Invitation,
    pub monitor: Token,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

pub fn settings(data: &Path) -> Settings {
    Settings {
        data: data.to_owned(),
        database: None,
        budget: Budget { epsilon: 1000.0, ..Budget::default() },
        uploads: 32,
        patience: Duration::from_secs(2),
        // Tests stall many uploads of one token at once.
        uploads_per_token: 32,
        ..Settings::default()
    }
}

impl Running {
    /// Starts a server with a self-signed certificate.
    pub fn start(settings: Settings) -> Self {
        let certificate = self_signed(&settings.data).expect("a certificate");
        Self::start_with(settings, Some(certificate), Aggregation::Here)
    }

    /// Starts a server that speaks plain HTTP, for tests that write the bytes themselves.
    pub fn start_plain(settings: Settings) -> Self {
        Self::start_with(settings, None, Aggregation::Here)
    }

    /// Starts a server that leaves aggregations to others.
    pub fn start_with_jobs(settings: Settings) -> Self {
        Self::start_with(settings, None, Aggregation::Elsewhere)
    }

    fn start_with(
        settings: Settings,
        certificate: Option<Certificate>,
        aggregation: Aggregation,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let scheme = if certificate.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}", listener.local_addr().expect("an address"));
        let chain = certificate.as_ref().map(|certificate| &certificate.chain);
        let pem = chain.map(|chain| std::fs::read_to_string(chain).expect("a chain"));
        // The same token each time: a server that starts again has the same operator.
        let token = Token::random(&mut StdRng::seed_from_u64(7));
        let operator = Invitation::new(&url, &Role::Operator, None, pem.as_deref(), token.clone());
        let monitor = Token::random(&mut StdRng::seed_from_u64(8));
        let reads_metrics = monitor.hash();
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            runtime.block_on(async {
                let service = Service::open(&settings).await?;
                service.add(&token.hash(), &Role::Operator).await?;
                service.add(&reads_metrics, &Role::Monitor).await?;
                let _ = ready.send(());
                let stop = async {
                    let _ = stopped.await;
                };
                let never = std::future::pending;
                serve(service, listener, certificate, aggregation, stop, never).await
            })
        });
        is_ready.recv_timeout(Duration::from_mins(1)).expect("the server starts");
        Self { url, operator, monitor, stop: Some(stop), thread: Some(thread) }
    }

    pub fn client(&self, invitation: &Invitation) -> Client {
        // A server that was started again has another port.
        let invitation = Invitation { server: self.url.clone(), ..invitation.clone() };
        Client::new(&invitation).expect("a client").with_patience(Duration::from_mins(1))
    }

    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic").expect("a clean end");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.end();
        }
    }
}

/// What some work in the background comes to.
pub fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(work)
}

/// Waits for what must come, on a machine that may have much else to do.
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_mins(5), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A server with an election that takes ballots, in a folder of their own.
pub fn open(file: PlannedElection) -> (TempDir, Running, Parties) {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Running::start(settings(&folder.path().join("data")));
    let parties = Parties::create(&server, file, folder.path());
    parties.submit_keys(&server);
    (folder, server, parties)
}

/// A small election of three classes.
pub fn election(name: &str, teachers: usize, samples: usize, quorum: usize) -> PlannedElection {
    let setting = "classes = 3\npolynomial = \"2X^2+X\"\noffset = 2";
    election_with(setting, name, teachers, samples, quorum)
}

/// An election with these lines in its file.
pub fn election_with(
    setting: &str,
    name: &str,
    teachers: usize,
    samples: usize,
    quorum: usize,
) -> PlannedElection {
    let teachers: Vec<String> = (0..teachers).map(|teacher| format!("t{teacher}")).collect();
    let text = format!(
        "name = \"{name}\"\ngroup = \"everybody\"\nsamples = {samples}\nquorum = {quorum}\n\
         {setting}\nteachers = {teachers:?}\n"
    );
    ElectionFile::parse(&text).expect("a sound file").plan()
}

/// The parties of one election, with everything in a folder.
pub struct Parties {
    pub file: PlannedElection,
    pub keys: EncodedKeys,
    pub folder: PathBuf,
}

impl Parties {
    /// Creates the election, and the keys; does not upload them.
    pub fn create(server: &Running, file: PlannedElection, folder: &Path) -> Self {
        Self::create_at(&server.client(&server.operator), &server.operator, file, folder)
    }

    /// The same, on a server somewhere else.
    pub fn create_at(
        client: &Client,
        operator: &Invitation,
        file: PlannedElection,
        folder: &Path,
    ) -> Self {
        let mut rng = StdRng::from_seed(file.digest());
        let folder = folder.join(file.name().as_str());
        client::create_election(client, operator, &file, &folder, &mut rng)
            .expect("the election is created");
        let keys = file.engine().make_keys(&mut rng).expect("keys");
        std::fs::write(folder.join("public.key"), &keys.public).expect("written");
        std::fs::write(folder.join("evaluation.key"), &keys.evaluation).expect("written");
        std::fs::write(folder.join("secret.key"), &keys.secret).expect("written");
        Self { file, keys, folder }
    }

    pub fn student(&self) -> Invitation {
        Invitation::read(&self.folder.join("student.toml")).expect("an invitation")
    }

    pub fn teacher(&self, teacher: usize) -> Invitation {
        let path = self.folder.join(format!("teacher-t{teacher}.toml"));
        Invitation::read(&path).expect("an invitation")
    }

    pub fn submit_keys(&self, server: &Running) {
        self.submit_keys_by(&server.client(&self.student()));
    }

    /// The same, on a server somewhere else.
    pub fn submit_keys_by(&self, student: &Client) {
        for kind in ["public", "evaluation"] {
            let path = self.folder.join(format!("{kind}.key"));
            client::submit_key(student, self.file.name(), &path).expect("the key is taken");
        }
        let keys = KeyFiles::in_folder(&self.folder);
        client::rehearse(student, self.file.name(), &keys).expect("the keys work");
    }

    /// Encoded ballots, a batch each, in an election without proofs: anybody's.
    pub fn ballot(&self, votes: &[Vote], seed: u64) -> Vec<Vec<u8>> {
        self.ballot_of(0, votes, seed)
    }

    /// The encoded ballots of a teacher, a batch each.
    pub fn ballot_of(&self, teacher: u32, votes: &[Vote], seed: u64) -> Vec<Vec<u8>> {
        let mut rng = StdRng::seed_from_u64(seed);
        let voting = Arc::clone(self.file.engine()).voting(&self.keys.public).expect("a sound key");
        (0..self.file.batches())
            .map(|batch| {
                let own = &votes[self.file.engine().batch(batch)];
                voting.encrypt(batch, teacher, own, &mut rng).expect("a ballot")
            })
            .collect()
    }

    /// Writes a teacher's ballot file.
    pub fn write_ballot(&self, teacher: usize, votes: &[Vote]) -> PathBuf {
        let parts = self.ballot_of(u32::try_from(teacher).unwrap(), votes, 100 + teacher as u64);
        self.write_parts(teacher, &parts)
    }

    /// Writes a teacher's ballot file of encoded batches.
    pub fn write_parts(&self, teacher: usize, parts: &[Vec<u8>]) -> PathBuf {
        let path = self.folder.join(format!("t{teacher}.ballot"));
        let file = std::fs::File::create(&path).expect("a file");
        let content = Content::Ballot { teacher: u32::try_from(teacher).expect("small") };
        let count = u32::try_from(parts.len()).expect("few");
        let mut bundle =
            BundleWriter::new(file, content, &self.file.digest(), count).expect("written");
        for part in parts {
            bundle.part(part).expect("written");
        }
        path
    }

    pub fn submit(&self, server: &Running, teacher: usize, votes: &[Vote]) {
        let path = self.write_ballot(teacher, votes);
        self.send(server, teacher, &path).expect("the ballot is taken");
    }

    /// Submits a ballot file.
    pub fn send(
        &self,
        server: &Running,
        teacher: usize,
        ballot: &Path,
    ) -> Result<Receipt, ClientError> {
        self.send_by(&server.client(&self.teacher(teacher)), teacher, ballot)
    }

    /// The same, to a server somewhere else.
    pub fn send_by(
        &self,
        client: &Client,
        teacher: usize,
        ballot: &Path,
    ) -> Result<Receipt, ClientError> {
        let invitation = self.teacher(teacher);
        client::submit_ballot(client, &invitation, &self.file, ballot, &Watch::default())
    }

    /// Closes the election, and waits until the results are out.
    pub fn close(&self, server: &Running) {
        client::close(&server.client(&self.student()), self.file.name()).expect("it is closed");
        self.wait(server);
    }

    /// Waits until the results are out.
    pub fn wait(&self, server: &Running) {
        self.wait_by(&server.client(&self.student()));
    }

    /// The same, on a server somewhere else.
    pub fn wait_by(&self, student: &Client) {
        until("the results are out", || {
            let status = client::status(student, self.file.name()).expect("a status");
            match status.stage.as_str() {
                "released" => true,
                "closing" => false,
                stage => panic!("{stage}: {:?}", status.problem),
            }
        });
    }

    /// The bytes of the results, and the labels in them.
    pub fn fetch(&self, server: &Running) -> (Vec<u8>, Vec<Label>) {
        let out = self.folder.join("results");
        let student = server.client(&self.student());
        client::fetch_results(&student, &self.file, &out, &Watch::default()).expect("results");
        let bytes = std::fs::read(&out).expect("read");
        let labels = self.reveal(&bytes);
        (bytes, labels)
    }

    pub fn reveal(&self, results: &[u8]) -> Vec<Label> {
        let path = self.folder.join("revealed");
        std::fs::write(&path, results).expect("written");
        let secret = self.folder.join("secret.key");
        let labels = shield_protocol::reveal(&self.file, &secret, &path).expect("labels");
        labels.as_slice().to_vec()
    }

    /// What the operator in the clear answers on the same draws.
    pub fn reference(&self, votes: &[Option<Vec<Vote>>], seed: &Seed) -> Vec<Label> {
        let clear = ClearEngine::new(self.file.election().clone());
        let mut rng = StdRng::seed_from_u64(9);
        let keys = clear.generate_keys(&mut rng).expect("no keys");
        (0..clear.batches())
            .flat_map(|batch| {
                let samples = clear.batch(batch);
                let ballots = votes.iter().map(|votes| {
                    let votes = votes.as_ref()?;
                    clear.encrypt(&keys.public, batch, &votes[samples.clone()], &mut rng).ok()
                });
                let ballots = MemoryBallotBox::new(samples.len(), ballots.collect());
                let release =
                    clear.aggregate(&keys.evaluation, batch, &ballots, seed).expect("a release");
                clear.decrypt(&keys.secret, batch, &release).expect("labels")
            })
            .collect()
    }
}

/// Votes that mostly agree: sample i is of class i mod 3, and every fifth vote is off by one.
pub fn votes(teacher: usize, samples: usize) -> Vec<Vote> {
    (0..samples)
        .map(|sample| {
            let off = usize::from((sample + 7 * teacher).is_multiple_of(5));
            Some(Class(u16::try_from((sample + off) % 3).expect("small")))
        })
        .collect()
}
