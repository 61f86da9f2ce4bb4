//! Ballots that no encryption makes: with a large error, or with a phase that is no multiple of
//! Delta plus something short. They spoil a batch, and the audit accuses their teacher alone.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use shield_core::Seed;
use shield_core::engine::{Audits, Encoding, Engine, Presence};

use super::{Fixture, forged, replaced, shape};
use crate::ring::{Context, Poly, Values};
use crate::scheme::Ciphertext;
use crate::{BfvBallot, Coding};

/// The teacher who cheats, one of [`TEACHERS`].
const CHEAT: u32 = 7;
const TEACHERS: usize = 17;

/// Every coding, with one group of cells and with several.
fn fixtures() -> Vec<Fixture> {
    [
        (Coding::OneHot, 512),
        (Coding::OneHot, 100),
        (Coding::PackedBits, 512),
        (Coding::PackedBits, 100),
        (Coding::BitsAcross, 10_000),
        (Coding::BitsAcross, 512),
        (Coding::BitsAcross, 100),
    ]
    .map(|(coding, samples)| Fixture::with_coding(shape(TEACHERS, 10, samples, "X^2+2X"), coding))
    .into()
}

/// A polynomial with coefficients of up to 2^bits.
pub(super) fn large(context: &Context, bits: u32, rng: &mut ChaCha20Rng) -> Poly<Values> {
    let width = 1_i64 << bits.min(40);
    let error: Vec<i64> = (0..context.degree()).map(|_| rng.random_range(-width..=width)).collect();
    let mut error = context.small(&error, context.limbs());
    (40..bits).for_each(|_| context.scale(&mut error, 2));
    error
}

/// A vote whose error has coefficients of up to 2^bits, drawn for this teacher.
pub(super) fn noisy(fixture: &Fixture, teacher: u32, bits: u32) -> BfvBallot {
    let mut ballot = forged(fixture, |_| 0, &[]);
    let mut rng = ChaCha20Rng::seed_from_u64(u64::from(bits) << 32 | u64::from(teacher));
    let context = fixture.engine.context();
    ballot.ciphertexts[0].add_scaled(context, &large(context, bits, &mut rng));
    ballot
}

/// No encryption at all: each phase is Delta times an idempotent modulo Q, Delta at half of the
/// roots and 0 at the others. Its square times -t is itself, as that of a bit is.
fn idempotent(fixture: &Fixture) -> BfvBallot {
    let Fixture { engine, keys, .. } = fixture;
    let context = engine.context();
    let (n, limbs) = (context.degree(), context.limbs());
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut ciphertext = || {
        let mut c0 = Poly::zero(n, limbs);
        context.add_constant(&mut c0, 1);
        for x in c0.iter_mut().flatten() {
            *x *= u64::from(rng.random::<bool>());
        }
        Ciphertext { parts: [c0, Poly::zero(n, limbs)] }
    };
    let ciphertexts = (0..engine.plan().layout().planes()).map(|_| ciphertext()).collect();
    let presence = Presence::new((0..engine.batch(0).len()).map(|_| true));
    let (key, digest) = (keys.public.id, [0; 32]);
    let ballot = BfvBallot { ciphertexts, presence, batch: 0, key, digest, proof: None };
    engine.decode_ballot(&engine.encode_ballot(&ballot), 0, key).expect("a ballot in form")
}

/// How many samples the ballots spoil, and whom an audit of them accuses.
fn consequences(fixture: &Fixture, cheats: &[(u32, BfvBallot)]) -> (usize, Vec<u32>) {
    let Fixture { engine, keys, .. } = fixture;
    let ballots = replaced(fixture, cheats);
    let release = engine.aggregate(&keys.evaluation, 0, &ballots, &Seed::from_number(3));
    let found = engine.inspect(&keys.secret, 0, &release.expect("a release")).expect("labels");
    let (seed, spoiled) = (Seed::from_number(4), found.spoiled());
    let asked: Vec<usize> = match spoiled.len() {
        0 => (0..found.labels.len()).collect(),
        _ => spoiled.clone(),
    };
    let audit = engine.audit(&keys.evaluation, 0, &ballots, &seed, &asked).expect("an audit");
    (spoiled.len(), engine.read_audit(&keys.secret, 0, &audit).expect("teachers"))
}

#[test]
fn a_noisy_ballot_accuses_its_own_teacher_and_nobody_else() {
    for fixture in fixtures() {
        let layout = fixture.engine.plan().layout();
        let samples = fixture.engine.batch(0).len();
        for bits in [52, 62, 100] {
            let (spoiled, accused) =
                consequences(&fixture, &[(CHEAT, noisy(&fixture, CHEAT, bits))]);
            // In larger rings the smaller errors spoil nothing.
            let needed = bits == 100 || layout.coding() == Coding::OneHot;
            let right = spoiled > samples * 9 / 10 && accused == [CHEAT];
            let unnoticed = spoiled == 0 && accused.is_empty() && !needed;
            assert!(right || unnoticed, "2^{bits}, {layout:?}: {spoiled} spoiled, {accused:?}");
        }
    }
}

/// None of these errors spoils a sample alone.
#[test]
fn errors_that_spoil_only_together_accuse_everyone_who_has_one() {
    let fixture = Fixture::with_coding(shape(TEACHERS, 10, 100, "X^2+2X"), Coding::OneHot);
    let all: Vec<(u32, BfvBallot)> =
        (0..16).map(|teacher| (teacher, noisy(&fixture, teacher, 50))).collect();
    assert_eq!(consequences(&fixture, &all[..1]).0, 0);
    let (spoiled, accused) = consequences(&fixture, &all);
    assert!(spoiled > 90, "{spoiled}");
    assert_eq!(accused, (0..16).collect::<Vec<u32>>());
}

#[test]
fn a_ballot_that_is_an_idempotent_of_the_ring_accuses_its_own_teacher_and_nobody_else() {
    for fixture in fixtures() {
        let (spoiled, accused) = consequences(&fixture, &[(CHEAT, idempotent(&fixture))]);
        let layout = fixture.engine.plan().layout();
        assert!(spoiled > fixture.engine.batch(0).len() * 9 / 10, "{layout:?}: {spoiled}");
        assert_eq!(accused, [CHEAT], "{layout:?}");
    }
}
