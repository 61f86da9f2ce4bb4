//! Eight 64-bit lanes: the one vocabulary in which every hot loop of the engine is written.
//!
//! Moduli stay below 2^51 and operands below 2^52, so that the whole engine needs only the low and
//! the high half of a 52 x 52-bit product. A processor with AVX-512 IFMA does eight of those in one
//! instruction; one with AVX2 and fused multiply-add does the same arithmetic in double precision;
//! everywhere else `Portable` computes it lane by lane. All results are exact residues, so all
//! agree bit for bit and a result never depends on the machine.
//!
//! [`Arithmetic`] modulo a prime is what loops are written in; inside a loop values may have a form
//! of their own: the *lazy* values between the layers of a transform, *operands* of sums of
//! products, and *open* and *closed* sums. Whatever leaves a loop is the one residue in 0..p.

use super::modulus::{Factor, Modulus};

/// Eight residues, the unit in which polynomials are stored and processed.
pub(crate) type Block = [u64; 8];

/// Number of lanes in a [`Block`].
pub(crate) const LANES: usize = 8;

/// Eight lanes of 64-bit integers and the few operations the engine needs on them.
pub(crate) trait Lanes: Copy {
    /// Eight lanes.
    type V: Copy;
    /// How to compute modulo a prime with them.
    type Arithmetic: Arithmetic<Self>;
    /// How many times eight lanes the processor's registers hold.
    const REGISTERS: usize;
    fn load(self, block: &Block) -> Self::V;
    fn store(self, v: Self::V, block: &mut Block);
    fn splat(self, x: u64) -> Self::V;
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Wrapping subtraction.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    fn shr<const BITS: u32>(self, a: Self::V) -> Self::V;
    /// Halves regrouped: the lower runs of `STRIDE` lanes of both, and the upper runs of both; with
    /// stride 1 in turned order where the form of the lanes says so ([`Form::turned`]).
    fn split<const STRIDE: usize>(self, a: Self::V, b: Self::V) -> (Self::V, Self::V);
    /// Part `part` of `COUNT` lanes, each spread over `8 / COUNT` neighbours; four lanes are in
    /// turned order where the form of the lanes says so.
    fn spread<const COUNT: usize>(self, v: Self::V, part: usize) -> Self::V;
    /// The inverse of [`Lanes::split`].
    fn merge<const STRIDE: usize>(self, a: Self::V, b: Self::V) -> (Self::V, Self::V);
}

/// A loop to run with the widest lanes that the processor has.
pub(crate) trait Kernel {
    /// What the loop returns.
    type Output;
    /// Runs the loop on `lanes`.
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// How tables hold constant factors: see [`Form::twiddle`] and [`Form::weight`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Integers, with the quotient of Shoup's trick or in Montgomery's form.
    Integers,
    /// The bits of two doubles: the centred value, and that divided by the prime.
    Doubles,
}

impl Form {
    /// Whether lanes are in turned order, the middle two of every four exchanged, from a split of
    /// stride 1 to its merge. Registers of four lanes save half of the permutations that way.
    pub(crate) fn turned(self) -> bool {
        self == Self::Doubles
    }

    /// A factor of [`Arithmetic::forward`] and [`Arithmetic::backward`].
    pub(crate) fn twiddle(self, modulus: Modulus, value: u64) -> Factor {
        match self {
            Self::Integers => modulus.factor(value),
            Self::Doubles => doubles(modulus, value),
        }
    }

    /// A factor of [`Arithmetic::linear`].
    pub(crate) fn weight(self, modulus: Modulus, value: u64) -> Factor {
        match self {
            Self::Integers => Factor { value: modulus.montgomery(value), quotient: 0 },
            Self::Doubles => doubles(modulus, value),
        }
    }
}

/// A factor as the bits of two doubles.
#[inline(always)]
pub(crate) fn doubles(modulus: Modulus, value: u64) -> Factor {
    let centred = modulus.centred(value) as f64;
    let quotient = centred / modulus.value() as f64;
    Factor { value: centred.to_bits(), quotient: quotient.to_bits() }
}

/// Two registers: a factor, or the two halves of sums of products.
pub(crate) type Pair<L> = (<L as Lanes>::V, <L as Lanes>::V);

/// Arithmetic modulo one prime. Integers are residues below the prime where nothing else is said.
pub(crate) trait Arithmetic<L: Lanes>: Copy {
    /// The form of the factors in tables.
    const FORM: Form;

    fn new(lanes: L, modulus: Modulus) -> Self;

    /// From below 2p to below p.
    fn reduce(self, x: L::V) -> L::V;
    fn add(self, a: L::V, b: L::V) -> L::V;
    fn sub(self, a: L::V, b: L::V) -> L::V;
    /// A factor of [`Arithmetic::scale`], from integers.
    fn splat(self, factor: Factor) -> Pair<L>;
    /// `x * factor`, for any integer `x` below 2^52.
    fn scale(self, x: L::V, factor: Pair<L>) -> L::V;

    /// A residue as a lazy value.
    fn enter(self, x: L::V) -> L::V;
    /// A lazy value as a residue.
    fn leave(self, x: L::V) -> L::V;
    /// A lazy value times a factor, as a residue.
    fn leave_scaled(self, x: L::V, factor: Pair<L>) -> L::V;
    /// A factor of the butterflies, the same in all lanes, from a table.
    fn twiddle(self, factor: Factor) -> Pair<L>;
    /// A lazy value that has come out of a layer, small enough for up to three more.
    fn settle(self, x: L::V) -> L::V;
    /// Forward butterfly on lazy values, `x` settled within two layers: `(x + w y, x - w y)`.
    fn forward(self, x: L::V, y: L::V, w: Pair<L>) -> Pair<L>;
    /// Inverse butterfly on lazy values: `(x + y, (x - y) w)`.
    fn backward(self, x: L::V, y: L::V, w: Pair<L>) -> Pair<L>;
    /// The same, but the sum may only go into one butterfly with a sum that is not like that.
    fn backward_open(self, x: L::V, y: L::V, w: Pair<L>) -> Pair<L>;

    /// A residue as an operand of products.
    fn operand(self, x: L::V) -> L::V;
    /// A residue in Montgomery's form as a multiplier of [`Arithmetic::product`].
    fn multiplier(self, x: L::V) -> L::V;
    /// `x y` for an operand and a multiplier, as an operand.
    fn product(self, x: L::V, y: L::V) -> L::V;
    /// An operand as an integer below 4p that is the same modulo p.
    fn whole(self, x: L::V) -> L::V;
    /// A short sum plus `x y`, for operands; a new short sum is two zeros, and is settled after
    /// every third product.
    fn short_add(self, sum: Pair<L>, x: L::V, y: L::V) -> Pair<L>;
    /// A short sum with room for three more products.
    fn short_settle(self, sum: Pair<L>) -> Pair<L>;
    /// A short sum divided by 2^52.
    fn short_fold(self, sum: Pair<L>) -> L::V;
    /// A sum plus `x y`, for operands: open from then on. A new sum is two zeros, and holds at most
    /// 4,096 products.
    fn multiply_add(self, sum: Pair<L>, x: L::V, y: L::V) -> Pair<L>;
    /// A closed sum from one to which `count` products were added since it was new or closed.
    fn close(self, sum: Pair<L>, count: usize) -> Pair<L>;
    /// A closed sum divided by 2^52.
    fn fold(self, closed: Pair<L>) -> L::V;
    /// The closed sum that [`Arithmetic::fold`] makes `value` of.
    fn unfold(self, value: L::V) -> Pair<L>;

    /// Sums of operands times weights from a table, at most 4,096 of them, in all blocks of a tile
    /// of at most [`TILE`]: operands of one weight side by side, [`TILE`] for each weight.
    fn linear(self, operands: &[L::V], weights: &[Factor], out: &mut [Block]);
    /// `x * factor`, for any integer `x` below 2^52, as an operand in 0..p.
    fn digit(self, x: L::V, factor: Pair<L>) -> L::V;
    /// `sum + floor(digit * theta / 2^52)` for a digit of [`Arithmetic::digit`] and `theta` below
    /// 2^50, an operand.
    fn quotient(self, sum: L::V, digit: L::V, theta: L::V) -> L::V;
}

/// Blocks that [`Arithmetic::linear`] takes at a time.
pub(crate) const TILE: usize = 32;

/// Products after which a short sum is settled.
pub(crate) const SETTLED_PRODUCTS: usize = 3;

/// Products up to which a short sum takes less time than one that is folded.
pub(crate) const SHORT: usize = 6;
