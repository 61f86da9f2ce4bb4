//! The scheme on slots: what each operation does to them.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::*;
use crate::ring::{Buffer, Context, PLAINTEXT};

struct Setup {
    context: Context,
    secret: Secret,
    key: EncryptionKey,
    rng: ChaCha20Rng,
}

fn setup() -> Setup {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    // A small ring: not secure, and the same arithmetic.
    let context = Context::new(1_024, 51, 4);
    let secret = Secret::random(&context, &mut rng);
    let key = EncryptionKey::generate(&context, &secret, &mut rng);
    Setup { context, secret, key, rng }
}

impl Setup {
    fn encrypt(&mut self, slots: &[u64]) -> Ciphertext {
        let mut c = self.key.zero(&self.context, self.context.limbs(), &mut self.rng);
        c.add_slots(&self.context, slots.to_vec());
        c
    }

    fn decrypt(&self, mut c: Ciphertext) -> Vec<u64> {
        c.drop_to(&self.context, 1);
        c.decrypt(&self.context, &self.secret)
    }
}

fn slots(seed: u64) -> Vec<u64> {
    (0..1_024).map(|i| (i * i * seed + 7 * i + 3) % PLAINTEXT).collect()
}

#[test]
fn sums_products_and_constants() {
    let mut s = setup();
    let (a, b) = (slots(5), slots(11));
    let (x, y) = (s.encrypt(&a), s.encrypt(&b));
    assert_eq!(s.decrypt(x.clone()), a);
    let relinearisation =
        SwitchKey::relinearisation(&s.context, s.context.limbs(), &s.secret, &mut s.rng);
    let product = multiply(&s.context, &relinearisation, &x, Some(&y));
    let square = multiply(&s.context, &relinearisation, &product, None);
    let expected: Vec<u64> =
        a.iter().zip(&b).map(|(a, b)| (a * b % PLAINTEXT).pow(2) % PLAINTEXT).collect();
    assert_eq!(s.decrypt(square), expected);
    let mut combination = x;
    combination.scale(&s.context, -3);
    combination.add(&s.context, &y);
    combination.add_constant(&s.context, -5);
    let expected: Vec<u64> =
        a.iter().zip(&b).map(|(a, b)| (b + 4 * PLAINTEXT - 3 * a - 5) % PLAINTEXT).collect();
    assert_eq!(s.decrypt(combination), expected);
}

#[test]
fn a_rotation_permutes_slots_and_shared_digits_change_nothing() {
    let mut s = setup();
    let a = slots(5);
    let x = s.encrypt(&a);
    for g in [3, 2_047, 9_u64.pow(5) % 2_048] {
        let automorphism = Automorphism::new(1_024, g);
        let key = SwitchKey::automorphism(&s.context, s.context.limbs(), &s.secret, g, &mut s.rng);
        let rotated = automorphism.rotate(&s.context, &key, &x, None);
        let shared = automorphism.rotate(&s.context, &key, &x, Some(&Digits::of(&s.context, &x)));
        assert!(rotated == shared);
        // Place j holds exponent 2 rev(j) + 1 and now shows what stood at g times that.
        let place = |e: u64| ((e / 2).reverse_bits() >> 54) as usize;
        let found = s.decrypt(rotated);
        for e in (1..2_048).step_by(2) {
            assert_eq!(found[place(e)], a[place(e * g % 2_048)], "g {g}, exponent {e}");
        }
    }
}

#[test]
fn decryption_leaves_no_phase_in_memory() {
    let mut s = setup();
    let mut c = s.encrypt(&slots(5));
    c.drop_to(&s.context, 1);
    // With c it gives the secret away: s = (phase - c0) / c1.
    let phase = c.phase(&s.context, &s.secret);
    c.decrypt(&s.context, &s.secret);
    let stale: Vec<Buffer> = (0..64).map(|_| Buffer::stale(1_024)).collect();
    assert!(stale.iter().all(|buffer| **buffer != *phase.limb(0)));
}

#[test]
fn debug_hides_the_secret() {
    assert_eq!(format!("{:?}", setup().secret), "Secret(hidden)");
}
