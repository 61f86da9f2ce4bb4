//! What each party asks of the server.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use rand::{CryptoRng, RngCore};
use serde::Deserialize;
use serde_json::json;
use shield_core::Epsilon;
use shield_core::Watch;
use shield_core::framing::Kind;
use shield_protocol::bundle::{BundleReader, BundleWriter, Content};
use shield_protocol::credentials::{Role, Token};
use shield_protocol::election_file::MAX_BYTES;
use shield_protocol::hex::hex;
use shield_protocol::messages::{NewElection, NewToken, Status};
use shield_protocol::new_file::{Readers, Unnamed};
use shield_protocol::results::{Place, places};
use shield_protocol::transcript::{Transcript, ballot_digest};
use shield_protocol::{ElectionFile, Name, PlannedElection, Receipt};
use zeroize::Zeroizing;

use crate::http::{Client, ClientError};
use crate::invitation::Invitation;
use crate::submission::{KeyKind, Submission};

/// A file on this side that cannot be used.
pub(crate) fn local(path: &Path, error: impl std::fmt::Display) -> ClientError {
    ClientError::Local(format!("{}: {error}", path.display()))
}

/// An election that was created.
#[derive(Clone, Debug)]
pub struct Created {
    /// Where the invitations are, the student's first.
    pub invitations: Vec<PathBuf>,
    /// How much memory the server takes at most to aggregate a batch, in bytes.
    pub memory: Option<u64>,
}

/// Writes the invitations of an election into a folder, then creates it on the server.
///
/// Invitations that are there already are used again, so a creation that was interrupted can be
/// repeated.
pub fn create_election<R: RngCore + CryptoRng>(
    client: &Client,
    operator: &Invitation,
    file: &ElectionFile,
    folder: &Path,
    rng: &mut R,
) -> Result<Created, ClientError> {
    fs::create_dir_all(folder).map_err(|error| unwritten(folder, error))?;
    let election = file.name().clone();
    let (mut written, mut fresh) = (Vec::new(), Vec::new());
    let mut invite = |name: &str, role: &Role, teacher: Option<&Name>| {
        let path = folder.join(format!("{name}.toml"));
        let token = if path.exists() {
            let known =
                Invitation::read_file(&path).map_err(|e| ClientError::Local(e.to_string()))?;
            if known.election.as_ref() != Some(&election) || known.teacher.as_ref() != teacher {
                let other = "this is an invitation to something else; give another folder";
                return Err(local(&path, other));
            }
            known.token
        } else {
            let token = Token::random(rng);
            let certificate = operator.certificate.as_deref();
            Invitation::new(&operator.server, role, teacher, certificate, token.clone())
                .write(&path)
                .map_err(|error| unwritten(&path, error))?;
            fresh.push(path.clone());
            token
        };
        written.push(path);
        Ok(token.hash())
    };
    let student = invite("student", &Role::Student { election: election.clone() }, None)?;
    let mut teachers = BTreeMap::new();
    for (number, teacher) in (0..).zip(file.teachers()) {
        let role = Role::Teacher { election: election.clone(), teacher: number };
        // A teacher called `student` must not take the student's place.
        let name = format!("teacher-{teacher}");
        teachers.insert(teacher.to_string(), invite(&name, &role, Some(teacher))?);
    }
    let new = NewElection { file: file.canonical(), student, teachers };
    let created: Result<serde_json::Value, _> = client.post("/v1/elections", &new);
    match created {
        Ok(created) => {
            let memory = created.get("memory").and_then(serde_json::Value::as_u64);
            Ok(Created { invitations: written, memory })
        }
        Err(error) => {
            // Invitations to what was refused would only be mistaken for good ones. Without an
            // answer they stay: the election may be there.
            if matches!(error, ClientError::Refused { .. }) {
                for path in &fresh {
                    let _ = fs::remove_file(path);
                }
            }
            Err(error)
        }
    }
}

/// The election that a token is for, or the one that is named.
pub fn election_of(invitation: &Invitation, named: Option<&Name>) -> Result<Name, ClientError> {
    named
        .or(invitation.election.as_ref())
        .cloned()
        .ok_or_else(|| ClientError::Local("name the election: --election NAME".to_owned()))
}

/// The election file, from the server.
pub fn election_file(client: &Client, election: &Name) -> Result<PlannedElection, ClientError> {
    let limit = MAX_BYTES as u64;
    let bytes = client.get_bytes(&format!("/v1/elections/{election}/file"), limit)?;
    let text = String::from_utf8(bytes).map_err(|error| client.strange(error))?;
    Ok(ElectionFile::parse(&text).map_err(|error| client.strange(error))?.plan())
}

/// Where an election stands.
pub fn status(client: &Client, election: &Name) -> Result<Status, ClientError> {
    client.get(&format!("/v1/elections/{election}"))
}

/// Where all elections stand, the newest first: for the operator.
pub fn statuses(client: &Client) -> Result<Vec<Status>, ClientError> {
    client.get("/v1/elections")
}

/// What a group of teachers has spent and set aside.
#[derive(Clone, Debug, Deserialize)]
pub struct Account {
    /// The group.
    pub group: String,
    /// What its releases cost together.
    pub spent: Epsilon,
    /// What releases and reservations cost together.
    pub reserved: Epsilon,
    /// The most that it may be.
    pub budget: f64,
    /// How many more labels like those of its newest election the budget pays for.
    pub labels_left: Option<u64>,
}

/// The accounts of all groups: for the operator.
pub fn ledger(client: &Client) -> Result<Vec<Account>, ClientError> {
    client.get("/v1/ledger")
}

/// Uploads one of the student's keys, and gives which one it was. A secret key is refused, whatever
/// its file is called.
pub fn submit_key(client: &Client, election: &Name, path: &Path) -> Result<KeyKind, ClientError> {
    let bytes = Zeroizing::new(fs::read(path).map_err(|error| local(path, error))?);
    match Submission::of(&bytes).map_err(|error| local(path, error))? {
        Submission::Key(kind) => {
            client.put(&format!("/v1/elections/{election}/keys/{kind}"), &bytes)?;
            Ok(kind)
        }
        _ => Err(local(path, "this is not a key; give what `shield keygen` wrote")),
    }
}

/// Where the receipt for a ballot is written.
pub fn receipt_path(ballot: &Path) -> PathBuf {
    let mut path = ballot.as_os_str().to_owned();
    path.push(".receipt");
    path.into()
}

/// Uploads a teacher's ballot, batch by batch; what has arrived before is not sent again. Writes
/// the receipt beside it: what the server has must be this very ballot.
pub fn submit_ballot(
    client: &Client,
    invitation: &Invitation,
    file: &PlannedElection,
    path: &Path,
    watch: &Watch,
) -> Result<Receipt, ClientError> {
    let election = file.name();
    let teacher = invitation.teacher.as_ref().ok_or_else(|| {
        ClientError::Local("only a teacher's invitation can submit a ballot".to_owned())
    })?;
    let batches = u32::try_from(file.batches()).unwrap_or(u32::MAX);
    let opened = File::open(path).map_err(|error| local(path, error))?;
    let mut bundle = BundleReader::ballot(BufReader::new(opened), &file.digest(), batches)
        .map_err(|error| local(path, error))?;
    let number = file.teacher(teacher.as_str());
    if Some(bundle.content()) != number.map(|teacher| Content::Ballot { teacher }) {
        return Err(local(path, format!("this is another teacher's ballot, not {teacher}'s")));
    }
    let arrived = status(client, election)?.submitted.unwrap_or_default();
    let limit = file.engine().max_bytes(Kind::Ballot);
    let (mut batch, mut hashes) = (0, Vec::new());
    watch.begin("submitting", batches.into());
    while let Some(part) = bundle.part(limit).map_err(|error| local(path, error))? {
        let hash = *blake3::hash(&part).as_bytes();
        hashes.push(hash);
        let hash = hex(&hash);
        let there = arrived.iter().any(|known| known.batch == batch && known.hash == hash);
        if !there {
            client.put(&format!("/v1/elections/{election}/ballots/{teacher}/{batch}"), &part)?;
        }
        batch += 1;
        watch.tell(batch.into(), batches.into());
    }
    let acknowledged = status(client, election)?;
    let ballot = hex(&ballot_digest(hashes.iter()));
    // A server that does not know of receipts has none to give.
    if acknowledged.receipt.as_ref().is_some_and(|known| *known != ballot) {
        return Err(client.strange("it acknowledges another ballot than the one that was sent"));
    }
    let commitment = acknowledged.commitment;
    let digest = hex(&file.digest());
    let receipt = Receipt { election: digest, teacher: teacher.clone(), ballot, commitment };
    receipt.write(&receipt_path(path))?;
    Ok(receipt)
}

/// Closes an election: its ballots are frozen and the aggregation starts.
pub fn close(client: &Client, election: &Name) -> Result<Status, ClientError> {
    client.post(&format!("/v1/elections/{election}/close"), &json!({}))
}

/// Calls an election off.
pub fn withdraw(client: &Client, election: &Name) -> Result<(), ClientError> {
    client.delete(&format!("/v1/elections/{election}"))
}

/// Gives a party of an election a new token; its old one stops working at once. Without a teacher,
/// the student.
pub fn replace_token(
    client: &Client,
    election: &Name,
    teacher: Option<&Name>,
    token: &Token,
) -> Result<(), ClientError> {
    let new = NewToken { teacher: teacher.map(Name::to_string), token: token.hash() };
    let answer: Result<serde_json::Value, _> =
        client.post(&format!("/v1/elections/{election}/tokens"), &new);
    answer.map(drop)
}

/// Fetches the public key into a file.
pub fn fetch_public_key(
    client: &Client,
    file: &PlannedElection,
    out: &Path,
) -> Result<(), ClientError> {
    let engine = file.engine();
    let limit = engine.max_bytes(Kind::PublicKey) as u64;
    let bytes = client.get_bytes(&format!("/v1/elections/{}/keys/public", file.name()), limit)?;
    engine.check_public_key(&bytes).map_err(|error| client.strange(error))?;
    write(out, &bytes)
}

/// What the server published with an election's results.
pub fn transcript(client: &Client, file: &PlannedElection) -> Result<Transcript, ClientError> {
    let most = Transcript::max_bytes(file.teachers().len(), file.election().samples());
    let address = format!("/v1/elections/{}/transcript", file.name());
    let bytes = client.get_bytes(&address, most as u64)?;
    Transcript::decode(&bytes, file).ok_or_else(|| client.strange("the transcript is damaged"))
}

/// Fetches the results into a file. Batches that were fetched before it was interrupted are kept
/// beside it.
pub fn fetch_results(
    client: &Client,
    file: &PlannedElection,
    out: &Path,
    watch: &Watch,
) -> Result<(), ClientError> {
    let limit = file.engine().max_bytes(Kind::Release);
    // Before hours of fetching: what stands there can only be these results.
    if out.symlink_metadata().is_ok() {
        let found = if out.is_file() { File::open(out).ok() } else { None };
        let found = found.map(|found| BundleReader::results(found, &file.digest()));
        found.and_then(Result::ok).ok_or_else(|| taken(out))?;
    }
    let mut parts = out.as_os_str().to_owned();
    parts.push(".parts");
    let parts = PathBuf::from(parts);
    fs::create_dir_all(&parts).map_err(|error| unwritten(&parts, error))?;
    let transcript = transcript(client, file)?;
    let all = places(&transcript, file.batches());
    let part = |Place { round, batch }: Place| {
        parts.join(format!("{}-{round}-{batch}", &hex(&file.digest())[..16]))
    };
    let sealed = u32::try_from(all.len()).unwrap_or(u32::MAX).saturating_add(1);
    watch.begin("fetching", all.len() as u64);
    for (done, &place) in (1..).zip(&all) {
        let path = part(place);
        if !path.exists() {
            let (base, batch) = (format!("/v1/elections/{}", file.name()), place.batch);
            let address = match place.round {
                0 => format!("{base}/results/{batch}"),
                round => format!("{base}/audits/{round}/results/{batch}"),
            };
            write(&path, &client.get_bytes(&address, limit as u64)?)?;
        }
        watch.tell(done, all.len() as u64);
    }
    let whole = Unnamed::fill(out, Readers::Everyone, |results| {
        let other = io::Error::other;
        let mut to = BufWriter::new(results);
        let digest = file.digest();
        let mut bundle =
            BundleWriter::new(&mut to, Content::Results, &digest, sealed).map_err(other)?;
        bundle.part(&transcript.encode()).map_err(other)?;
        all.iter().try_for_each(|&place| bundle.part(&fs::read(part(place))?).map_err(other))?;
        to.flush()
    });
    name(whole, out)?;
    for &place in &all {
        let path = part(place);
        fs::remove_file(&path).map_err(|error| unwritten(&path, error))?;
    }
    // Whatever else is in there is not ours, and keeps the folder.
    let _ = fs::remove_dir(&parts);
    Ok(())
}

/// Writes a file whole or not at all, and never over another: what stands there may be somebody's
/// only secret key.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), ClientError> {
    name(Unnamed::write(path, Readers::Everyone, bytes), path)
}

pub(crate) fn name(written: io::Result<Unnamed>, path: &Path) -> Result<(), ClientError> {
    match written.and_then(|file| file.name_or_find(path)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(taken(path)),
        named => named.map_err(|error| unwritten(path, error)),
    }
}

/// Something else stands where a file should go.
fn taken(path: &Path) -> ClientError {
    local(
        path,
        "there is something else already, and nothing is written over it; give another file",
    )
}

/// A file that the system would not write.
fn unwritten(path: &Path, source: io::Error) -> ClientError {
    ClientError::Write { path: path.to_owned(), source }
}
