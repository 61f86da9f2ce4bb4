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

/// The inverse of [`pack`], for residues of at most 57 bits: `bytes` holds exactly the residues.
pub(crate) fn unpack(bytes: &[u8], bits: u32, residues: &mut [u64]) {
    match bits {
        // The width of nearly all primes: a loop with shifts that the compiler knows.
        51 => groups(bytes, 51, residues),
        _ => groups(bytes, bits as usize, residues),
    }
}

/// Eight residues are `bits` bytes, and each of them lies within eight.
#[inline(always)]
fn groups(bytes: &[u8], bits: usize, residues: &mut [u64]) {
    for (i, group) in residues.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let start = i * bits;
        if let Some(window) = bytes.get(start..start + bits + 8) {
            eight(window, bits, group);
        } else {
            // The last few, padded with zeros.
            let rest = bytes.get(start..).unwrap_or_default();
            let mut window = [0; 72];
            window[..rest.len()].copy_from_slice(rest);
            eight(&window, bits, group);
        }
    }
}

#[inline(always)]
fn eight(window: &[u8], bits: usize, group: &mut [u64; 8]) {
    let mask = (1_u64 << bits) - 1;
    let window = &window[..bits + 8];
    for (j, x) in group.iter_mut().enumerate() {
        let start = j * bits;
        let mut word = [0; 8];
        word.copy_from_slice(&window[start / 8..start / 8 + 8]);
        *x = u64::from_le_bytes(word) >> (start % 8) & mask;
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
