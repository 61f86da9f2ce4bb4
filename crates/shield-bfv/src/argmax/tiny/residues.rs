//! Residues modulo t as bytes: 17 bits each, without gaps, the lowest bit first; what is left of
//! the last byte is 0.

use crate::argmax::sizes::RESIDUE_BITS;
use crate::ring::PLAINTEXT;

const MASK: u64 = (1 << RESIDUE_BITS) - 1;

pub(super) fn write(out: &mut Vec<u8>, residues: &[u32]) {
    let (mut pending, mut filled) = (0_u64, 0);
    for &residue in residues {
        pending |= u64::from(residue) << filled;
        filled += RESIDUE_BITS;
        while filled >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        out.push(pending as u8);
    }
}

/// So many residues, of exactly as many bytes as they take; `None` if one is no residue, or if a
/// bit is left over that is not 0.
pub(super) fn read(bytes: &[u8], count: usize) -> Option<Vec<u32>> {
    if bytes.len() != (count * RESIDUE_BITS).div_ceil(8) {
        return None;
    }
    let mut residues = Vec::with_capacity(count);
    let (mut pending, mut filled) = (0_u64, 0);
    for &byte in bytes {
        pending |= u64::from(byte) << filled;
        filled += 8;
        if filled >= RESIDUE_BITS {
            residues.push((pending & MASK) as u32);
            pending >>= RESIDUE_BITS;
            filled -= RESIDUE_BITS;
        }
    }
    let sound = pending == 0 && residues.iter().all(|&x| u64::from(x) < PLAINTEXT);
    (sound && residues.len() == count).then_some(residues)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_comes_back_and_nothing_else_is_read() {
        for count in 0..40_u32 {
            let residues: Vec<u32> = (0..count).map(|i| i.wrapping_mul(39_119) % 65_537).collect();
            let mut bytes = Vec::new();
            write(&mut bytes, &residues);
            let count = count as usize;
            assert_eq!(bytes.len(), (17 * count).div_ceil(8));
            assert_eq!(read(&bytes, count), Some(residues));
            assert_eq!(read(&bytes, count + 1), None);
            let spare = 8 * bytes.len() - 17 * count;
            if spare > 0 {
                *bytes.last_mut().unwrap() |= 1 << (8 - spare);
                assert_eq!(read(&bytes, count), None);
            }
        }
        let mut bytes = Vec::new();
        write(&mut bytes, &[65_536]);
        assert_eq!(read(&bytes, 1), Some(vec![65_536]));
        bytes[0] |= 1;
        assert_eq!(read(&bytes, 1), None);
    }
}
