//! Frozen vectors: one file of each kind, written once by an earlier version, so that a change of
//! format is seen.
//!
//! A folder per engine holds
//!
//! | file | content |
//! |---|---|
//! | `secret_key.bin` ... `release.bin` | one of each kind, from fixed seeds |
//! | `evaluation_key.txt` ... | of a kind larger than [`LARGEST`]: length, digest and first bytes |
//! | `labels.txt` | what the release decrypts to, a line per sample, `-` for no label |
//! | `bad_*.bin` | files that must be refused |
//! | `bad.txt` | a line for each of them: its name, and the error |
//!
//! The bad files are made of the smallest kind. What is too large to be kept is made from the seeds
//! again and compared with its digest. [`check`] reads the folder; [`write()`] makes it anew, when
//! a format changes on purpose.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::Case;
use super::bytes::{Files, read, resealed};
use crate::backend::{BackendBytes, KeysOf};
use crate::framing::{DecodeError, HEADER, Kind};
use crate::seed::Seed;
use crate::votes::Label;

/// Bytes of the largest file that is kept whole.
pub const LARGEST: usize = 120_000;

/// What is said of a file that is not refused.
const ACCEPTED: &str = "accepted";

/// Keys and files from fixed seeds.
fn files<B: BackendBytes>(backend: &B, case: &Case) -> (KeysOf<B>, Files) {
    let mut rng = ChaCha20Rng::seed_from_u64(2_026);
    let keys = backend.generate_keys(&mut rng).expect("keys");
    let files = Files::new(backend, &keys, &case.votes, &Seed::from_number(2_026), &mut rng);
    (keys, files)
}

fn name(kind: Kind) -> String {
    kind.to_string().replace(' ', "_")
}

fn summary(bytes: &[u8]) -> String {
    let first: String = bytes[..HEADER].iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    format!("{} bytes\nblake3 {}\nfirst {first}\n", bytes.len(), blake3::hash(bytes).to_hex())
}

fn lines(labels: &[Label]) -> String {
    let line = |label: &Label| label.map_or("-\n".into(), |class| format!("{}\n", class.0));
    labels.iter().map(line).collect()
}

/// What is wrong, and a file with that: all made of the smallest file there is.
fn bad_files<B: BackendBytes>(elsewhere: &B, small: &(Kind, Vec<u8>)) -> Vec<(String, Vec<u8>)> {
    let (kind, bytes) = small;
    let edited = |place: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[place] = value;
        resealed(bytes)
    };
    let end = bytes.len();
    let mut flipped = bytes.clone();
    flipped[end - 40] ^= 1;
    let binding = elsewhere.binding();
    let mut foreign = bytes.clone();
    foreign[8..40].copy_from_slice(binding);
    let mut values = bytes.clone();
    values[HEADER..end - 32].fill(0xff);
    [
        ("magic", edited(0, b'Z')),
        ("version", edited(4, 9)),
        ("kind", edited(6, 200)),
        ("holder", edited(7, 3)),
        ("length", edited(HEADER - 1, 1)),
        ("flipped_bit", flipped),
        ("cut_off", bytes[..end - 1].to_vec()),
        ("too_long", [&bytes[..], &[0]].concat()),
        ("other_election", resealed(foreign)),
        ("values", resealed(values)),
        ("empty", Vec::new()),
    ]
    .into_iter()
    .map(|(what, bytes)| (format!("bad_{}_{what}.bin", name(*kind)), bytes))
    .collect()
}

fn error<B: BackendBytes>(
    backend: &B,
    kind: Kind,
    bytes: &[u8],
    key: crate::framing::KeyId,
) -> String {
    match read(backend, kind, bytes, 0, key) {
        Ok(()) => ACCEPTED.into(),
        Err(error) => format!("{error:?}"),
    }
}

/// Writes the folder anew.
///
/// # Panics
/// If it cannot.
pub fn write<B: BackendBytes>(folder: &Path, backend: &B, elsewhere: &B, case: &Case) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).expect("a folder");
    let save = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).expect("a file");
    let (keys, files) = files(backend, case);
    for (kind, bytes) in &files.all {
        if bytes.len() <= LARGEST {
            save(&format!("{}.bin", name(*kind)), bytes);
        } else {
            save(&format!("{}.txt", name(*kind)), summary(bytes).as_bytes());
        }
    }
    let (_, release) = &files.all[4];
    let release = backend.decode_release(release, 0, files.id).expect("a release");
    let labels = backend.decrypt(&keys.secret, 0, &release).expect("labels");
    save("labels.txt", lines(&labels).as_bytes());
    let small = files.all.iter().min_by_key(|(_, bytes)| bytes.len()).expect("files");
    let mut index = String::new();
    for (name, bytes) in bad_files(elsewhere, small) {
        let error = error(backend, small.0, &bytes, files.id);
        // Where any payload of the right length is a value, there is none out of range.
        if error != ACCEPTED {
            let _ = writeln!(index, "{name} {error}");
            save(&name, &bytes);
        }
    }
    save("bad.txt", index.as_bytes());
}

/// Reads the folder: what is good must be read, written again as it was and decrypt to the labels;
/// what is bad must be refused for the reason that is written beside it.
///
/// # Panics
/// If not.
pub fn check<B: BackendBytes>(folder: &Path, backend: &B, case: &Case) {
    let load = |name: &str| fs::read(folder.join(name));
    let text = |name: &str| String::from_utf8(load(name).expect("a vector")).expect("text");
    let changed = |what: Kind| {
        format!(
            "the format of the {what} has changed ({}): files of earlier versions cannot be read. \
             If that is meant, raise `framing::VERSION` and write the vectors anew",
            folder.display()
        )
    };
    let secret = load("secret_key.bin").expect("a secret key");
    let secret = backend.decode_secret_key(&secret).expect("a secret key");
    let id = backend.secret_key_id(&secret);
    let mut made = None;
    for kind in Kind::OF_EVERY_ENGINE {
        let Ok(bytes) = load(&format!("{}.bin", name(kind))) else {
            let (_, files) = made.get_or_insert_with(|| files(backend, case));
            let (_, bytes) = files.all.iter().find(|file| file.0 == kind).expect("every kind");
            assert_eq!(summary(bytes), text(&format!("{}.txt", name(kind))), "{}", changed(kind));
            continue;
        };
        let again = match kind {
            Kind::SecretKey => Ok(backend.encode_secret_key(&secret).to_vec()),
            Kind::PublicKey => {
                backend.decode_public_key(&bytes).map(|key| backend.encode_public_key(&key))
            }
            Kind::EvaluationKey => {
                backend.decode_evaluation_key(&bytes).map(|key| backend.encode_evaluation_key(&key))
            }
            Kind::Ballot => {
                backend.decode_ballot(&bytes, 0, id).map(|ballot| backend.encode_ballot(&ballot))
            }
            Kind::Release => backend.decode_release(&bytes, 0, id).map(|release| {
                let labels = backend.decrypt(&secret, 0, &release).expect("labels");
                assert_eq!(lines(&labels), text("labels.txt"), "{}", changed(kind));
                backend.encode_release(&release)
            }),
            Kind::Audit | Kind::Verdict => Err(DecodeError::NotOurs),
        };
        assert!(again.as_ref() == Ok(&bytes), "{}: {:?}", changed(kind), again.err());
    }
    for line in text("bad.txt").lines() {
        let (file, expected) = line.split_once(' ').expect("a name and an error");
        let bytes = load(file).expect("a bad vector");
        let mut kinds = Kind::OF_EVERY_ENGINE.into_iter();
        let kind = kinds.find(|&k| file.starts_with(&format!("bad_{}_", name(k))));
        let found = error(backend, kind.expect("a kind"), &bytes, id);
        assert_eq!(found, expected, "{file}");
    }
}
