//! Election files: what is read, what is refused, and what a digest covers.

use super::*;
use crate::engine::Protects;

const GOOD: &str = r#"
name = "ward-7"
group = "hospitals"
classes = 10
samples = 100
offset = 5
quorum = 2
deadline = 2027-03-01T12:00:00+01:00
teachers = ["amber", "birch", "cedar"]
"#;

fn mistakes(text: &str) -> Vec<String> {
    let error = ElectionFile::parse(text).expect_err("there are mistakes");
    error.mistakes.iter().map(ToString::to_string).collect()
}

#[test]
fn a_file_and_its_canonical_form_say_the_same() {
    let file = ElectionFile::parse(GOOD).unwrap();
    let again = ElectionFile::parse(&file.canonical()).unwrap();
    assert_eq!(file, again);
    assert_eq!(file.digest(), again.digest());
    assert_eq!(file.election().fingerprint(), again.election().fingerprint());
    assert_eq!(file.teacher("cedar"), Some(2));
    assert_eq!(file.deadline().unwrap().to_string(), "2027-03-01T11:00:00Z");
}

#[test]
fn every_key_changes_the_digest() {
    let file = ElectionFile::parse(GOOD).unwrap();
    for (from, to) in [
        ("ward-7", "ward-8"),
        ("hospitals", "labs"),
        ("classes = 10", "classes = 9"),
        ("samples = 100", "samples = 101"),
        (
            "classes = 10",
            "classes = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\", \"i\", \"j\"]",
        ),
        (
            "samples = 100",
            "samples = 100\nsamples_digest = \"00000000000000000000000000000000\
             00000000000000000000000000000000\"",
        ),
        ("offset = 5", "offset = 4"),
        ("quorum = 2", "quorum = 3"),
        ("+01:00", "+02:00"),
        ("\"amber\", \"birch\"", "\"birch\", \"amber\""),
        ("quorum", "polynomial = \"X\"\nquorum"),
        ("quorum", "sampling = \"without-replacement\"\nquorum"),
        ("quorum", "proofs = true\nquorum"),
    ] {
        let other = ElectionFile::parse(&GOOD.replace(from, to)).expect(to);
        assert_ne!(file.digest(), other.digest(), "{from} -> {to}");
    }
}

#[test]
fn all_mistakes_are_said_at_once_with_their_lines() {
    let text = r#"
name = "Ward 7"
classes = 1
samples = "many"
polynomial = "8Y"
quorum = 9
deadline = "tomorrow"
teachers = ["amber", "amber", 3]
colour = "red"
"#;
    let found = mistakes(text);
    for (line, word) in
        [(2, "name"), (3, "classes"), (4, "samples"), (5, "polynomial"), (7, "deadline")]
    {
        let start = format!("line {line}: ");
        assert!(
            found.iter().any(|m| m.starts_with(&start) && m.contains(word)),
            "{word}: {found:#?}"
        );
    }
    assert!(found.iter().any(|m| m.contains("`amber` is there twice")), "{found:#?}");
    assert!(found.iter().any(|m| m.contains("`group` is missing")), "{found:#?}");
    assert!(found.iter().any(|m| m.contains("`colour` is not a key")), "{found:#?}");
    assert!(found.len() >= 9, "{found:#?}");
}

#[test]
fn a_quorum_beyond_the_teachers_is_refused() {
    let found = mistakes(&GOOD.replace("quorum = 2", "quorum = 4"));
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("from 1 to 3"), "{found:?}");
}

#[test]
fn what_is_not_toml_is_placed() {
    let found = mistakes("name = \"a\"\nclasses = = 3\n");
    assert!(found[0].starts_with("line 2: not TOML"), "{found:?}");
}

/// Every key and ballot carries the digest.
#[test]
fn text_and_digest_of_a_file_do_not_change() {
    let frozen = [
        (
            GOOD,
            "name = \"ward-7\"\ngroup = \"hospitals\"\nclasses = 10\nsamples = 100\n\
             polynomial = \"8X^4+6X^3+4X^2+X\"\noffset = 5\nsampling = \"with-replacement\"\n\
             quorum = 2\ndeadline = 2027-03-01T11:00:00Z\n\
             teachers = [\"amber\", \"birch\", \"cedar\"]\n",
            "6128b2c50b17a50ce96f6b653c55585beeee2bda154b23975b4c549cfbe32813",
        ),
        (
            "name = \"a\"\ngroup = \"g\"\nclasses = 3\nsamples = 6\noffset = 1\nquorum = 1\n\
             teachers = [\"t\"]\n",
            "name = \"a\"\ngroup = \"g\"\nclasses = 3\nsamples = 6\n\
             polynomial = \"8X^4+6X^3+4X^2+X\"\noffset = 1\nsampling = \"with-replacement\"\n\
             quorum = 1\nteachers = [\"t\"]\n",
            "0b62a676d24ee5882d3fc778f6f5ad6227b84c4c02166c13c7348b01379a9221",
        ),
    ];
    for (text, canonical, digest) in frozen {
        let file = ElectionFile::parse(text).unwrap();
        assert_eq!(file.canonical(), canonical);
        assert_eq!(crate::hex::hex(&file.digest()), digest);
        let explicit = format!("engine = \"bfv\"\nmechanism = \"shield\"\n{text}");
        assert_eq!(ElectionFile::parse(&explicit).unwrap(), file, "the defaults change nothing");
    }
}

#[test]
fn keys_that_choose_an_engine_must_go_together() {
    let with = |lines: &str| mistakes(&format!("{lines}\n{GOOD}")).join("\n");
    for (lines, said) in [
        (
            "engine = \"cingulata\"",
            "line 1: `engine`: `cingulata` is not an engine; it must be one",
        ),
        ("mechanism = \"argmax\"", "is not a mechanism"),
        ("engine = \"tfhe-leveled\"", "it must be one of bfv, tfhe"),
        ("engine = \"tfhe\"\nmechanism = \"noisy-argmax\"\nnoise = 3.5", "`offset` means nothing"),
        ("noise = 3", "the mechanism `shield` has no noise"),
        ("dropouts = 3", "the mechanism `shield` has no noise"),
        ("noise_law = \"skellam\"", "the mechanism `shield` has no noise"),
        ("engine = \"clear\"\nmechanism = \"noisy-argmax\"\nnoise = 3.5", "`offset` means nothing"),
    ] {
        let found = with(lines);
        assert!(found.contains(said), "{lines}: {found}");
    }
    let plain = GOOD.replace("offset = 5\n", "");
    let noisy = |lines: &str| {
        mistakes(&format!("mechanism = \"noisy-argmax\"\n{lines}\n{plain}")).join("\n")
    };
    for (lines, said) in [
        ("", "`noisy-argmax` needs `noise = 40.0`"),
        ("noise = \"much\"", "`noise` must be a number"),
        ("noise = -1.0", "it must be a positive number"),
        ("noise = 1e6", "from 0.01 to 10,000"),
        ("noise = 3\ndropouts = 3", "dropouts"),
        ("noise = 3", "it must be at least 3"),
        ("noise = 3\nnoise_law = \"gauss\"", "it must be skellam or laplace"),
        ("noise = 3\ndropouts = 1\nengine = \"tfhe\"", "take `engine = \"bfv\"`"),
        ("noise = 3000\ndropouts = 1", "beyond the range"),
    ] {
        let found = noisy(lines);
        assert!(found.contains(said), "{lines}: {found}");
    }
}

#[test]
fn a_noisy_argmax_in_batches_is_bound_to_its_noise() {
    let plain = GOOD.replace("offset = 5\n", "");
    let file = |lines: &str| {
        let text = format!("mechanism = \"noisy-argmax\"\n{lines}\ndropouts = 1\n{plain}");
        ElectionFile::parse(&text).expect(lines)
    };
    let skellam = file("noise = 3.0");
    assert_eq!(skellam, file("engine = \"bfv\"\nnoise = 3\nnoise_law = \"skellam\""));
    let laplace = file("noise = 3.0\nnoise_law = \"laplace\"");
    let more = file("noise = 3.5");
    assert!(skellam.digest() != laplace.digest() && skellam.digest() != more.digest());
    for file in [skellam, laplace, more] {
        assert_eq!(ElectionFile::parse(&file.canonical()).unwrap(), file, "{}", file.canonical());
        assert_eq!(file.spec().engine_name(), EngineName::Bfv);
    }
}

#[test]
fn counts_are_bound_with_whom_they_protect() {
    let plain = GOOD.replace("offset = 5\n", "");
    let text = |lines: &str| {
        format!("mechanism = \"noisy-argmax\"\nnoise = 3.0\ndropouts = 1\n{lines}\n{plain}")
    };
    let file = |lines: &str| ElectionFile::parse(&text(lines)).expect(lines);
    let votes = file("");
    assert!(votes.spec().counts().is_none() && !votes.canonical().contains("protects"));
    let teacher = file("voters_per_teacher = 40");
    assert_eq!(teacher, file("voters_per_teacher = 40\nprotects = \"teacher\""));
    let counts = teacher.spec().counts().unwrap();
    assert_eq!((counts.voters(), counts.protects()), (40, Protects::Teacher));
    let voter = file("voters_per_teacher = 40\nprotects = \"voter\"");
    assert_eq!(voter.spec().counts().unwrap().protects(), Protects::Voter);
    let fewer = file("voters_per_teacher = 39");
    let mut digests: Vec<_> =
        [&votes, &teacher, &voter, &fewer].iter().map(|file| file.digest()).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 4);
    for file in [teacher, voter] {
        assert_eq!(ElectionFile::parse(&file.canonical()).unwrap(), file, "{}", file.canonical());
    }
    for (lines, said) in [
        ("voters_per_teacher = 0", "it must be from 1 to 10000"),
        ("voters_per_teacher = 10001", "it must be from 1 to 10000"),
        ("voters_per_teacher = 9000", "beyond the range"),
        ("voters_per_teacher = -1", "`voters_per_teacher` must be a whole number"),
        ("voters_per_teacher = 4\nprotects = \"ward\"", "it must be one of teacher, voter"),
        ("protects = \"voter\"", "a teacher has one vote per sample; remove it"),
        ("voters_per_teacher = 4\nnoise_law = \"laplace\"", "counts need `noise_law = \"skell"),
        ("engine = \"tfhe\"", "does not compute `noisy-argmax`; take `engine = \"bfv\"`"),
    ] {
        let found = mistakes(&text(lines)).join("\n");
        assert!(found.contains(said), "{lines}: {found}");
    }
    let found = mistakes(&format!("voters_per_teacher = 4\n{GOOD}")).join("\n");
    assert!(found.contains("line 1: `voters_per_teacher` means nothing here"), "{found}");
}

#[test]
fn classes_may_have_names_and_samples_a_list() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("samples.csv"), "id\nx1\nx2\nx3\n").unwrap();
    let text = GOOD
        .replace("classes = 10", r#"classes = ["cat", "a \"dog\"", "owl"]"#)
        .replace("samples = 100", "samples_file = \"samples.csv\"");
    let file = ElectionFile::parse_in(&text, folder.path()).unwrap();
    assert_eq!(file.class_names().unwrap().as_slice(), ["cat", "a \"dog\"", "owl"]);
    assert_eq!((file.election().classes().count(), file.election().samples()), (3, 3));
    let again = ElectionFile::parse(&file.canonical()).unwrap();
    assert_eq!(file, again, "what the program writes names no other file");
    assert_eq!(file.digest(), again.digest());

    std::fs::write(folder.path().join("samples.csv"), "id\nx2\nx1\nx3\n").unwrap();
    let permuted = ElectionFile::parse_in(&text, folder.path()).unwrap();
    assert_ne!(permuted.digest(), file.digest(), "the order counts");

    let both = text.replace("samples_file", "samples = 3\nsamples_file");
    let error = ElectionFile::parse_in(&both, folder.path()).unwrap_err().to_string();
    assert!(error.contains("remove one of them"), "{error}");
    let error = ElectionFile::parse_in(&text.replace(".csv", ".txt"), folder.path());
    assert!(error.unwrap_err().to_string().contains("samples.txt"));
    let found = mistakes(&text);
    assert!(found[0].starts_with("line 5:") && found[0].contains("fetch election"), "{found:?}");
    for (wrong, words) in [
        ("classes = [\"cat\", \"cat\"]", "there once only"),
        ("classes = [\"cat\", 3]", "must be a number or a list"),
        ("classes = [\"cat\"]", "from 2"),
        ("classes = \"cat\"", "whole number"),
    ] {
        let found = mistakes(&GOOD.replace("classes = 10", wrong));
        assert!(found[0].contains(words), "{wrong}: {found:?}");
    }
}

/// 200,000 unknown keys once took a minute: for each of them, the file was read up to its line.
#[test]
fn after_twenty_mistakes_nothing_more_is_told() {
    let keys = |count: usize| (0..count).map(|key| format!("k{key} = 1")).collect::<Vec<_>>();
    for many in [100, 400_000] {
        let error = ElectionFile::parse(&keys(many).join("\n")).unwrap_err();
        assert_eq!(error.mistakes.len(), 21);
        assert!(error.to_string().contains("there are more"), "{error}");
    }
    let names: String = (0..60_000).map(|_| "\"NO\", ").collect();
    let error = ElectionFile::parse(&format!("teachers = [{names}]")).unwrap_err();
    assert_eq!(error.mistakes.len(), 21);
}

/// The frozen election of the board's vectors, with everybody's public line.
const SIGNED: &str = include_str!("../../../shield-board/tests/vectors/election.toml");

#[test]
fn a_signed_election_has_everybodys_public_line() {
    let file = ElectionFile::parse(SIGNED).unwrap();
    assert_eq!(file.canonical(), SIGNED);
    let parties = file.parties().unwrap();
    assert_eq!(parties.election().0, file.digest());
    assert_eq!((parties.iter().count(), file.audits()), (6, 1));
    let names: Vec<&str> = file.teachers().iter().map(Name::as_str).collect();
    assert_eq!(names, ["amber", "birch", "cedar"]);
    // Other keys or other roles are another election.
    let swapped = SIGNED.replace("student", "pupil").replace("operator", "student");
    let swapped = ElectionFile::parse(&swapped.replace("pupil", "operator")).unwrap();
    assert_ne!(swapped.digest(), file.digest());
    assert_ne!(swapped.parties().unwrap().fingerprint(), parties.fingerprint());
    assert!(ElectionFile::parse(GOOD).unwrap().parties().is_none());
}

#[test]
fn half_a_signed_election_is_none() {
    let amber = SIGNED.find("amber shield1").unwrap();
    let amber = &SIGNED[amber..amber + 125];
    let (before, after) = SIGNED.split_once("student").unwrap();
    let (student, after) = after.split_once('\n').unwrap();
    for (text, words) in [
        (SIGNED.replace(amber, "amber"), "`amber` has no public keys"),
        (format!("{before}{after}"), "needs `student ="),
        (SIGNED.replace("audits = 1", "audits = 2"), "there are 1 auditors"),
        (SIGNED.replace("lab shield1", "amber shield1"), "two parties named `amber`"),
        (
            SIGNED.replace(amber, &format!("amber{}", &student[7..student.len() - 1])),
            "the keys of another",
        ),
        (SIGNED.replace("amber shield16h", "amber shield16g"), "copy them again"),
        (SIGNED.replace("amber shield1", "amber shield2"), "public keys are `shield1`"),
    ] {
        assert_ne!(text, SIGNED);
        let error = ElectionFile::parse(&text).unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn proofs_are_for_votes_on_bfv() {
    let with = |lines: &str| GOOD.replace("offset = 5", lines).replace("quorum = 2", "quorum = 3");
    let argmax = "mechanism = \"noisy-argmax\"\nnoise = 2.0";
    for lines in ["proofs = true", &format!("proofs = true\n{argmax}")] {
        let file = ElectionFile::parse(&with(lines)).unwrap();
        assert!(file.spec().proofs() && file.canonical().contains("proofs = true"));
        assert_eq!(ElectionFile::parse(&file.canonical()).unwrap().digest(), file.digest());
    }
    let without = ElectionFile::parse(&with("proofs = false")).unwrap();
    assert!(!without.canonical().contains("proofs"), "the same as nothing");
    assert_eq!(mistakes(&with("proofs = 1")), ["line 6: `proofs` must be true or false"]);
    let counts = format!("{argmax}\nvoters_per_teacher = 3\nproofs = true");
    assert!(mistakes(&with(&counts)).concat().contains("leave `proofs`"));
}
