//! How large a modulus may be: the tables of the security guidelines of 2024.
//!
//! Bossuat et al., "Security guidelines for implementing homomorphic encryption" (2024, IACR ePrint
//! 2024/463): the largest log2 Q for secrets with coefficients uniform in {-1, 0, 1}, errors of
//! standard deviation 3.19 and classical attackers. That is what the engine draws: ternary secrets,
//! and centred binomial errors of standard deviation 3.24. The guidelines update the homomorphic
//! encryption standard of 2018, whose limits were up to 3% larger (218 bits at 8,192 coefficients,
//! where it is 214 now): attacks got better.

/// Ring degree, then the largest log2 Q for 128, 192 and 256 bits of security.
const TABLE: [(usize, [u32; 3]); 4] = [
    (4_096, [106, 73, 56]),
    (8_192, [214, 147, 114]),
    (16_384, [430, 297, 230]),
    (32_768, [868, 597, 462]),
];

/// Security levels of the table's columns.
const LEVELS: [u32; 3] = [128, 192, 256];

/// The guidelines' security level for a ring degree and a modulus; `None` below 128 bits.
pub fn security_bits(degree: usize, log_q: u32) -> Option<u32> {
    let (_, largest) = TABLE.iter().find(|(n, _)| *n == degree)?;
    LEVELS
        .iter()
        .zip(largest)
        .rev()
        .find(|(_, largest)| log_q <= **largest)
        .map(|(level, _)| *level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_table() {
        assert_eq!(security_bits(8_192, 214), Some(128));
        assert_eq!(security_bits(8_192, 215), None);
        assert_eq!(security_bits(8_192, 147), Some(192));
        assert_eq!(security_bits(16_384, 230), Some(256));
        assert_eq!(security_bits(2_048, 10), None);
    }
}
