//! Frozen vectors: everything that trustees send, from fixed seeds, as digests.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/trustees").join(name)
}

/// A line for each message of an election that 2 of 3 trustees open.
fn lines<E: Jointly<Ballot = BfvBallot>>(engine: &E, case: &Case) -> String {
    let mut lines = String::new();
    let mut line = |what: &str, bytes: &[u8]| {
        let digest = blake3::hash(bytes).to_hex();
        let _ = writeln!(lines, "{what}: {} bytes, {digest}", bytes.len());
    };
    let ceremony = Ceremony::new(engine, &[1; 32]).expect("a ceremony");
    let makers: Vec<_> = (0..3).map(|i| ceremony.maker(i, [i as u8; 32]).expect("one")).collect();
    let firsts: Vec<_> = makers.iter().map(|maker| maker.first(2)).collect();
    let commitments: Vec<_> = firsts.iter().map(|first| commitment(first)).collect();
    let first = ceremony.first_round(2, &commitments, &firsts).expect("a round");
    let seconds: Vec<_> = makers.iter().map(|maker| maker.second(&first).unwrap()).collect();
    let deals: Vec<_> = makers.iter().map(|maker| maker.deal(&first).unwrap()).collect();
    let public: Vec<&[u8]> = deals.iter().map(|deal| &*deal.public).collect();
    line("commitment", &commitments[1]);
    line("first share", &firsts[1]);
    line("second share", &seconds[1]);
    line("deal", &deals[1].public);
    line("dealt share", &deals[1].shares[2]);
    let id = ceremony.id(&first);
    let keys: Vec<TrusteeKey> = (0..3)
        .map(|j| {
            let dealt: Vec<&[u8]> = deals.iter().map(|deal| &**deal.shares[j]).collect();
            makers[j].receive(&first, id, &public, &dealt).expect("a key")
        })
        .collect();
    line("trustee's key", &keys[1].encode(engine).expect("bytes"));
    drop(makers);
    let joint = ceremony.keys(first, &seconds).expect("keys");
    line("public key", &engine.encode_public_key(&joint.public));
    line("evaluation key", &engine.encode_evaluation_key(&joint.evaluation));
    let mut rng = rng(2_026);
    let samples = engine.batch(0);
    let ballots = (0..case.votes.teachers()).map(|teacher| {
        let votes = case.votes.teacher(teacher, samples.clone());
        engine.encrypt(&joint.public, 0, &votes, &mut rng).ok()
    });
    let ballots = MemoryBallotBox::new(samples.len(), ballots.collect());
    let seed = Seed::from_number(2_026);
    let release = engine.aggregate(&joint.evaluation, 0, &ballots, &seed).expect("a release");
    let release = engine.encode_release(&release);
    line("release", &release);
    let set = [0, 2];
    let openings: Vec<Vec<u8>> = set
        .iter()
        .map(|&own| {
            let with = 2 - own;
            let pair = PairSecret { with, secret: [9; 32].into() };
            keys[own].open(engine, 0, &release, &set, &[pair], &mut Openings::default()).unwrap()
        })
        .collect();
    line("opening", &openings[1]);
    let checked = keys[1].open_checked(engine, 0, &release, &mut Openings::default());
    line("checked opening", &checked.expect("an opening"));
    let revealed = combine(engine, id, 0, &release, &set, &openings).expect("a reading");
    line("labels", format!("{:?}", revealed.labels).as_bytes());
    lines
}

fn all() -> [(&'static str, String); 2] {
    let case = case(3, 2, "X");
    let trustees = trustees(2, 3);
    [
        ("argmax.txt", lines(&argmax(&case, trustees, 256), &case)),
        ("shield.txt", lines(&shield(&case, trustees), &case)),
    ]
}

#[test]
fn frozen_messages_are_the_same() {
    for (name, lines) in all() {
        let frozen = fs::read_to_string(path(name)).expect("a vector");
        assert_eq!(
            lines, frozen,
            "{name}: trustees of another version would accuse each other. If that is meant, raise \
             `framing::VERSION` and write the vectors anew"
        );
    }
}

#[test]
#[ignore = "writes the frozen vectors anew"]
fn write_frozen_messages() {
    for (name, lines) in all() {
        fs::create_dir_all(path("")).expect("a folder");
        fs::write(path(name), lines).expect("a file is written");
    }
}
