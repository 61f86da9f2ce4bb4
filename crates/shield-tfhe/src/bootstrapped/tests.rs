//! Tests of the engine as a whole.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small whole numbers, and the highest bits of words"
)]

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield::backend::suite::{self, Case, Shape, vectors};
use shield::backend::{Backend, BackendBytes, BallotBox, KeysOf, MemoryBallotBox};
use shield::framing::{DecodeError, Kind};
use shield::{Sampling, Seed};

use super::flooding::Flooding;
use super::keys::{self, EvaluationKey, PublicKey, SecretKey};
use super::lookup::Lookup;
use super::parameters::{
    RING, bootstrap_variance, encryption_variance, lookup_variance, packing_variance, torus, turns,
};
use super::plan::FAILURE_BITS;
use super::torus::{Lwe, Table};
use super::{BootstrappedBackend, BootstrappedBallot, Circuit};

/// Keys take seconds to make; no test but the suite needs its own.
pub(crate) fn shared_keys() -> &'static (SecretKey, PublicKey, EvaluationKey) {
    static KEYS: OnceLock<(SecretKey, PublicKey, EvaluationKey)> = OnceLock::new();
    KEYS.get_or_init(|| keys::generate(&mut ChaCha20Rng::seed_from_u64(1)))
}

fn keys_of() -> KeysOf<BootstrappedBackend> {
    let (secret, public, evaluation) = shared_keys().clone();
    shield::backend::Keys { secret, public, evaluation }
}

fn shape(teachers: usize, classes: usize, samples: usize, polynomial: &'static str) -> Shape {
    let sampling = Sampling::WithReplacement;
    Shape { teachers, classes, samples, polynomial, offset: 1, sampling, abstentions: 0 }
}

/// Labels as the operator's; returns seconds per sample, encryption included.
fn check(case: &Case, circuit: Circuit, number: u64) -> f64 {
    let backend = BootstrappedBackend::new(case.election.clone(), circuit).expect("a plan");
    let keys = keys_of();
    let mut rng = ChaCha20Rng::seed_from_u64(number);
    let seed = Seed::from_number(number);
    let start = std::time::Instant::now();
    let found = suite::labels(&backend, &keys, &case.votes, &seed, &mut rng);
    let seconds = start.elapsed().as_secs_f64() / case.votes.samples() as f64;
    assert_eq!(found, case.expected(&seed), "{circuit} on {:?}", case.election);
    seconds
}

#[test]
fn the_suite_of_all_engines_on_a_few() {
    let cases = suite::small_elections();
    suite::run(&cases[..1], |e| BootstrappedBackend::new(e.clone(), Circuit::Folded));
    suite::run(&cases[1..2], |e| BootstrappedBackend::new(e.clone(), Circuit::Plain));
    // Five teachers of whom some abstain, ten classes, rounds of three kinds.
    for circuit in [Circuit::Plain, Circuit::Folded] {
        suite::run(&cases[3..4], |e| BootstrappedBackend::new(e.clone(), circuit));
    }
}

#[test]
#[ignore = "minutes: every election of the suite, both circuits"]
fn the_suite_of_all_engines() {
    for circuit in [Circuit::Plain, Circuit::Folded] {
        suite::run(&suite::small_elections(), |e| BootstrappedBackend::new(e.clone(), circuit));
    }
}

#[test]
fn labels_without_a_round_of_one_draw() {
    let base = Shape { offset: 0, abstentions: 30, ..shape(6, 4, 3, "X^3+X^2") };
    for (circuit, sampling) in
        [(Circuit::Plain, Sampling::WithoutReplacement), (Circuit::Folded, base.sampling)]
    {
        let case = Case::new(Shape { sampling, ..base }, 4);
        // The seed is one whose draws give labels and failures.
        let seed = (0..50).find(|&number| {
            let labels = case.expected(&Seed::from_number(number));
            labels.iter().any(Option::is_none) && labels.iter().any(Option::is_some)
        });
        check(&case, circuit, seed.expect("some seed gives both"));
    }
}

#[test]
fn two_digits() {
    check(&Case::new(shape(9, 100, 1, "X^2+X"), 4), Circuit::Folded, 4);
    check(&Case::new(shape(9, 40, 1, "X^2+X"), 4), Circuit::Plain, 5);
}

#[test]
#[ignore = "an hour: twenty samples for each number of classes, both circuits"]
fn twenty_samples() {
    for circuit in [Circuit::Plain, Circuit::Folded] {
        for classes in [2, 10, 16, 100] {
            let case = Case::new(shape(250, classes, 20, "2X^3+3X^2+X"), classes as u64);
            let seconds = check(&case, circuit, 7);
            let plan = super::Plan::new(&case.election, circuit).expect("a plan");
            println!(
                "{circuit}, {classes} classes, {} digits, {} bootstrappings: {seconds:.2} s a \
                 sample, 20 right",
                plan.digits(),
                plan.bootstrappings()
            );
        }
    }
}

#[test]
fn the_counts_of_lookups() {
    let count = |classes, polynomial, circuit| {
        let case = Case::new(shape(250, classes, 1, polynomial), 1);
        let plan = super::Plan::new(&case.election, circuit).expect("a plan");
        assert!(plan.failure_bits() >= FAILURE_BITS);
        (plan.digits(), plan.bootstrappings() - plan.flooding_bootstrappings())
    };
    let large = "8X^4+6X^3+4X^2+X";
    assert_eq!(count(10, large, Circuit::Plain), (1, 77));
    assert_eq!(count(10, large, Circuit::Folded), (1, 58));
    assert_eq!(count(16, large, Circuit::Plain), (1, 77));
    assert_eq!(count(16, large, Circuit::Folded), (2, 116));
    assert_eq!(count(100, large, Circuit::Folded), (2, 116));
    assert_eq!(count(1_000, large, Circuit::Folded), (3, 174));
    // Sixteen flags do not fit into one lookup: 7, 7 and 2, then three.
    assert_eq!(count(10, "X^16+X", Circuit::Plain), (1, 15 + 4 + 2));
}

#[test]
fn the_plan_is_what_is_done() {
    let (secret, public, evaluation) = shared_keys();
    for (circuit, polynomial) in
        [(Circuit::Plain, "X^16+X^2+2X"), (Circuit::Folded, "X^3+X^2+2X"), (Circuit::Folded, "X^3")]
    {
        let case = Case::new(shape(5, 3, 1, polynomial), 1);
        let backend = BootstrappedBackend::new(case.election.clone(), circuit).expect("a plan");
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let ballots = ballots(&backend, &case, public, &mut rng);
        let urns = shield::backend::urns(&case.election, 1, &ballots).expect("urns");
        let mut lookup = Lookup::new(evaluation);
        let seed = Seed::from_number(1);
        let words = backend
            .aggregate_sample(&mut lookup, evaluation, 0, 0, &urns[0], &ballots, &seed)
            .expect("a release");
        assert_eq!(words.len(), backend.plan().digits() * (RING + 1));
        assert_eq!(lookup.lookups(), backend.plan().bootstrappings(), "{circuit} {polynomial}");
        assert_eq!(secret.id(), evaluation.id());
    }
}

#[test]
fn too_many_rounds_are_refused() {
    let case = Case::new(shape(5, 10, 1, "90000X^2+X"), 1);
    let refused = BootstrappedBackend::new(case.election, Circuit::Folded);
    assert!(matches!(refused, Err(super::BootstrappedError::TooManyRounds { .. })));
}

fn ballots(
    backend: &BootstrappedBackend,
    case: &Case,
    public: &PublicKey,
    rng: &mut ChaCha20Rng,
) -> MemoryBallotBox<BootstrappedBallot> {
    let samples = backend.batch(0);
    let ballot = |teacher| {
        let votes = case.votes.teacher(teacher, samples.clone());
        backend.encrypt(public, 0, &votes, rng).ok()
    };
    MemoryBallotBox::new(samples.len(), (0..case.votes.teachers()).map(ballot).collect())
}

fn variance(errors: &[f64]) -> f64 {
    errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64
}

/// Measured variances lie within a factor of the predicted ones that chance, at these numbers, does
/// not reach.
#[test]
fn noise_is_as_predicted() {
    noise_within(120, 0.6..1.7);
}

/// The same, close enough to tell 2^-64 from 2^-56.
#[test]
#[ignore = "a minute: a thousand lookups of two tables"]
fn noise_is_as_predicted_within_a_sixth() {
    noise_within(1_000, 0.84..1.17);
}

fn noise_within(lookups: usize, factor: std::ops::Range<f64>) {
    let (secret, public, evaluation) = shared_keys();
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let mark = torus(0.125);
    let error = |ciphertext: &Lwe| turns(secret.phase(ciphertext).wrapping_sub(mark));
    // What half the key's error adds to every encryption is one draw a key, and so varies more than
    // the rest.
    let by_key = 0.6..1.7;
    let near = |name: &str, found: f64, expected: f64, factor: &std::ops::Range<f64>| {
        let ratio = found / expected;
        println!("{name}: {found:.3e}, predicted {expected:.3e}, ratio {ratio:.2}");
        assert!(factor.contains(&ratio), "{name}: {found:e} for {expected:e}");
    };
    let fresh = |bits, rng: &mut ChaCha20Rng| {
        let errors = (0..16).flat_map(|_| {
            let packed = public.encrypt(&vec![mark; 64], bits, rng);
            (0..64).map(|place| error(&packed.number(place))).collect::<Vec<_>>()
        });
        variance(&errors.collect::<Vec<f64>>())
    };
    near("encryption", fresh(64, &mut rng), encryption_variance(), &by_key);
    near("cut to 32 bits", fresh(32, &mut rng), packing_variance(32), &by_key);
    near("cut to 16 bits", fresh(16, &mut rng), packing_variance(16), &by_key);
    let mut lookup = Lookup::new(evaluation);
    let (flat, identity) = (Table::new(|_| 0.125), Table::new(|x| x));
    let packed = public.encrypt(&vec![mark; lookups], 32, &mut rng);
    let mut look = |table: &Table| -> Vec<f64> {
        (0..lookups).map(|place| error(&lookup.look_up(table, &packed.number(place)))).collect()
    };
    near("bootstrapping", variance(&look(&flat)), bootstrap_variance(), &factor);
    let read = look(&identity);
    near("lookup", variance(&read), lookup_variance(), &factor);
    // Tables are read without bias: five deviations of the mean, and as much for this key's own
    // switching.
    let mean = read.iter().sum::<f64>() / lookups as f64;
    assert!(mean.abs() < 7.0 * (lookup_variance() / 120.0).sqrt(), "{mean:e}");
}

#[test]
fn flooding_keeps_every_code_and_changes_everything_else() {
    let (secret, public, evaluation) = shared_keys();
    let base = 4;
    let flooding = Flooding::new(base, bootstrap_variance(), 1).expect("room");
    let mut lookup = Lookup::new(evaluation);
    let seed = Seed::from_number(1);
    for code in 0..=base {
        let start = Lwe::known(torus(code as f64 / (2 * base) as f64));
        let flooded = flooding.flood(&mut lookup, public, start.clone(), &seed, 0);
        let words: Vec<u16> = flooded.0.iter().map(|word| (word >> 48) as u16).collect();
        assert_eq!(super::backend::read_code(secret, &words, base), code);
        if code == 1 {
            let again = flooding.flood(&mut lookup, public, start.clone(), &seed, 0);
            assert!(again == flooded, "the same randomness");
            // One bit of the input or another place: other randomness.
            let mut other = start.clone();
            other.shift(1);
            for other in [
                flooding.flood(&mut lookup, public, other, &seed, 0),
                flooding.flood(&mut lookup, public, start, &seed, 1),
            ] {
                let same = other.0.iter().zip(&flooded.0).filter(|(a, b)| a == b).count();
                assert!(same < 10, "{same} of {RING} words are the same");
            }
        }
    }
}

/// Two histories of a code, as far apart as noise can be: after one flood a distinguisher still has
/// a chance that the theorem states.
#[test]
fn the_flood_is_uniform_and_as_wide_as_planned() {
    let flooding = Flooding::new(10, bootstrap_variance(), 1).expect("room");
    let (flood, last) = flooding.floods();
    let (secret, public, _) = shared_keys();
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let mut cells = [0.0; 16];
    for _ in 0..800 {
        let mut ciphertext = Lwe::known(0);
        super::flooding::rerandomise(public, &mut ciphertext, flood, &mut rng);
        let place = (turns(secret.phase(&ciphertext)) / flood + 1.0) * 8.0;
        assert!((0.0..16.0).contains(&place), "outside of the flood");
        cells[place as usize] += 1.0;
    }
    // Chi-square with 15 degrees of freedom: 37.7 has a probability of one in a thousand.
    let chi: f64 = cells.iter().map(|seen: &f64| (seen - 50.0).powi(2) / 50.0).sum();
    assert!(chi < 37.7, "{cells:?}");
    // Ten deviations of noise fit beside the flood, in the lookup and in the decryption.
    let half_step = 1.0 / 40.0;
    assert!(half_step - flood >= 10.0 * (lookup_variance() + bootstrap_variance()).sqrt() * 0.999);
    assert!(last > flood && last < half_step);
}

struct Files {
    case: Case,
    backend: BootstrappedBackend,
    ballots: MemoryBallotBox<BootstrappedBallot>,
    secret: Vec<u8>,
    public: Vec<u8>,
    evaluation: Vec<u8>,
    ballot: Vec<u8>,
    release: Vec<u8>,
}

fn files() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let (secret, public, evaluation) = shared_keys();
        let case = Case::new(Shape { abstentions: 20, ..shape(4, 3, 2, "X^2+X") }, 5);
        let backend =
            BootstrappedBackend::new(case.election.clone(), Circuit::Folded).expect("a plan");
        let mut rng = ChaCha20Rng::seed_from_u64(6);
        let ballots = ballots(&backend, &case, public, &mut rng);
        let seed = Seed::from_number(1);
        let release = backend.aggregate(evaluation, 0, &ballots, &seed).expect("a release");
        Files {
            secret: backend.encode_secret_key(secret).to_vec(),
            public: backend.encode_public_key(public),
            evaluation: backend.encode_evaluation_key(evaluation),
            ballot: backend.encode_ballot(&ballots.open(1).expect("a ballot")),
            release: backend.encode_release(&release),
            case,
            backend,
            ballots,
        }
    })
}

#[test]
fn everything_round_trips_and_repeats() {
    let Files { case, backend, ballots, .. } = files();
    let id = shared_keys().1.id();
    let secret = backend.decode_secret_key(&files().secret).expect("a secret key");
    let public = backend.decode_public_key(&files().public).expect("a public key");
    let evaluation = backend.decode_evaluation_key(&files().evaluation).expect("a key");
    assert_eq!(backend.encode_public_key(&public), files().public);
    assert_eq!(backend.encode_secret_key(&secret).to_vec(), files().secret);
    assert!(backend.encode_evaluation_key(&evaluation) == files().evaluation);
    assert_eq!(files().evaluation.len(), backend.max_bytes(Kind::EvaluationKey));
    assert_eq!(files().public.len(), backend.max_bytes(Kind::PublicKey));
    assert_eq!(files().ballot.len(), backend.max_bytes(Kind::Ballot));
    assert_eq!(files().release.len(), backend.max_bytes(Kind::Release));
    let ballot = backend.decode_ballot(&files().ballot, 0, id).expect("a ballot");
    assert_eq!(backend.encode_ballot(&ballot), files().ballot);
    let presence = backend.peek_presence(&files().ballot, 0).expect("a presence");
    assert_eq!(presence, ballots.presence(1).expect("a presence"));
    // What comes of a decoded key is the same to the last bit.
    let seed = Seed::from_number(1);
    let again = backend.aggregate(&evaluation, 0, ballots, &seed).expect("a release");
    assert!(backend.encode_release(&again) == files().release);
    let release = backend.decode_release(&files().release, 0, id).expect("a release");
    assert_eq!(backend.decrypt(&secret, 0, &release).expect("labels"), case.expected(&seed));
}

#[test]
fn what_does_not_belong_is_refused() {
    let Files { case, backend, ballots, ballot, release, public, .. } = files();
    let (secret, own, evaluation) = shared_keys();
    let id = own.id();
    let plain = BootstrappedBackend::new(case.election.clone(), Circuit::Plain).expect("a plan");
    let binding = plain.decode_ballot(ballot, 0, id).unwrap_err();
    assert!(matches!(binding, DecodeError::Binding { .. }));
    assert!(matches!(backend.decode_ballot(public, 0, id), Err(DecodeError::Kind { .. })));
    assert!(matches!(backend.decode_ballot(ballot, 1, id), Err(DecodeError::Batch { .. })));
    let stranger = PublicKey::new(vec![7; 2 * RING]);
    let wrong_key = backend.decode_ballot(ballot, 0, stranger.id());
    assert!(matches!(wrong_key, Err(DecodeError::Key { .. })));
    let cut = &ballot[..ballot.len() - 1];
    assert!(matches!(backend.decode_ballot(cut, 0, id), Err(DecodeError::Length { .. })));
    for place in [90, ballot.len() / 2] {
        let mut damaged = ballot.clone();
        damaged[place] ^= 4;
        assert_eq!(backend.decode_ballot(&damaged, 0, id).unwrap_err(), DecodeError::Checksum);
        assert_eq!(backend.peek_presence(&damaged, 0).unwrap_err(), DecodeError::Checksum);
    }
    // In memory, too.
    let seed = Seed::from_number(1);
    let decoded = backend.decode_release(release, 0, id).expect("a release");
    let mut other = secret.clone();
    other.id = stranger.id();
    assert!(backend.decrypt(&other, 0, &decoded).is_err());
    assert!(backend.decrypt(secret, 1, &decoded).is_err());
    let mut foreign = ballots.open(1).expect("a ballot").into_owned();
    foreign.made_for.key = stranger.id();
    let foreign = MemoryBallotBox::new(2, vec![Some(foreign), None, None, None]);
    // Both samples draw the only voter with a probability of all but one in a few; this seed does.
    assert!(backend.aggregate(evaluation, 0, &foreign, &seed).is_err());
}

#[test]
fn secrets_do_not_show() {
    let (secret, ..) = shared_keys();
    let shown = format!("{secret:?} {:?} {:?}", files().ballots, files().backend);
    assert!(!shown.contains("words") && !shown.contains("bodies"), "{shown}");
    assert_eq!(format!("{secret:?}").matches(':').count(), 1, "the name alone");
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/bootstrapped")
}

/// The engine of the frozen vectors, and the same for another election.
fn frozen() -> (Case, [BootstrappedBackend; 2]) {
    let case = Case::new(shape(2, 3, 1, "X"), 5);
    let elsewhere = case.election.clone().bound_to([7; 32]);
    let engine = |election| BootstrappedBackend::new(election, Circuit::Folded).expect("a plan");
    let engines = [case.election.clone(), elsewhere].map(engine);
    (case, engines)
}

#[test]
fn frozen_vectors_are_read() {
    let (case, [backend, elsewhere]) = frozen();
    vectors::check(&folder(), &backend, &elsewhere, &case);
}

#[test]
#[ignore = "writes the frozen vectors anew"]
fn write_frozen_vectors() {
    let (case, [backend, elsewhere]) = frozen();
    vectors::write(&folder(), &backend, &elsewhere, &case);
}
