//! Seconds per sample of every engine that answers one sample at once, and of the BFV engine beside
//! them. What takes seconds per sample is measured on one.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rand::rngs::{OsRng, StdRng};
use rand::{SeedableRng, TryRngCore};
use serde::Serialize;
use shield_bfv::{BallotCheck, BfvEngine};
use shield_core::draws::{Drawn, Draws, Urn};
use shield_core::parameters::Noise;
use shield_core::shared_noise::SharedNoise;
use shield_core::{Election, Label, Polynomial, Seed, Setting, Votes, operator, synthetic};
use shield_protocol::engine::EngineSpec;
use shield_tfhe::baseline::{gates as paper, noisy_argmax as speed};
use shield_tfhe::leveled::LeveledEngine;

use super::measuring::{self, Kept, measure};
use super::paper::ours;
use super::{BenchArgs, plural};
use crate::commands::Output;
use crate::console::{self, duration};
use crate::failure::Failure;

/// The paper's Table 3: polynomials, and seconds per sample of its own implementation where it
/// states them.
const PAPER: [(&str, Option<f64>); 4] = [
    ("2X^3+3X^2+X", Some(4.95)),
    ("2X^4+6X^3+3X^2+X", Some(14.29)),
    ("6X^4+6X^3+4X^2+X", Some(20.93)),
    ("8X^4+6X^3+4X^2+X", None),
];

/// The scale of SPEED's noise: as `analyze` has it.
const NOISE: f64 = 40.0;

/// One engine's line.
#[derive(Default, Serialize)]
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
    setting: Setting,
    seed: Seed,
}

/// How an engine is measured: the samples it is measured on follow from what it is good at.
type Measure = fn(&Case) -> Result<Row, Failure>;

/// The engines, in the order of the table. An engine is added here and nowhere else.
const ENGINES: &[Measure] = &[
    leveled,
    noisy_argmax,
    gates,
    |case| bfv(case, 1),
    |case| bfv(case, 100),
    |case| bfv(case, 512),
];

pub(super) fn run(args: &BenchArgs, output: Output) -> Result<(), Failure> {
    let polynomials = PAPER.iter().map(|&(polynomial, paper)| {
        let polynomial: Polynomial = polynomial.parse().map_err(Failure::failed)?;
        let setting = Setting { polynomial, ..args.spec.setting() };
        console::note(&format!("{} ...", setting.polynomial));
        let case = Case { args, setting, seed: Seed::random(&mut OsRng.unwrap_err()) };
        Ok(Comparison {
            polynomial: case.setting.polynomial.to_string(),
            paper_seconds_per_sample: paper,
            engines: ENGINES.iter().map(|run| run(&case)).collect::<Result<_, _>>()?,
        })
    });
    let report = Report {
        teachers: args.teachers,
        classes: args.classes.count(),
        threads: rayon::current_num_threads(),
        polynomials: polynomials.collect::<Result<_, Failure>>()?,
    };
    console::show(output, &report, &describe(&report))
}

impl Case<'_> {
    /// An election of that many samples, its votes, and the labels that are right.
    fn election(&self, samples: usize) -> Result<(Election, Votes, Vec<Label>), Failure> {
        let BenchArgs { teachers, classes, .. } = *self.args;
        let (votes, _) = synthetic::votes(teachers, classes, samples, 1)?;
        let election = Election::new(teachers, classes, samples, self.setting.clone())?;
        let right = (0..samples).map(|sample| {
            let own: Vec<_> = votes.sample(sample).collect();
            let draws = self.draws(&election, sample);
            operator::elect(&draws, |teacher| own[teacher as usize].expect("nobody abstains"))
        });
        let right = right.collect();
        Ok((election, votes, right))
    }

    fn draws(&self, election: &Election, sample: usize) -> Draws {
        let urn = Urn::of_all(election.teachers(), election.classes(), self.setting.offset);
        Draws::seeded(&self.setting, &urn, &self.seed, sample as u64)
    }
}

/// On the ballots of the teachers who are drawn: the others' need not be made.
fn leveled(case: &Case) -> Result<Row, Failure> {
    let samples = case.args.samples.unwrap_or(20);
    let (election, votes, right) = case.election(samples)?;
    let engine = LeveledEngine::new(election.clone()).map_err(Failure::bad_input)?;
    let drawn = |batch| -> BTreeSet<u32> {
        let draws = case.draws(&election, batch);
        let entries = draws.rounds().flat_map(|(_, drawn)| drawn);
        let teacher = |entry: &Drawn| match entry {
            Drawn::Teacher(teacher) => Some(*teacher),
            Drawn::Dummy(_) => None,
        };
        entries.filter_map(teacher).collect()
    };
    let asked = measuring::Case { votes: &votes, seed: &case.seed, runs: 1, ballots: Kept::Open };
    let found = measure(&engine, &asked, drawn)?;
    let (plan, made) = (engine.plan(), found.ballots.max(1) as f64);
    Ok(Row {
        engine: "leveled".to_owned(),
        samples,
        seconds_per_sample: found.shortest() / samples as f64,
        from_arrival_seconds_per_sample: (found.receive + found.shortest()) / samples as f64,
        encrypt_seconds_per_vote: found.encrypt / made,
        receive_seconds_per_vote: found.receive / made,
        right: agreeing(&found.labels, &right),
        upload_bytes_per_vote: plan.ballot_bytes() as f64,
        download_bytes_per_sample: plan.result_bytes() as f64,
        public_key_bytes: plan.public_key_bytes(),
        evaluation_key_bytes: plan.evaluation_key_bytes(),
    })
}

fn bfv(case: &Case, samples: usize) -> Result<Row, Failure> {
    let (election, votes, right) = case.election(samples)?;
    let engine = BfvEngine::new(election.clone()).map_err(Failure::bad_input)?;
    let found = ours(EngineSpec::default(), &election, &votes, BallotCheck::On, &case.seed)?;
    let best = found.shortest() / samples as f64;
    let plan = engine.plan();
    let held = (plan.samples_per_batch().min(samples)) as f64;
    Ok(Row {
        engine: format!("bfv, {samples} sample{}", plural(samples)),
        samples,
        seconds_per_sample: best,
        from_arrival_seconds_per_sample: best,
        encrypt_seconds_per_vote: found.encrypt / (samples * votes.teachers()) as f64,
        right: agreeing(&found.labels, &right),
        upload_bytes_per_vote: plan.ballot_bytes() as f64 / held,
        download_bytes_per_sample: plan.result_bytes() as f64 / held,
        public_key_bytes: plan.public_key_bytes(),
        evaluation_key_bytes: plan.evaluation_key_bytes(),
        ..Row::default()
    })
}

/// The paper's circuit. Its ballots are made with the secret key and never leave the process.
fn gates(case: &Case) -> Result<Row, Failure> {
    let (election, votes, right) = case.election(1)?;
    let run = paper::run(&election, &votes, &case.seed, &mut StdRng::from_os_rng());
    let sizes = paper::Sizes::of(election.classes().count());
    Ok(Row {
        engine: format!("the paper's gates, {}", run.gates),
        samples: 1,
        seconds_per_sample: run.aggregation.as_secs_f64(),
        from_arrival_seconds_per_sample: run.aggregation.as_secs_f64(),
        right: agreeing(&run.labels, &right),
        upload_bytes_per_vote: sizes.vote as f64,
        download_bytes_per_sample: sizes.vote as f64,
        evaluation_key_bytes: sizes.server_key,
        ..Row::default()
    })
}

/// SPEED's exact argmax, likewise; it is right if it is the argmax of the same noisy counts in the
/// clear.
fn noisy_argmax(case: &Case) -> Result<Row, Failure> {
    let (election, votes, _) = case.election(1)?;
    let noise = SharedNoise::new(Noise::new(NOISE)?, election.teachers(), 0)?;
    let run = speed::run(&noise, &votes, 1, &mut StdRng::from_os_rng());
    let run = run.map_err(Failure::bad_input)?;
    Ok(Row {
        engine: format!("exact noisy argmax, {} bootstrappings", run.bootstrappings),
        samples: 1,
        seconds_per_sample: run.aggregation.as_secs_f64(),
        from_arrival_seconds_per_sample: run.aggregation.as_secs_f64(),
        encrypt_seconds_per_vote: run.encryption.as_secs_f64() / votes.teachers() as f64,
        right: agreeing(&run.labels, &run.expected),
        upload_bytes_per_vote: run.sizes.vote as f64,
        download_bytes_per_sample: run.sizes.label as f64,
        evaluation_key_bytes: run.sizes.server_key,
        ..Row::default()
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
        plural(report.threads)
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
