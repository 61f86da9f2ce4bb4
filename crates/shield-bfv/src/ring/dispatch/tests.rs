//! Every kind of lanes against the reference: the same residues, bit for bit.

use super::*;
use crate::ring::integers::Halves;
use crate::ring::lanes::{Block, LANES, SETTLED_PRODUCTS, SHORT, TILE};
use crate::ring::modulus::{Factor, LOW, Modulus};
use crate::ring::primes;

/// What the kernel gives on every kind of lanes that this processor has, the reference first.
fn on_all_lanes<K: Kernel>(kernel: impl Fn() -> K) -> Vec<K::Output> {
    let mut outputs = vec![kernel().run(Portable)];
    #[cfg(target_arch = "x86_64")]
    {
        use crate::ring::{avx2::Avx2, avx512::Avx512};
        outputs.extend(Avx2::detect().map(|lanes| lanes.vectorize(kernel())));
        outputs.extend(Avx512::detect().map(|lanes| lanes.vectorize(kernel())));
    }
    outputs
}

fn assert_all_equal<T: PartialEq + std::fmt::Debug>(outputs: &[T], what: &str) {
    for (kind, output) in outputs.iter().enumerate() {
        assert_eq!(*output, outputs[0], "{what}, lanes of kind {kind}");
    }
}

fn word(seed: u64) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn store<L: Lanes>(l: L, v: L::V) -> Block {
    let mut block = [0; LANES];
    l.store(v, &mut block);
    block
}

/// Everything that moves and adds whole words.
struct Words([Block; 2]);

impl Kernel for Words {
    type Output = Vec<Block>;
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> Vec<Block> {
        let [a, b] = self.0.each_ref().map(|x| l.load(x));
        // What is in turned order comes and goes so.
        let turn = |mut block: Block| {
            if L::Arithmetic::FORM.turned() {
                block.swap(1, 2);
                block.swap(5, 6);
            }
            block
        };
        let turned = |v: L::V| l.load(&turn(store(l, v)));
        let (s4, s2) = (l.split::<4>(a, b), l.split::<2>(a, b));
        let (s1, m1) = (l.split::<1>(a, b), l.merge::<1>(turned(a), turned(b)));
        let s1 = (turned(s1.0), turned(s1.1));
        let (m4, m2) = (l.merge::<4>(a, b), l.merge::<2>(a, b));
        let pairs = [s4, s2, s1, m4, m2, m1];
        let singles = [l.add(a, b), l.sub(a, b), l.and(a, b), l.shr::<31>(a), l.shr::<63>(a)];
        let twos = [0, 1, 2, 3].map(|part| l.spread::<2>(a, part));
        let fours = [0, 1].map(|part| l.spread::<4>(turned(a), part));
        let pairs = pairs.into_iter().flat_map(|(x, y)| [x, y]);
        pairs.chain(singles).chain(twos).chain(fours).map(|v| store(l, v)).collect()
    }
}

#[test]
fn words_move_and_add_as_in_the_reference() {
    let block = |seed: u64| std::array::from_fn(|i| word(seed + i as u64));
    for seed in 0..50 {
        let blocks = [block(seed), block(seed + 1_000)];
        assert_all_equal(&on_all_lanes(|| Words(blocks)), "words");
    }
}

/// The halves of a product, where lanes have them.
#[cfg(target_arch = "x86_64")]
#[test]
fn instructions_multiply_as_plain_integers_do() {
    struct Products([Block; 3]);
    fn products<L: Halves>(l: L, blocks: &[Block; 3]) -> [Block; 3] {
        let [a, b, c] = blocks.each_ref().map(|x| l.load(x));
        [l.min(a, b), l.mul_low(c, a, b), l.mul_high(c, a, b)].map(|v| store(l, v))
    }
    // A kernel is generic over all lanes, these are not: vectorised by hand.
    struct OnAvx512(crate::ring::avx512::Avx512, [Block; 3]);
    impl Kernel for OnAvx512 {
        type Output = [Block; 3];
        #[inline(always)]
        fn run<L: Lanes>(self, _: L) -> [Block; 3] {
            products(self.0, &self.1)
        }
    }
    let Some(lanes) = crate::ring::avx512::Avx512::detect() else {
        return;
    };
    let block = |seed: u64| std::array::from_fn(|i| word(seed + i as u64));
    for seed in 0..50 {
        let blocks = Products([block(seed), block(seed + 1_000), block(seed + 2_000)]).0;
        assert_eq!(lanes.vectorize(OnAvx512(lanes, blocks)), products(Portable, &blocks));
    }
}

/// Everything modulo a prime that gives residues.
struct Residues {
    modulus: Modulus,
    x: Block,
    y: Block,
    factor: u64,
    /// Products in the sums.
    terms: usize,
}

impl Kernel for Residues {
    type Output = Vec<Block>;
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> Vec<Block> {
        let m = self.modulus;
        let a = L::Arithmetic::new(l, m);
        let (x, y) = (l.load(&self.x), l.load(&self.y));
        let form = L::Arithmetic::FORM;
        let factor = a.splat(m.factor(self.factor));
        let w = a.twiddle(form.twiddle(m, self.factor));
        let weight = form.weight(m, self.factor);
        let zero = l.splat(0);
        let (ox, oy) = (a.operand(x), a.operand(y));
        let product = a.product(ox, a.multiplier(y));
        // A whole operand is the same modulo p only.
        let mut whole = store(l, a.whole(product));
        for x in &mut whole {
            *x %= m.value();
        }
        let mut closed = (zero, zero);
        for start in (0..self.terms).step_by(LANES) {
            let count = LANES.min(self.terms - start);
            let open = (0..count).fold(closed, |sum, _| a.multiply_add(sum, ox, oy));
            closed = a.close(open, count);
        }
        let mut short = (zero, zero);
        for _ in 0..self.terms.min(SHORT / SETTLED_PRODUCTS) {
            for _ in 0..SETTLED_PRODUCTS {
                short = a.short_add(short, ox, oy);
            }
            short = a.short_settle(short);
        }
        let squares = a.close(a.multiply_add(closed, product, ox), 1);
        let (fx, fy) = a.forward(a.settle(a.enter(x)), a.enter(y), w);
        let (gx, gy) = a.forward(fx, fy, w);
        let (hx, hy) = a.forward(gy, gx, w);
        let (bx, by) = a.backward(a.enter(x), a.enter(y), w);
        let (cx, cy) = a.backward(by, bx, w);
        let digit = a.digit(x, factor);
        // Twice a prime is the most that `scale` is given, and 2^52 - 1 for small primes.
        let most = l.splat((2 * m.value() - 1).max(LOW));
        let operands: Vec<L::V> =
            (0..40 * TILE).map(|i| if i % 2 == 0 { oy } else { ox }).collect();
        let mut linear = [[[0; LANES]; 2]; 3];
        for (out, count) in linear.iter_mut().zip([1, 7, 40]) {
            a.linear(&operands[..count * TILE], &[weight; 40][..count], out);
        }
        [
            a.add(x, y),
            a.sub(x, y),
            a.reduce(l.add(x, x)),
            a.scale(x, factor),
            a.scale(most, factor),
            a.leave(hx),
            a.leave(hy),
            a.leave(cx),
            a.leave_scaled(cy, factor),
            a.short_fold(a.short_add((zero, zero), ox, oy)),
            a.short_fold(short),
            a.fold(closed),
            a.fold(squares),
            a.fold(a.unfold(x)),
            a.leave(
                a.enter(l.sub(a.quotient(x, digit, a.operand(l.splat((1 << 41) + 12_345))), x)),
            ),
            a.quotient(x, digit, a.operand(l.splat((1 << 42) - 1))),
        ]
        .into_iter()
        .map(|v| store(l, v))
        .chain([whole])
        .chain(linear.into_iter().flatten())
        .collect()
    }
}

#[test]
fn residues_are_those_of_the_reference() {
    let mut moduli = primes::largest(51, 65_536, 2, &[]);
    moduli.extend(primes::largest(50, 65_536, 1, &[]));
    moduli.extend(primes::largest(43, 65_536, 1, &[]));
    for p in moduli {
        let modulus = Modulus::new(p);
        // All zero, all extreme, halves, and words without a pattern.
        let blocks = |seed: u64| -> Block {
            let extremes = [0, 1, p / 2, p / 2 + 1, p - 2, p - 1];
            std::array::from_fn(|i| match seed {
                0 => p - 1,
                1 => p / 2 + (i as u64 % 2),
                2..10 => extremes[(word(seed) as usize + i) % 6],
                _ => word(seed * 8 + i as u64) % p,
            })
        };
        for seed in 0..200 {
            let factors = [p - 1, p / 2, p / 2 + 1, word(seed) % p];
            let kernel = || Residues {
                modulus,
                x: blocks(seed),
                y: blocks(if seed < 2 { seed } else { seed + 1_000 }),
                factor: factors[seed as usize % 4],
                terms: [1, 8, 250, 4_000][seed as usize / 4 % 4],
            };
            assert_all_equal(&on_all_lanes(kernel), &format!("prime {p}, seed {seed}"));
        }
    }
}

#[test]
fn a_factor_keeps_its_value_in_every_form() {
    let m = Modulus::new(primes::largest(51, 65_536, 1, &[])[0]);
    for value in [0, 1, m.value() / 2, m.value() / 2 + 1, m.value() - 1] {
        let Factor { value: bits, .. } = Form::Doubles.twiddle(m, value);
        assert_eq!(m.signed(f64::from_bits(bits) as i64), value);
        assert_eq!(Form::Integers.twiddle(m, value).value, value);
        assert_eq!(Form::Integers.weight(m, value).value, m.montgomery(value));
    }
}
