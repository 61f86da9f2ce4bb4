//! What the student does: results in, labels out, and alarms where honest ballots cannot have
//! caused what is there.

use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use shield_core::framing::Kind;
use shield_core::{Label, Labels};
use zeroize::Zeroizing;

use crate::election_file::PlannedElection;
use crate::engine::{Alarm, RevealError, Revealing};
use crate::error::{Problem, ProtocolError, Refused};
use crate::files::read_bounded;
use crate::results::{self, ResultsReader};
use crate::transcript::{AskedBatch, Transcript};

/// What the student reads out of results.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// The label of each sample; none where there is an alarm.
    pub labels: Labels,
    /// Samples, counted from 0, that show what honest ballots cannot cause, and what that is.
    pub alarms: Vec<(usize, Alarm)>,
    /// What the server published with the results.
    pub transcript: Transcript,
}

impl Inspected {
    /// The samples with an alarm, each once.
    pub fn spoiled(&self) -> Vec<usize> {
        let mut samples: Vec<usize> = self.alarms.iter().map(|&(sample, _)| sample).collect();
        samples.dedup();
        samples
    }

    /// The samples that an audit may ask about: those that showed nothing at all. A sample that
    /// showed something wrong may have told something, and is not drawn a second time.
    pub fn to_ask(&self, file: &PlannedElection) -> Vec<AskedBatch> {
        let engine = file.engine();
        let spoiled = self.spoiled();
        let ask = |sample: &usize| {
            let mut own = self.alarms.iter().filter(|(at, _)| at == sample);
            own.all(|&(_, alarm)| alarm == Alarm::NoLabel)
        };
        let asked: Vec<usize> = spoiled.into_iter().filter(ask).collect();
        (0..engine.batches())
            .map(|batch| {
                let range = engine.batch(batch);
                let own = asked.iter().filter(|sample| range.contains(sample));
                AskedBatch { batch, samples: own.map(|sample| sample - range.start).collect() }
            })
            .filter(|asked| !asked.samples.is_empty())
            .collect()
    }

    /// What is wrong and what to do, for people; nothing if all is as it should be.
    pub fn warning(&self) -> Option<String> {
        const SHOWN: usize = 8;
        let spoiled = self.spoiled();
        let (first, alarm) = self.alarms.first()?;
        let shown: Vec<String> =
            spoiled.iter().take(SHOWN).map(|sample| (sample + 1).to_string()).collect();
        let more = match spoiled.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let mut text = format!(
            "{} of {} samples are spoiled ({}{more}; sample {}: {alarm}). Honest ballots cannot \
             cause this: some ballot is no vote, or the evaluation key is damaged. The labels of \
             all other samples are sound.",
            spoiled.len(),
            self.labels.as_slice().len(),
            shown.join(", "),
            first + 1,
        );
        let _ = match alarm {
            Alarm::NoLabel => write!(
                text,
                " Ask the server for an audit (`shield audit`): it names the teachers, and those \
                 samples are aggregated again without them"
            ),
            _ => write!(
                text,
                " Do not use those samples: what they show is not explained by a teacher alone; \
                 ask an auditor to run `shield verify`"
            ),
        };
        Some(text)
    }
}

/// Reads the labels of an election: one per sample, or none where every round failed.
pub fn reveal(
    file: &PlannedElection,
    secret_key: &Path,
    results: &Path,
) -> Result<Labels, ProtocolError> {
    Ok(inspect(file, secret_key, results)?.labels)
}

/// Reads the labels of an election, what is wrong with them, and what was published with them.
pub fn inspect(
    file: &PlannedElection,
    secret_key: &Path,
    results: &Path,
) -> Result<Inspected, ProtocolError> {
    let revealing = open_secret_key(file, secret_key)?;
    let reader = results::open(results, file)?;
    inspect_from(file, &*revealing, reader, results)
}

/// The same, from wherever the results are read; `path` is what errors call them.
pub fn inspect_from<R: Read>(
    file: &PlannedElection,
    revealing: &dyn Revealing,
    mut reader: ResultsReader<R>,
    path: &Path,
) -> Result<Inspected, ProtocolError> {
    let engine = file.engine();
    let refuse = |problem| Refused { path: path.to_owned(), problem };
    let samples = file.election().samples();
    let mut labels: Vec<Label> = vec![None; samples];
    let mut alarms = Vec::new();
    while let Some((place, bytes)) = reader.release().map_err(|error| refuse(error.into()))? {
        let batch = place.batch;
        let found = revealing.inspect(batch, &bytes).map_err(|error| match error {
            RevealError::Release(source) => refuse(Problem::Batch { batch, source }).into(),
            RevealError::Engine(error) => ProtocolError::from(error),
        })?;
        let range = engine.batch(batch);
        let asked: Option<Vec<usize>> = place.round.checked_sub(1).map(|round| {
            let round = &reader.transcript().rounds[round];
            let own = round.asked.iter().filter(|asked| asked.batch == batch);
            own.flat_map(|asked| asked.samples.clone()).collect()
        });
        // Samples that were not asked for again are junk there, and keep what they have.
        let counts = |sample: usize| asked.as_ref().is_none_or(|asked| asked.contains(&sample));
        alarms.retain(|(sample, _): &(usize, Alarm)| {
            !range.contains(sample) || !counts(sample - range.start)
        });
        let raised = found.alarms.into_iter().filter(|&(sample, _)| counts(sample));
        alarms.extend(raised.map(|(sample, alarm)| (range.start + sample, alarm)));
        for (sample, label) in found.labels.into_iter().enumerate() {
            if counts(sample) {
                labels[range.start + sample] = label;
            }
        }
    }
    alarms.sort_by_key(|&(sample, _)| sample);
    for &(sample, _) in &alarms {
        labels[sample] = None;
    }
    let labels = Labels::new(labels).expect("an election has at least one sample");
    Ok(Inspected { labels, alarms, transcript: reader.transcript().clone() })
}

/// The engine with the student's key.
pub(crate) fn open_secret_key(
    file: &PlannedElection,
    path: &Path,
) -> Result<Box<dyn Revealing>, ProtocolError> {
    let engine = file.engine();
    let refuse = |problem| Refused { path: path.to_owned(), problem };
    let bytes = read_bounded(path, engine.max_bytes(Kind::SecretKey)).map_err(refuse)?;
    let bytes = Zeroizing::new(bytes);
    Ok(Arc::clone(engine).revealing(&bytes).map_err(|error| refuse(error.into()))?)
}
