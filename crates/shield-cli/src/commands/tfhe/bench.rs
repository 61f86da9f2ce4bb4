//! `bench --backend tfhe`: seconds per sample of every engine that answers one sample at once, and
//! of the BFV engine beside them, in one run on the same votes and draws.

mod bootstrapped;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

use rand::rngs::OsRng;
use rand::{SeedableRng, TryRngCore, rngs::StdRng};
use serde::Serialize;
use shield::backend::{Backend, Ballot, BallotBox, BallotBoxError, Presence};
use shield::draws::{Drawn, Draws, Urn};
use shield::{Election, Label, Polynomial, Seed, Setting, Votes, operator, synthetic};
use shield_bfv::{BallotCheck, BfvBackend, ReleaseMode};
use shield_tfhe::bootstrapped::Circuit;
use shield_tfhe::leveled::{LeveledBackend, Upload};

use crate::commands::Output;
use crate::commands::bench_args::BenchArgs;
use crate::commands::measuring::{ours, shortest};
use crate::console::{self, duration};
use crate::failure::Failure;
use crate::inputs::on_threads;

/// The paper's Table 3: polynomials, and seconds per sample of its own implementation where it
/// states them.
const PAPER: [(&str, Option<f64>); 4] = [
    ("2X^3+3X^2+X", Some(4.95)),
    ("2X^4+6X^3+3X^2+X", Some(14.29)),
    ("6X^4+6X^3+4X^2+X", Some(20.93)),
    ("8X^4+6X^3+4X^2+X", None),
];

/// One engine's line.
#[derive(Serialize)]
struct Row {
    engine: String,
    samples: usize,
    /// Of the aggregation, from received ballots to the release.
    seconds_per_sample: f64,
    /// The same with what the server does when the ballots arrive that are drawn.
    from_arrival_seconds_per_sample: f64,
    /// Of encrypting one vote, on the teacher's side.
    encrypt_seconds_per_vote: f64,
    /// What the server does with a vote when it arrives.
    receive_seconds_per_vote: f64,
    /// Labels that are those of the operator in the clear, on the same draws.
    right: usize,
    /// Of one teacher's vote on one sample: a ballot's, divided by the samples it holds.
    upload_bytes_per_vote: f64,
    download_bytes_per_sample: f64,
    public_key_bytes: usize,
    evaluation_key_bytes: usize,
}

#[derive(Serialize)]
struct Comparison {
    polynomial: String,
    paper_seconds_per_sample: Option<f64>,
    engines: Vec<Row>,
}

#[derive(Serialize)]
struct Report {
    teachers: usize,
    classes: usize,
    threads: usize,
    polynomials: Vec<Comparison>,
}

/// What every engine is asked.
struct Case<'a> {
    args: &'a BenchArgs,
    mechanism: Setting,
    seed: Seed,
}

/// How an engine is measured: the samples it is measured on follow from what it is good at.
type Measure = fn(&Case) -> Result<Row, Failure>;

/// The engines, in the order of the table. An engine is added here and nowhere else.
const ENGINES: &[Measure] = &[
    |setting| leveled(setting, Upload::Plain, "leveled"),
    |setting| leveled(setting, Upload::Compact, "leveled, compact upload"),
    |setting| bootstrapped::bootstrapped(setting, Circuit::Folded),
    |setting| bootstrapped::bootstrapped(setting, Circuit::Plain),
    bootstrapped::noisy_argmax,
    bootstrapped::gates,
    |setting| bfv(setting, 1),
    |setting| bfv(setting, 100),
    |setting| bfv(setting, 512),
];

pub(in crate::commands) fn bench(args: &BenchArgs, output: Output) -> Result<(), Failure> {
    let report = on_threads(Some(args.threads), |threads| {
        let polynomials = PAPER.iter().map(|&(polynomial, paper)| {
            let polynomial: Polynomial = polynomial.parse().map_err(Failure::failed)?;
            let mechanism = Setting { polynomial, ..args.mechanism.mechanism() };
            console::note(&format!("{} ...", mechanism.polynomial));
            let seed = Seed::random(&mut OsRng.unwrap_err());
            let setting = Case { args, mechanism, seed };
            Ok(Comparison {
                polynomial: setting.mechanism.polynomial.to_string(),
                paper_seconds_per_sample: paper,
                engines: ENGINES.iter().map(|run| run(&setting)).collect::<Result<_, _>>()?,
            })
        });
        Ok::<_, Failure>(Report {
            teachers: args.teachers,
            classes: args.classes.count(),
            threads,
            polynomials: polynomials.collect::<Result<_, Failure>>()?,
        })
    })??;
    match output {
        Output::Json => console::print_json(&report),
        Output::Tables => console::print(&describe(&report)),
    }
}

impl Case<'_> {
    /// An election of that many samples, its votes, and the labels that are right.
    fn election(&self, samples: usize) -> Result<(Election, Votes, Vec<Label>), Failure> {
        let (votes, _) = synthetic::votes(self.args.teachers, self.args.classes, samples, 1)?;
        let election =
            Election::new(self.args.teachers, self.args.classes, samples, self.mechanism.clone())?;
        let urn = Urn::of_all(election.teachers(), election.classes(), self.mechanism.offset);
        let right = (0..samples).map(|sample| {
            let own: Vec<_> = votes.sample(sample).collect();
            let draws = Draws::seeded(&self.mechanism, &urn, &self.seed, sample as u64);
            operator::elect(&draws, |teacher| own[teacher as usize].expect("nobody abstains"))
        });
        let right = right.collect();
        Ok((election, votes, right))
    }
}

/// The ballots of the teachers who are drawn. The others' are never opened, so they need not be
/// made.
struct DrawnBallots<B>(BTreeMap<u32, B>);

impl<B: Ballot> BallotBox<B> for DrawnBallots<B> {
    fn presence(&self, _: u32) -> Result<Presence, BallotBoxError> {
        Ok(Presence::new([true].into_iter()))
    }

    fn open(&self, teacher: u32) -> Result<Cow<'_, B>, BallotBoxError> {
        let missing = || BallotBoxError { teacher, source: "it was not drawn".into() };
        self.0.get(&teacher).map(Cow::Borrowed).ok_or_else(missing)
    }
}

fn leveled(setting: &Case, upload: Upload, name: &str) -> Result<Row, Failure> {
    let samples = setting.args.samples_or(20);
    let (election, votes, right) = setting.election(samples)?;
    let urn = Urn::of_all(election.teachers(), election.classes(), setting.mechanism.offset);
    let backend = LeveledBackend::new(election, upload).map_err(Failure::bad_input)?;
    let mut rng = StdRng::from_rng(&mut OsRng.unwrap_err());
    let keys = backend.generate_keys(&mut rng).map_err(Failure::failed)?;
    let (mut encrypt, mut receive, mut aggregate, mut made) = (0.0, 0.0, 0.0, 0_usize);
    let mut labels = Vec::new();
    for batch in 0..backend.batches() {
        let draws = Draws::seeded(&setting.mechanism, &urn, &setting.seed, batch as u64);
        let mut ballots = BTreeMap::new();
        for entry in draws.rounds().flat_map(|(_, drawn)| drawn) {
            let &Drawn::Teacher(teacher) = entry else { continue };
            if ballots.contains_key(&teacher) {
                continue;
            }
            let own = votes.teacher(teacher as usize, backend.batch(batch));
            let start = Instant::now();
            let ballot =
                backend.encrypt(&keys.public, batch, &own, &mut rng).map_err(Failure::failed)?;
            encrypt += start.elapsed().as_secs_f64();
            let start = Instant::now();
            backend.receive(&keys.evaluation, &ballot);
            receive += start.elapsed().as_secs_f64();
            ballots.insert(teacher, ballot);
            made += 1;
        }
        let ballots = DrawnBallots(ballots);
        let start = Instant::now();
        let release = backend
            .aggregate(&keys.evaluation, batch, &ballots, &setting.seed)
            .map_err(Failure::failed)?;
        aggregate += start.elapsed().as_secs_f64();
        labels.extend(backend.decrypt(&keys.secret, batch, &release).map_err(Failure::failed)?);
    }
    let plan = backend.plan();
    Ok(Row {
        engine: name.to_owned(),
        samples,
        seconds_per_sample: aggregate / samples as f64,
        from_arrival_seconds_per_sample: (receive + aggregate) / samples as f64,
        encrypt_seconds_per_vote: encrypt / made.max(1) as f64,
        receive_seconds_per_vote: receive / made.max(1) as f64,
        right: agreeing(&labels, &right),
        upload_bytes_per_vote: plan.ballot_bytes() as f64,
        download_bytes_per_sample: plan.result_bytes() as f64,
        public_key_bytes: plan.public_key_bytes(),
        evaluation_key_bytes: plan.evaluation_key_bytes(),
    })
}

fn bfv(setting: &Case, samples: usize) -> Result<Row, Failure> {
    let (election, votes, right) = setting.election(samples)?;
    let mut rng = StdRng::from_rng(&mut OsRng.unwrap_err());
    let backend =
        BfvBackend::new(election.clone(), ReleaseMode::Reveal).map_err(Failure::bad_input)?;
    let start = Instant::now();
    let (labels, seconds) = ours(&election, &votes, BallotCheck::On, &setting.seed, &mut rng)?;
    let whole = start.elapsed().as_secs_f64() - seconds.iter().sum::<f64>();
    let best = shortest(&seconds);
    let plan = backend.plan();
    let held = (plan.samples_per_batch().min(samples)) as f64;
    Ok(Row {
        engine: format!("bfv, {samples} sample{}", if samples == 1 { "" } else { "s" }),
        samples,
        seconds_per_sample: best / samples as f64,
        from_arrival_seconds_per_sample: best / samples as f64,
        encrypt_seconds_per_vote: whole / (samples * votes.teachers()) as f64,
        receive_seconds_per_vote: 0.0,
        right: agreeing(&labels, &right),
        upload_bytes_per_vote: plan.ballot_bytes() as f64 / held,
        download_bytes_per_sample: plan.result_bytes() as f64 / held,
        public_key_bytes: plan.public_key_bytes(),
        evaluation_key_bytes: plan.evaluation_key_bytes(),
    })
}

fn agreeing(labels: &[Label], right: &[Label]) -> usize {
    labels.iter().zip(right).filter(|(found, right)| found == right).count()
}

fn describe(report: &Report) -> String {
    let bytes = |count: f64| match count {
        c if c >= 1e6 => format!("{:.2} MB", c / 1e6),
        c if c >= 1e3 => format!("{:.1} kB", c / 1e3),
        c => format!("{c:.0} B"),
    };
    let mut text = format!(
        "{} teachers, {} classes, {} thread{}; times are of the aggregation, per sample; \"from \
         arrival\" is with what the server does once with each ballot that is drawn\n",
        report.teachers,
        report.classes,
        report.threads,
        if report.threads == 1 { "" } else { "s" }
    );
    for comparison in &report.polynomials {
        let paper = comparison.paper_seconds_per_sample.map_or(String::new(), |seconds| {
            format!(" (the paper, on its machine: {} per sample)", duration(seconds))
        });
        let rows = comparison.engines.iter().map(|row| {
            vec![
                row.engine.clone(),
                duration(row.seconds_per_sample),
                duration(row.from_arrival_seconds_per_sample),
                format!("{} of {}", row.right, row.samples),
                duration(row.encrypt_seconds_per_vote),
                duration(row.receive_seconds_per_vote),
                bytes(row.upload_bytes_per_vote),
                bytes(row.download_bytes_per_sample),
                bytes(row.public_key_bytes as f64),
                bytes(row.evaluation_key_bytes as f64),
            ]
        });
        let header = [
            "engine",
            "a sample",
            "from arrival",
            "right",
            "encrypt a vote",
            "receive a vote",
            "up, a vote",
            "down, per sample",
            "public key",
            "evaluation key",
        ];
        let table = console::table(&header, rows);
        let _ = write!(text, "\n{}{paper}\n{table}", comparison.polynomial);
    }
    text
}
