//! The IDX format of MNIST: a magic number that tells type and dimensions, the dimensions, the
//! bytes.

/// Why some bytes are not the IDX file that was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdxError {
    /// The first four bytes are others.
    #[error("it does not begin like an IDX file of bytes with {dimensions} dimension(s)")]
    Magic {
        /// How many dimensions were expected.
        dimensions: usize,
    },
    /// The bytes are more or fewer than the dimensions say.
    #[error("its header promises {promised} bytes of data, it has {found}")]
    Length {
        /// What the header promises.
        promised: u128,
        /// What is there.
        found: usize,
    },
}

/// The dimensions and the data of an IDX file of bytes.
pub(super) fn parse<const D: usize>(bytes: &[u8]) -> Result<([usize; D], &[u8]), IdxError> {
    let magic = || IdxError::Magic { dimensions: D };
    let header = bytes.get(..4 + 4 * D).ok_or_else(magic)?;
    let rank = u8::try_from(D).map_err(|_| magic())?;
    if header[..4] != [0, 0, 8, rank] {
        return Err(magic());
    }
    let mut dimensions = [0; D];
    for (dimension, word) in dimensions.iter_mut().zip(header[4..].chunks_exact(4)) {
        *dimension = u32::from_be_bytes([word[0], word[1], word[2], word[3]]) as usize;
    }
    let data = &bytes[4 + 4 * D..];
    let promised = dimensions.iter().map(|&dimension| dimension as u128).product();
    if promised != data.len() as u128 {
        return Err(IdxError::Length { promised, found: data.len() });
    }
    Ok((dimensions, data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_well_formed_and_refuses_the_rest() {
        let good = [0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6];
        assert_eq!(parse::<2>(&good), Ok(([2, 3], &good[12..])));
        assert_eq!(parse::<1>(&good), Err(IdxError::Magic { dimensions: 1 }));
        assert_eq!(parse::<2>(&good[..17]), Err(IdxError::Length { promised: 6, found: 5 }));
        assert_eq!(parse::<2>(&good[..7]), Err(IdxError::Magic { dimensions: 2 }));
        let mut huge = good;
        huge[4..12].fill(0xff);
        assert!(matches!(parse::<2>(&huge), Err(IdxError::Length { .. })));
    }
}
