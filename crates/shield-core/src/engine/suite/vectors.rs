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
//! | `bad_secret_key.txt` ... | of each kind, a line per wrong file: fault, digest, error |
//! | `bad_secret_key_magic.bin` ... | those wrong files themselves, of the smallest kind |
//!
//! What is too large to be kept is made from the seeds again and compared with its digest. So are
//! wrong files: they are made of the good one, compared with their digests, and read. [`check`]
//! reads a folder; [`write()`] makes it anew, when a format changes on purpose: each crate has an
//! ignored test for that (see `CONTRIBUTING.md`). Kinds that only some engines have are written
//! with [`write_files`] and read with [`read_files`] and [`check_wrong`].

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::Case;
use super::bytes::{Files, read};
use super::wrong::{Refused, refused};
use crate::engine::{Encoding, Engine, Key, KeysOf};
use crate::framing::{DecodeError, HEADER, Kind};
use crate::seed::Seed;
use crate::votes::Label;

/// Bytes of the largest file that is kept whole.
pub const LARGEST: usize = 120_000;

/// Keys and files from fixed seeds.
fn files<E: Engine>(engine: &E, case: &Case) -> (KeysOf<E>, Files) {
    let mut rng = ChaCha20Rng::seed_from_u64(2_026);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let files = Files::new(engine, &keys, &case.votes, &Seed::from_number(2_026), &mut rng);
    (keys, files)
}

fn name(kind: Kind) -> String {
    kind.to_string().replace(' ', "_")
}

fn save(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    fs::write(folder.join(name), bytes).expect("a file is written");
}

fn load(folder: &Path, name: &str) -> Vec<u8> {
    let path = folder.join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn text(folder: &Path, name: &str) -> String {
    String::from_utf8(load(folder, name)).expect("text")
}

fn changed(folder: &Path, kind: Kind) -> String {
    format!(
        "the format of the {kind} has changed ({}): files of earlier versions cannot be read. If \
         that is meant, raise `framing::VERSION` and write the vectors anew",
        folder.display()
    )
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

/// The line of a wrong file.
fn line(Refused { what, bytes, error }: &Refused) -> String {
    format!("{what} {} {error:?}\n", blake3::hash(bytes).to_hex())
}

/// The smallest kind, whose wrong files are kept whole.
fn smallest(files: &[(Kind, Vec<u8>)]) -> Option<Kind> {
    files.iter().min_by_key(|(_, bytes)| bytes.len()).map(|(kind, _)| *kind)
}

/// Writes the folder of an engine anew.
///
/// # Panics
/// If it cannot.
pub fn write<E: Engine>(folder: &Path, engine: &E, elsewhere: &E, case: &Case) {
    let (keys, Files { all, id }) = files(engine, case);
    write_files(folder, &all, elsewhere.binding(), |kind, bytes| read(engine, kind, bytes, 0, id));
    let (_, release) = &all[4];
    let release = engine.decode_release(release, 0, id).expect("a release");
    let labels = engine.decrypt(&keys.secret, 0, &release).expect("labels");
    save(folder, "labels.txt", lines(&labels));
}

/// Writes a folder anew: good files, and the wrong ones made of them that `read` refuses.
/// `elsewhere` is the binding of another election.
///
/// # Panics
/// If it cannot.
pub fn write_files(
    folder: &Path,
    files: &[(Kind, Vec<u8>)],
    elsewhere: &[u8; 32],
    read: impl Fn(Kind, &[u8]) -> Result<(), DecodeError>,
) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).expect("a folder");
    for (kind, bytes) in files {
        let name = name(*kind);
        if bytes.len() <= LARGEST {
            save(folder, &format!("{name}.bin"), bytes);
        } else {
            save(folder, &format!("{name}.txt"), summary(bytes));
        }
        let mut index = String::new();
        for wrong in refused(bytes, elsewhere, |bytes| read(*kind, bytes)) {
            index += &line(&wrong);
            if smallest(files) == Some(*kind) {
                save(folder, &format!("bad_{name}_{}.bin", wrong.what), wrong.bytes);
            }
        }
        save(folder, &format!("bad_{name}.txt"), index);
    }
}

/// Reads the folder of an engine: what is good must be read, written again as it was and decrypt to
/// the labels; what is wrong must be refused for the reason that is written beside it. `elsewhere`
/// is the same engine for another election.
///
/// # Panics
/// If not.
pub fn check<E: Engine>(folder: &Path, engine: &E, elsewhere: &E, case: &Case) {
    let good = read_files(folder, &Kind::OF_EVERY_ENGINE, || files(engine, case).1.all.into());
    let (_, secret) = &good[0];
    let secret = engine
        .decode_secret_key(secret)
        .unwrap_or_else(|error| panic!("{}: {error:?}", changed(folder, Kind::SecretKey)));
    let id = secret.id();
    for (kind, bytes) in &good {
        let again = match kind {
            Kind::SecretKey => Ok(engine.encode_secret_key(&secret).to_vec()),
            Kind::PublicKey => {
                engine.decode_public_key(bytes).map(|key| engine.encode_public_key(&key))
            }
            Kind::EvaluationKey => {
                engine.decode_evaluation_key(bytes).map(|key| engine.encode_evaluation_key(&key))
            }
            Kind::Ballot => {
                engine.decode_ballot(bytes, 0, id).map(|ballot| engine.encode_ballot(&ballot))
            }
            Kind::Release => engine.decode_release(bytes, 0, id).map(|release| {
                let labels = engine.decrypt(&secret, 0, &release).expect("labels");
                let expected = text(folder, "labels.txt");
                assert_eq!(lines(&labels), expected, "{}", changed(folder, *kind));
                engine.encode_release(&release)
            }),
            _ => Err(DecodeError::NotOurs),
        };
        check_again(folder, *kind, bytes, &again);
    }
    check_wrong(folder, &good, elsewhere.binding(), |kind, bytes| read(engine, kind, bytes, 0, id));
}

/// The good files of these kinds: those that are kept, and for the others what `make` makes, once
/// it has the digest that is kept of it.
///
/// # Panics
/// If it has not, or if there is nothing in the folder about a kind.
pub fn read_files(
    folder: &Path,
    kinds: &[Kind],
    make: impl FnOnce() -> Vec<(Kind, Vec<u8>)>,
) -> Vec<(Kind, Vec<u8>)> {
    let mut make = Some(make);
    let mut made = Vec::new();
    let mut file = |kind: Kind| {
        if let Ok(bytes) = fs::read(folder.join(format!("{}.bin", name(kind)))) {
            return bytes;
        }
        let expected = text(folder, &format!("{}.txt", name(kind)));
        if let Some(make) = make.take() {
            made = make();
        }
        let place = made.iter().position(|(found, _)| *found == kind).expect("every kind is made");
        let (_, bytes) = made.swap_remove(place);
        assert_eq!(summary(&bytes), expected, "{}", changed(folder, kind));
        bytes
    };
    kinds.iter().map(|&kind| (kind, file(kind))).collect()
}

/// A file must be read, and written again as it was.
///
/// # Panics
/// If `again`, what was written after it was read, is something else.
pub fn check_again(folder: &Path, kind: Kind, bytes: &[u8], again: &Result<Vec<u8>, DecodeError>) {
    let same = again.as_ref().is_ok_and(|again| again == bytes);
    assert!(same, "{}: {:?}", changed(folder, kind), again.as_ref().err());
}

/// The wrong files that are made of these must be those that the folder tells of, and be refused
/// with the errors that it tells of.
///
/// # Panics
/// If not.
pub fn check_wrong(
    folder: &Path,
    good: &[(Kind, Vec<u8>)],
    elsewhere: &[u8; 32],
    read: impl Fn(Kind, &[u8]) -> Result<(), DecodeError>,
) {
    for (kind, bytes) in good {
        let name = name(*kind);
        let mut index = String::new();
        for wrong in refused(bytes, elsewhere, |bytes| read(*kind, bytes)) {
            index += &line(&wrong);
            if smallest(good) == Some(*kind) {
                let file = format!("bad_{name}_{}.bin", wrong.what);
                assert!(load(folder, &file) == wrong.bytes, "{file} in {}", folder.display());
            }
        }
        let file = format!("bad_{name}.txt");
        assert_eq!(index, text(folder, &file), "{file} in {}", folder.display());
    }
}
