//! Prime moduli below 2^51 and arithmetic modulo one of them, for one number.

/// Bits of the widest modulus: operands up to twice a modulus must fit in 52 bits.
pub(crate) const MAX_BITS: u32 = 51;

/// Mask of the 52 bits that a multiplication reads and a product half returns.
pub(crate) const LOW: u64 = (1 << 52) - 1;

/// A prime modulus with the constants its reductions need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Modulus {
    p: u64,
    /// Inverse of `p` modulo 2^52, for Montgomery reduction.
    inverse: u64,
    /// Inverse of 2^52 modulo `p`.
    unit: u64,
}

/// A constant factor with its precomputed quotient `floor(value * 2^52 / p)` (Shoup's trick).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Factor {
    pub(crate) value: u64,
    pub(crate) quotient: u64,
}

impl Modulus {
    /// The modulus `p`: odd and below 2^51.
    pub(crate) fn new(p: u64) -> Self {
        debug_assert!(p % 2 == 1 && p >> MAX_BITS == 0);
        let mut inverse = 1_u64;
        for _ in 0..6 {
            inverse = inverse.wrapping_mul(2_u64.wrapping_sub(p.wrapping_mul(inverse)));
        }
        let inverse = inverse & LOW;
        // 2^52 u - p v = 1 with v the negated inverse of p: u = (1 + p v) / 2^52.
        let negated = (1 << 52) - inverse;
        let unit = ((1 + u128::from(p) * u128::from(negated)) >> 52) as u64;
        Self { p, inverse, unit: unit % p }
    }

    pub(crate) fn value(self) -> u64 {
        self.p
    }

    /// Inverse of `p` modulo 2^52.
    pub(crate) fn inverse(self) -> u64 {
        self.inverse
    }

    /// Inverse of 2^52 modulo `p`.
    pub(crate) fn unit(self) -> u64 {
        self.unit
    }

    pub(crate) fn add(self, a: u64, b: u64) -> u64 {
        let s = a + b;
        s.min(s.wrapping_sub(self.p))
    }

    pub(crate) fn sub(self, a: u64, b: u64) -> u64 {
        let d = a.wrapping_sub(b);
        d.min(d.wrapping_add(self.p))
    }

    pub(crate) fn mul(self, a: u64, b: u64) -> u64 {
        (u128::from(a) * u128::from(b) % u128::from(self.p)) as u64
    }

    pub(crate) fn pow(self, base: u64, mut exponent: u64) -> u64 {
        let (mut result, mut square) = (1, base % self.p);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = self.mul(result, square);
            }
            square = self.mul(square, square);
            exponent >>= 1;
        }
        result
    }

    /// Inverse of a residue that is not zero.
    pub(crate) fn inv(self, a: u64) -> u64 {
        self.pow(a, self.p - 2)
    }

    /// The residue of a signed integer of absolute value at most p: no division, no branch.
    pub(crate) fn signed(self, x: i64) -> u64 {
        let x = x.cast_unsigned();
        x.min(x.wrapping_add(self.p))
    }

    /// The representative in (-p/2, p/2] of a residue.
    pub(crate) fn centred(self, a: u64) -> i64 {
        if a > self.p / 2 { a.cast_signed() - self.p.cast_signed() } else { a.cast_signed() }
    }

    pub(crate) fn factor(self, value: u64) -> Factor {
        Factor { value, quotient: ((u128::from(value) << 52) / u128::from(self.p)) as u64 }
    }

    /// `a * 2^52`, which `Arithmetic::fold` turns back into a plain product.
    pub(crate) fn montgomery(self, a: u64) -> u64 {
        ((u128::from(a) << 52) % u128::from(self.p)) as u64
    }

    /// A primitive root of unity of order `order`, a power of two that divides `p - 1`: always the
    /// same one.
    pub(crate) fn root(self, order: u64) -> u64 {
        let exponent = (self.p - 1) / order;
        (2..self.p)
            .map(|g| self.pow(g, exponent))
            .find(|&w| self.pow(w, order / 2) == self.p - 1)
            .unwrap_or(1)
    }
}
