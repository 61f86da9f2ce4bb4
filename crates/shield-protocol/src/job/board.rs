//! The bodies of a board as what a server is given: keys, ballots, and what was published.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shield_board::{Folder, Kind as Says};
use shield_core::Watch;
use shield_core::framing::Kind;

use super::ballot_folder::BallotFolder;
use super::inputs::{Checked, Inputs, read_key};
use super::verify::{Released, same_bytes};
use crate::election_file::PlannedElection;
use crate::engine::Aggregating;
use crate::error::{Problem, ProtocolError, Refused};
use crate::files::read_bounded;
use crate::hex::hex;
use crate::results;
use crate::seed::SeedPart;

/// Fails unless the keys are of the election and, where both are there, of one set.
pub(crate) fn check_keys(
    file: &PlannedElection,
    public: Option<&Path>,
    evaluation: Option<&Path>,
) -> Result<(), ProtocolError> {
    let engine = file.engine();
    let voting_key = |path: &Path| {
        let refuse = |problem| Refused::new(path, problem);
        let bytes = read_bounded(path, engine.max_bytes(Kind::PublicKey)).map_err(refuse)?;
        let voting = Arc::clone(engine).voting(&bytes).map_err(|error| refuse(error.into()))?;
        Ok::<_, Refused>((path.to_owned(), voting.key()))
    };
    let voting = public.map(voting_key).transpose()?;
    let aggregating = evaluation.map(|path| read_key(file, path)).transpose()?;
    match (voting, aggregating) {
        (Some((path, public)), Some((_, evaluation))) if public != evaluation.key() => {
            Err(Refused::new(&path, Problem::OtherKeys).into())
        }
        _ => Ok(()),
    }
}

/// A board with keys that belong together.
pub(crate) struct OnBoard<'a> {
    file: &'a PlannedElection,
    board: &'a Folder,
    public: PathBuf,
    evaluation: PathBuf,
    ballots: PathBuf,
}

impl<'a> OnBoard<'a> {
    /// Reads both keys; `None` until they are there.
    pub(crate) fn keys(
        file: &'a PlannedElection,
        board: &'a Folder,
    ) -> Option<Result<Self, ProtocolError>> {
        let (_, public) = board.body_of(Says::PublicKey)?;
        let (_, evaluation) = board.body_of(Says::EvaluationKey)?;
        let checked = check_keys(file, Some(&public), Some(&evaluation));
        let ballots = board.ballots();
        Some(checked.map(|()| Self { file, board, public, evaluation, ballots }))
    }

    /// Where the public key is.
    pub(crate) fn public_key(&self) -> &Path {
        &self.public
    }

    /// What the server aggregates.
    pub(crate) fn inputs(&self) -> Inputs<'_> {
        Inputs::new(self.file, &self.evaluation, &self.ballots)
    }

    /// Reads every ballot: each must be its author's, and there must be no others.
    pub(crate) fn ballots(&self, watch: &Watch) -> Result<Tally<'a>, ProtocolError> {
        let checked = self.inputs().open(watch)?;
        let mut lines = 0;
        for line in self.board.of_kind(Says::Ballot) {
            let statement = line.statement();
            let Some(body) = statement.body else { continue };
            let path = self.board.body_path(Says::Ballot, &body.hash);
            self.check_author(&checked, statement.by.as_str(), &path)?;
            lines += 1;
        }
        let found = checked.ballots.voted();
        if found != lines {
            return Err(Refused::new(&self.ballots, Problem::Stray { found, lines }).into());
        }
        Ok(Tally { file: self.file, checked })
    }

    /// Reads every ballot, for an operator who takes in more of them.
    pub(crate) fn known(&self, watch: &Watch) -> Result<KnownBallots, ProtocolError> {
        let Tally { checked, .. } = self.ballots(watch)?;
        Ok(KnownBallots { aggregating: checked.aggregating, ballots: checked.ballots })
    }

    fn check_author(
        &self,
        checked: &Checked,
        author: &str,
        path: &Path,
    ) -> Result<(), ProtocolError> {
        let number = self.file.teacher(author);
        if number.and_then(|number| checked.ballots.path(number)) == Some(path) {
            return Ok(());
        }
        let problem = Problem::NotTheAuthors { author: author.to_owned() };
        Err(Refused::new(path, problem).into())
    }

    /// The published results, if they name what is on the board; `None` until there are any.
    pub(crate) fn published(&self) -> Option<Result<Published, ProtocolError>> {
        let (_, path) = self.board.body_of(Says::Results)?;
        Some(self.compare(path))
    }

    fn compare(&self, path: PathBuf) -> Result<Published, ProtocolError> {
        let reader = results::open(&path, self.file)?;
        let transcript = reader.transcript();
        // The seed is in no file here.
        let published = Published { released: Released { results: path, seed: PathBuf::new() } };
        let disagree = |reason: &str| Err(published.released.disagrees(reason));
        let key = self.board.body_of(Says::EvaluationKey).map(|(body, _)| body.hash.to_string());
        if key.as_ref() != Some(&transcript.evaluation_key) {
            return disagree("they are not for the evaluation key on the board");
        }
        if Some(&transcript.commitment) != commitment(self.board)?.as_ref() {
            return disagree("they name another commitment than the board has");
        }
        let voted = |line: &shield_board::Line| line.statement().by.to_string();
        let voters: BTreeSet<String> = self.board.of_kind(Says::Ballot).map(voted).collect();
        if !voters.iter().eq(transcript.ballots.keys()) {
            return disagree("they do not count the ballots on the board, and only those");
        }
        if !transcript.rounds.is_empty() {
            return disagree("they were changed by an audit, which this board knows nothing of");
        }
        Ok(published)
    }
}

/// What the operator committed to, in hexadecimal digits.
fn commitment(board: &Folder) -> Result<Option<String>, Refused> {
    let Some((_, path)) = board.body_of(Says::Commitment) else { return Ok(None) };
    let bytes = read_bounded(&path, 32).map_err(|problem| Refused::new(&path, problem))?;
    Ok(Some(hex(&bytes)))
}

/// The keys and ballots of a board, all of them checked.
pub(crate) struct Tally<'a> {
    file: &'a PlannedElection,
    checked: Checked,
}

impl Tally<'_> {
    /// Fails unless every sample has a quorum.
    pub(crate) fn check_quorum(&self) -> Result<(), ProtocolError> {
        let ballots = &self.checked.ballots;
        ballots.quorum(&ballots.turnout_without(&[]), &[]).map(|_| ())
    }
}

/// The ballots of a board, to which more are added.
pub(crate) struct KnownBallots {
    aggregating: Box<dyn Aggregating>,
    ballots: BallotFolder,
}

impl KnownBallots {
    /// Checks one more ballot: it must be its author's, and no copy of another's.
    pub(crate) fn take_in(&mut self, author: &str, path: &Path) -> Result<(), ProtocolError> {
        let file = self.ballots.file.clone();
        let number = self.ballots.take_in(&*self.aggregating, path)?;
        if file.teacher(author) == Some(number) {
            return Ok(());
        }
        let problem = Problem::NotTheAuthors { author: author.to_owned() };
        Err(Refused::new(path, problem).into())
    }
}

/// Results that name what is on their board.
pub(crate) struct Published {
    released: Released,
}

impl Published {
    /// Fails unless they are the results of exactly these ballots.
    pub(crate) fn follows_from(&self, tally: &Tally<'_>) -> Result<(), ProtocolError> {
        self.released.open(&tally.checked).map(|_| ())
    }

    /// Computes every byte again.
    pub(crate) fn recompute(
        self,
        tally: Tally<'_>,
        part: SeedPart,
        watch: &Watch,
    ) -> Result<(), ProtocolError> {
        let (released, Tally { file, checked }) = (self.released, tally);
        let (reader, transcript) = released.open(&checked)?;
        if hex(&part.commitment(&checked.frozen.election)) != transcript.commitment {
            return Err(released.disagrees("the seed on the board is not the one committed to"));
        }
        let releases = checked.with(part);
        same_bytes(&released, &releases, reader, &transcript, file.batches(), watch)?;
        Ok(())
    }
}
