//! Residues as bytes, without gaps: word by word, because a server opens gigabytes of ballots.

/// Appends residues of `bits` bits, lowest bit first. Limbs have a multiple of 8 residues, so bytes
/// come out even.
pub(crate) fn pack(out: &mut Vec<u8>, residues: &[u64], bits: u32) {
    let (mut pending, mut filled) = (0_u128, 0);
    for &x in residues {
        pending |= u128::from(x) << filled;
        filled += bits;
        if filled >= 64 {
            out.extend((pending as u64).to_le_bytes());
            pending >>= 64;
            filled -= 64;
        }
    }
    out.extend(&(pending as u64).to_le_bytes()[..(filled / 8) as usize]);
}

/// The inverse of [`pack`]: `bytes` holds exactly the residues.
pub(crate) fn unpack(bytes: &[u8], bits: u32, residues: &mut [u64]) {
    let mask = (1_u64 << bits) - 1;
    let width = bits as usize;
    // Eight residues are `bits` bytes. Each lies within nine bytes, so a load of sixteen holds it;
    // the last few, which such a load would pass the end for, are copied first.
    let whole = (bytes.len() / width).saturating_sub(16_usize.div_ceil(width));
    let (front, rest) = residues.split_at_mut((whole * 8).min(residues.len()));
    let take = |bytes: &[u8], i: usize| {
        let bit = i * width;
        let start = bit / 8;
        let window: [u8; 16] = bytes[start..start + 16].try_into().unwrap_or([0; 16]);
        (u128::from_le_bytes(window) >> (bit % 8)) as u64 & mask
    };
    for (i, x) in front.iter_mut().enumerate() {
        *x = take(bytes, i);
    }
    let mut end = bytes[(whole * width).min(bytes.len())..].to_vec();
    end.resize(end.len() + 16, 0);
    for (i, x) in rest.iter_mut().enumerate() {
        *x = take(&end, i);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        for bits in [1, 7, 16, 43, 50, 51] {
            for count in [8_u64, 64, 1_024] {
                let mask = (1_u64 << bits) - 1;
                let residues: Vec<u64> =
                    (0..count).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 5 & mask).collect();
                let mut bytes = Vec::new();
                pack(&mut bytes, &residues, bits);
                assert_eq!(bytes.len() as u64, count * u64::from(bits) / 8);
                let mut found = vec![0; residues.len()];
                unpack(&bytes, bits, &mut found);
                assert_eq!(found, residues, "{bits} bits, {count} residues");
                // Bit i of the stream is bit i mod `bits` of residue i / bits.
                for bit in 0..bytes.len() * 8 {
                    let residue = residues[bit / bits as usize] >> (bit % bits as usize) & 1;
                    assert_eq!(u64::from(bytes[bit / 8] >> (bit % 8) & 1), residue);
                }
            }
        }
    }
}
