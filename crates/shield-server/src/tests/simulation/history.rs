//! One history: steps that a seed chooses, and what must hold after each of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use axum::http::{Method, StatusCode};
use jiff::SignedDuration;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use shield_core::{Class, Vote};
use shield_privacy::filter::Price;
use shield_protocol::credentials::Token;
use shield_protocol::engine::{EncodedKeys, faults};
use shield_protocol::rehearsal::Rehearsal;
use shield_protocol::{ElectionFile, PlannedElection};

use super::world::World;
use crate::store::{Object, Stage};
use crate::turnout::{turnout, with_quorum};
use crate::worker;

/// Whether the program is as it is, or has the bug that is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Faults {
    Honest,
    Planted,
}

/// An invariant that did not hold.
#[derive(Debug)]
pub(super) struct Violation {
    pub(super) seed: u64,
    pub(super) what: String,
    pub(super) steps: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "SHIELD_SEED={}: {}", self.seed, self.what)?;
        self.steps.iter().try_for_each(|step| writeln!(f, "  {step}"))
    }
}

/// An election, as its parties know it.
pub(super) struct Known {
    pub(super) file: PlannedElection,
    keys: EncodedKeys,
    student: Token,
    pub(super) teachers: Vec<Token>,
    /// Each teacher's ballot, by batch.
    ballots: Vec<Vec<Vec<u8>>>,
    /// Hashes of what was acknowledged, by teacher and batch.
    pub(super) acknowledged: BTreeMap<(usize, usize), String>,
    /// What the student fetched, by batch.
    fetched: BTreeMap<usize, Vec<u8>>,
    /// What the voters of the draw cost, at the group's order.
    pub(super) drawn: Option<Price>,
}

pub(super) struct History {
    pub(super) world: World,
    rng: StdRng,
    seed: u64,
    pub(super) elections: Vec<Known>,
    steps: Vec<String>,
    tokens: u64,
    faults: Faults,
    /// What the steps since the last check may have changed.
    pub(super) touched: Touched,
}

/// What is to be checked.
#[derive(Default)]
pub(super) struct Touched {
    /// Elections, by their place.
    pub(super) elections: BTreeSet<usize>,
    /// Whether something may have been drawn or booked.
    pub(super) ledger: bool,
}

/// Runs a history to its end.
pub(super) async fn run(seed: u64, faults: Faults) -> Result<(), Violation> {
    let mut history = History {
        world: World::new(seed, faults).await,
        rng: StdRng::seed_from_u64(seed),
        seed,
        elections: Vec::new(),
        steps: Vec::new(),
        tokens: 1000,
        faults,
        touched: Touched::default(),
    };
    history.create().await?;
    let steps = if faults == Faults::Planted { 50 } else { 28 };
    for _ in 0..steps {
        history.step().await?;
    }
    history.settle().await?;
    Ok(())
}

impl History {
    pub(super) fn violated(&self, what: impl Into<String>) -> Violation {
        Violation { seed: self.seed, what: what.into(), steps: self.steps.clone() }
    }

    fn note(&mut self, step: impl Into<String>) {
        self.steps.push(step.into());
    }

    fn any(&mut self) -> Option<usize> {
        let count = self.elections.len();
        let place = (count > 0).then(|| self.rng.random_range(0..count));
        self.touched.elections.extend(place);
        place
    }

    fn touch_everything(&mut self) {
        self.touched.elections.extend(0..self.elections.len());
        self.touched.ledger = true;
    }

    /// Stops the process and starts it again.
    async fn restart(&mut self) {
        self.world.restart().await;
        self.touch_everything();
    }

    fn token(&mut self) -> Token {
        self.tokens += 1;
        Token::random(&mut StdRng::seed_from_u64(self.seed << 16 | self.tokens))
    }

    async fn step(&mut self) -> Result<(), Violation> {
        // The bug needs an older database: bring one back more often.
        let steps = if self.faults == Faults::Planted { 130 } else { 100 };
        match self.rng.random_range(0..steps) {
            // Once before the draw, and back again after it was seen: what the bug needs.
            101..112 if self.elections.iter().all(|known| known.drawn.is_none()) => {
                self.note("save the database");
                self.world.save().await;
                self.touch_everything();
            }
            112..130 if self.elections.iter().any(|known| !known.fetched.is_empty()) => {
                if self.world.bring_back().await {
                    self.note("bring the saved database back");
                    self.touch_everything();
                }
            }
            0..4 => self.create().await?,
            4..12 => self.open().await?,
            12..42 | 101..115 => self.vote().await?,
            42..45 => self.lose().await,
            45..55 | 115..120 => self.close().await?,
            55..70 | 120..125 => self.work().await?,
            70..80 | 125..130 => self.fetch().await?,
            80..83 => self.call_off().await?,
            83..86 => {
                self.note("restart");
                self.restart().await;
            }
            86..90 => {
                let points = self.rng.random_range(0..3);
                self.note(format!("crash at the {points}th point from here"));
                self.world.crash_after(points);
            }
            90..93 => {
                let full = self.rng.random_bool(0.5);
                self.note(format!("the disk is full: {full}"));
                self.world.fill_disk(full);
            }
            93..95 => {
                let hours = [0, 7200, -48][self.rng.random_range(0..3)];
                self.note(format!("the clock is {hours} hours off"));
                self.world.service.clock.set_wrong(SignedDuration::from_hours(hours));
            }
            95..97 => {
                self.note("save the database");
                self.world.save().await;
                self.touch_everything();
            }
            97..99 => {
                if self.world.bring_back().await {
                    self.note("bring the saved database back");
                    self.touch_everything();
                }
            }
            _ => {
                self.note("price what has no price");
                self.touched.ledger = true;
                for name in self.world.service.store.unpriced().await.unwrap() {
                    self.world.service.price_election(&name).await.unwrap();
                }
            }
        }
        self.check().await
    }

    /// A request whose way there, or whose answer, may get lost. `None` where nobody heard
    /// anything.
    async fn send(
        &mut self,
        method: Method,
        path: &str,
        bearer: &Token,
        body: Vec<u8>,
    ) -> Option<(StatusCode, Vec<u8>)> {
        if self.rng.random_bool(0.05) {
            self.note(format!("{method} {path}: lost"));
            return None;
        }
        let (status, body) = self.world.send(method.clone(), path, bearer, body).await;
        let text = String::from_utf8_lossy(&body);
        let kind = text.split("problem:").nth(1).and_then(|rest| rest.split('"').next());
        let line = format!("{method} {path}: {} {}", status.as_u16(), kind.unwrap_or_default());
        self.note(line);
        // Where the process died, nobody got an answer, and somebody starts it again.
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            if self.world.service.store.full.load(std::sync::atomic::Ordering::Relaxed) {
                return Some((status, body));
            }
            self.note("  died, and is started again");
            self.restart().await;
            return None;
        }
        if self.rng.random_bool(0.05) {
            self.note("  the answer is lost");
            return None;
        }
        Some((status, body))
    }

    async fn create(&mut self) -> Result<(), Violation> {
        self.touched.ledger = true;
        let number = self.elections.len();
        self.touched.elections.insert(number);
        let (teachers, samples) = [(3, 3), (4, 7)][self.rng.random_range(0..2)];
        let names: Vec<String> = (0..teachers).map(|teacher| format!("\"t{teacher}\"")).collect();
        let text = format!(
            "name = \"e{number}\"\ngroup = \"g\"\nclasses = 3\nsamples = {samples}\npolynomial = \
             \"2X^2+X\"\noffset = 5\nquorum = 2\n{}\nteachers = [{}]",
            faults::engine_line(),
            names.join(", ")
        );
        let file = ElectionFile::parse(&text).unwrap().plan();
        let engine = file.engine();
        let keys = engine.make_keys(&mut self.rng).unwrap();
        let voting = Arc::clone(engine).voting(&keys.public).unwrap();
        let mut ballots = Vec::new();
        for teacher in 0..u32::try_from(teachers).unwrap() {
            let votes: Vec<Vote> = (0..samples)
                .map(|_| {
                    let absent = self.rng.random_bool(0.1);
                    (!absent).then(|| Class(self.rng.random_range(0..3)))
                })
                .collect();
            let batches = (0..engine.batches()).map(|batch| {
                let own = &votes[engine.batch(batch)];
                voting.encrypt(batch, teacher, own, &mut self.rng).unwrap()
            });
            ballots.push(batches.collect());
        }
        let student = self.token();
        let tokens: Vec<Token> = (0..teachers).map(|_| self.token()).collect();
        let hashes: serde_json::Map<String, Value> = tokens
            .iter()
            .enumerate()
            .map(|(teacher, token)| (format!("t{teacher}"), json!(token.hash())))
            .collect();
        let document =
            json!({ "file": file.canonical(), "student": student.hash(), "teachers": hashes });
        let operator = self.world.operator.clone();
        let body = document.to_string().into_bytes();
        self.send(Method::POST, "/v1/elections", &operator, body).await;
        self.elections.push(Known {
            file,
            keys,
            student,
            teachers: tokens,
            ballots,
            acknowledged: BTreeMap::new(),
            fetched: BTreeMap::new(),
            drawn: None,
        });
        Ok(())
    }

    /// Keys and rehearsal.
    async fn open(&mut self) -> Result<(), Violation> {
        let Some(place) = self.any() else { return Ok(()) };
        let known = &self.elections[place];
        let (student, base) =
            (known.student.clone(), format!("/v1/elections/{}", known.file.name()));
        let keys =
            [("public", known.keys.public.clone()), ("evaluation", known.keys.evaluation.clone())];
        for (kind, bytes) in keys {
            self.send(Method::PUT, &format!("{base}/keys/{kind}"), &student, bytes).await;
        }
        let known = &self.elections[place];
        let (public, evaluation) = (&known.keys.public, &known.keys.evaluation);
        let rehearsal = Rehearsal::new(&known.file, public, evaluation).unwrap();
        let body = json!({ "digest": rehearsal.digest() }).to_string().into_bytes();
        self.send(Method::POST, &format!("{base}/rehearsal"), &student, body).await;
        Ok(())
    }

    /// A teacher sends some of its ballot, or all of it, or what it has sent before.
    async fn vote(&mut self) -> Result<(), Violation> {
        let Some(place) = self.any() else { return Ok(()) };
        let teacher = self.rng.random_range(0..self.elections[place].teachers.len());
        let batches = self.elections[place].file.batches();
        for batch in 0..batches {
            if self.rng.random_bool(0.1) {
                continue;
            }
            let known = &self.elections[place];
            let path = format!("/v1/elections/{}/ballots/t{teacher}/{batch}", known.file.name());
            let (token, bytes) =
                (known.teachers[teacher].clone(), known.ballots[teacher][batch].clone());
            let hash = blake3::hash(&bytes).to_hex().to_string();
            let answer = self.send(Method::PUT, &path, &token, bytes).await;
            if let Some((status, _)) = answer
                && status.is_success()
            {
                self.elections[place].acknowledged.insert((teacher, batch), hash);
            }
        }
        Ok(())
    }

    /// A disk loses a file: a ballot of an open election, or a release. The server looks for what
    /// is lost.
    async fn lose(&mut self) {
        let Some(place) = self.any() else { return };
        let service = Arc::clone(&self.world.service);
        let name = self.elections[place].file.name().clone();
        let Ok(stored) = service.store.election(&name).await else { return };
        if stored.stage == Stage::Open {
            let rows = service.store.ballots(&name).await.unwrap();
            let Some(row) = rows.get(self.rng.random_range(0..rows.len().max(1))) else { return };
            let (teacher, batch) = (row.teacher, row.batch);
            self.note(format!("{name}: batch {batch} of t{teacher} is lost"));
            let object = Object::Ballot { teacher, batch };
            let _ = std::fs::remove_file(service.store.path(&name, object, &row.hash));
            let known = &mut self.elections[place].acknowledged;
            known.remove(&(teacher as usize, batch as usize));
        } else {
            self.note(format!("{name}: the release of batch 0 is lost"));
            let release = service.store.path(&name, Object::Release { batch: 0 }, "");
            let _ = std::fs::remove_file(release);
        }
        service.store.lost_of(&name).await.unwrap();
    }

    async fn close(&mut self) -> Result<(), Violation> {
        self.touched.ledger = true;
        let Some(place) = self.any() else { return Ok(()) };
        let known = &self.elections[place];
        let (student, path) =
            (known.student.clone(), format!("/v1/elections/{}/close", known.file.name()));
        self.send(Method::POST, &path, &student, Vec::new()).await;
        Ok(())
    }

    /// Some turns of the real worker.
    async fn work(&mut self) -> Result<(), Violation> {
        self.touch_everything();
        let turns = self.rng.random_range(1..4);
        self.note(format!("{turns} turns of the worker"));
        let mut jobs = HashMap::new();
        for _ in 0..turns {
            let service = Arc::clone(&self.world.service);
            if worker::take_turns(&service, &mut jobs).await.is_err() {
                self.note("  died, and is started again");
                drop((jobs, service));
                self.restart().await;
                break;
            }
        }
        // An aggregation that died is a failure by the tables: closing it again goes on.
        self.record_draws().await
    }

    /// What every draw costs, by the turnout that it was made from.
    async fn record_draws(&mut self) -> Result<(), Violation> {
        let service = Arc::clone(&self.world.service);
        for known in &mut self.elections {
            let name = known.file.name();
            let Ok(stored) = service.store.election(name).await else { continue };
            if !matches!(stored.stage, Stage::Closing | Stage::Released | Stage::Failed) {
                continue;
            }
            if !service.store.was_drawn(name).unwrap() {
                continue;
            }
            let file = service.planned(name).await.unwrap();
            let roll = service.store.roll(name).await.unwrap();
            let turnout = turnout(&file, &roll).unwrap();
            let voters = with_quorum(&file, &turnout, roll.voters.len()).unwrap();
            let budget = service.store.budget(known.file.group()).await.unwrap().unwrap();
            let each = service.accountant.each_label(&known.file, budget.order);
            let log_moment =
                service.accountant.by_turnout(&known.file, &voters, budget.order, each);
            let price = Price { log_moment, distance: 0.0 };
            // Drawn from other ballots, it is paid for again.
            let again = known.drawn.is_some_and(|drawn| drawn != price);
            let before = known.drawn.unwrap_or_default().log_moment;
            let log_moment = if again { before + log_moment } else { log_moment };
            known.drawn = Some(Price { log_moment, distance: 0.0 });
        }
        Ok(())
    }

    async fn fetch(&mut self) -> Result<(), Violation> {
        let Some(place) = self.any() else { return Ok(()) };
        let batches = self.elections[place].file.batches();
        for batch in 0..batches {
            let known = &self.elections[place];
            let path = format!("/v1/elections/{}/results/{batch}", known.file.name());
            let student = known.student.clone();
            let answer = self.send(Method::GET, &path, &student, Vec::new()).await;
            let Some((StatusCode::OK, bytes)) = answer else { continue };
            let name = self.elections[place].file.name().to_string();
            let before = self.elections[place].fetched.get(&batch);
            if before.is_some_and(|before| *before != bytes) {
                return Err(
                    self.violated(format!("{name}, batch {batch}: answered from two draws"))
                );
            }
            self.elections[place].fetched.insert(batch, bytes);
        }
        Ok(())
    }

    async fn call_off(&mut self) -> Result<(), Violation> {
        self.touched.ledger = true;
        let Some(place) = self.any() else { return Ok(()) };
        let path = format!("/v1/elections/{}", self.elections[place].file.name());
        let operator = self.world.operator.clone();
        self.send(Method::DELETE, &path, &operator, Vec::new()).await;
        Ok(())
    }

    /// The faults stop, and everything comes to an end.
    async fn settle(&mut self) -> Result<(), Violation> {
        self.note("the faults stop");
        self.world.fill_disk(false);
        self.world.crash_after(-1);
        self.restart().await;
        let operator = self.world.operator.clone();
        for place in 0..self.elections.len() {
            let name = self.elections[place].file.name().clone();
            let path = format!("/v1/elections/{name}");
            let closed = format!("{path}/close");
            let Ok(stored) = self.world.service.store.election(&name).await else { continue };
            if !matches!(stored.stage, Stage::Released | Stage::Withdrawn) {
                let (status, _) =
                    self.world.send(Method::POST, &closed, &operator, Vec::new()).await;
                let mut jobs = HashMap::new();
                let service = Arc::clone(&self.world.service);
                while status == StatusCode::ACCEPTED
                    && worker::take_turns(&service, &mut jobs).await.unwrap()
                {}
                if status != StatusCode::ACCEPTED {
                    self.world.send(Method::DELETE, &path, &operator, Vec::new()).await;
                }
            }
            let stage = self.world.service.store.election(&name).await.unwrap().stage;
            if !matches!(stage, Stage::Released | Stage::Withdrawn) {
                return Err(self.violated(format!("{name} is {} for ever", stage.name())));
            }
        }
        self.record_draws().await?;
        for _ in 0..2 * self.elections.len() {
            self.fetch().await?;
        }
        self.touch_everything();
        self.check().await
    }
}
