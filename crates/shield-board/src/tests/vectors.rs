//! A board that earlier versions wrote, byte by byte. A failure says that boards of earlier
//! versions can no longer be read; if that is meant, change the contexts that name the version.

use std::fs;
use std::path::{Path, PathBuf};

use super::Ward;
use crate::folder::LINES;
use crate::sealed::open;
use crate::{Folder, Kind, Line, verify};

pub(super) const FILE: &[u8] = include_bytes!("../../tests/vectors/election.toml");

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

/// The board of fixed seeds and bodies.
pub(super) fn board(ward: &Ward) -> Folder {
    let mut board = ward.keys(FILE);
    for teacher in &ward.teachers {
        let ballot = [teacher.name().as_str().as_bytes(), &[9; 1500]].concat();
        ward.say(&mut board, Kind::Ballot, teacher, Some(&ballot)).unwrap();
    }
    ward.say(&mut board, Kind::Freeze, &ward.office, None).unwrap();
    ward.say(&mut board, Kind::Results, &ward.office, Some(&[8; 3000])).unwrap();
    let sealed = fs::read(vectors().join("sealed")).unwrap();
    ward.say(&mut board, Kind::Seed, &ward.office, Some(&sealed)).unwrap();
    let (results, _) = board.body_of(Kind::Results).unwrap();
    ward.say_of(&mut board, Kind::Audited, &ward.vera, Some(results)).unwrap();
    board
}

/// What people see of the keys.
fn public(ward: &Ward) -> String {
    let lines = ward
        .parties
        .iter()
        .map(|party| format!("{} {} {}\n", party.role, party.line, party.line.keys.fingerprint()));
    lines.chain([format!("{}\n", ward.parties.fingerprint())]).collect()
}

#[test]
fn frozen_lines_and_keys_are_what_they_were() {
    let ward = Ward::of(FILE);
    let made: String = board(&ward).lines().iter().map(Line::encode).collect();
    let frozen = fs::read_to_string(vectors().join("board").join(LINES)).unwrap();
    assert_eq!(made, frozen);
    assert_eq!(public(&ward), fs::read_to_string(vectors().join("public.txt")).unwrap());
    let sealed = fs::read(vectors().join("sealed")).unwrap();
    assert_eq!(open(&ward.vera, b"a purpose", &sealed).unwrap().as_slice(), b"a secret");
    let frozen = Folder::open(&vectors().join("board")).unwrap();
    assert!(verify(&frozen, &ward.parties).all_passed());
}

#[test]
#[ignore = "writes the frozen board anew"]
fn write_frozen() {
    use rand::SeedableRng;
    let ward = Ward::of(FILE);
    let mut rng = rand::rngs::StdRng::seed_from_u64(1);
    let sealed = crate::sealed::seal(ward.vera.public(), b"a purpose", b"a secret", &mut rng);
    fs::write(vectors().join("sealed"), sealed).unwrap();
    fs::write(vectors().join("public.txt"), public(&ward)).unwrap();
    let made = board(&ward);
    let (from, to) = (made.path(), vectors().join("board"));
    for (from, to) in [
        (from.join("bodies"), to.join("bodies")),
        (made.ballots(), crate::folder::beside(&to, "ballots")),
    ] {
        let _ = fs::remove_dir_all(&to);
        fs::create_dir_all(&to).unwrap();
        for file in fs::read_dir(from).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
    fs::copy(from.join(LINES), to.join(LINES)).unwrap();
}
