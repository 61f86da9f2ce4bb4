//! How large a modulus may be: the table of the homomorphic encryption standard.
//!
//! Albrecht et al., "Homomorphic encryption security standard" (2018), table 1, classical
//! attackers, secrets with coefficients uniform in {-1, 0, 1} and errors of standard deviation 3.19
//! or more. That is what the engine draws: ternary secrets, centred binomial errors of standard
//! deviation 3.24.

/// Ring degree, then the largest log2 Q for 128, 192 and 256 bits of security.
const TABLE: [(usize, [u32; 3]); 4] = [
    (4_096, [109, 75, 58]),
    (8_192, [218, 152, 118]),
    (16_384, [438, 305, 237]),
    (32_768, [881, 611, 476]),
];

/// Security levels of the table's columns.
const LEVELS: [u32; 3] = [128, 192, 256];

/// The standard's security level for a ring degree and a modulus; `None` below 128 bits.
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
        assert_eq!(security_bits(8_192, 218), Some(128));
        assert_eq!(security_bits(8_192, 219), None);
        assert_eq!(security_bits(8_192, 152), Some(192));
        assert_eq!(security_bits(16_384, 237), Some(256));
        assert_eq!(security_bits(2_048, 10), None);
    }
}
