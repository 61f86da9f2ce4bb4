//! On which samples of a batch a teacher voted: public, because the server must know whom it may
//! draw.

/// One bit per sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    len: usize,
    words: Vec<u64>,
}

impl Presence {
    /// From one boolean per sample.
    pub fn new(present: impl ExactSizeIterator<Item = bool>) -> Self {
        let len = present.len();
        let mut words = vec![0; len.div_ceil(64)];
        for (sample, present) in present.enumerate() {
            words[sample / 64] |= u64::from(present) << (sample % 64);
        }
        Self { len, words }
    }

    /// A teacher who is on none of the samples: one who never sent a ballot.
    pub fn none(samples: usize) -> Self {
        Self { len: samples, words: vec![0; samples.div_ceil(64)] }
    }

    /// From the words of [`Self::words`]; `None` unless they are just as many as needed, with all
    /// bits past the last sample 0.
    pub fn from_words(samples: usize, words: Vec<u64>) -> Option<Self> {
        let spare = samples % 64;
        let tidy = spare == 0 || words.last().is_some_and(|last| last >> spare == 0);
        (words.len() == samples.div_ceil(64) && tidy).then_some(Self { len: samples, words })
    }

    /// The bits, 64 a word, the first sample lowest.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// How many samples it speaks of.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it speaks of no sample.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the teacher voted on this sample of the batch.
    pub fn contains(&self, sample: usize) -> bool {
        sample < self.len && self.words[sample / 64] >> (sample % 64) & 1 == 1
    }

    /// Whether the teacher voted on every sample of the batch.
    pub fn is_complete(&self) -> bool {
        (0..self.len).all(|sample| self.contains(sample))
    }

    /// Whether the teacher voted on no sample of the batch.
    pub fn is_nobody(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_refuses_stray_bits() {
        let bits: Vec<bool> = (0..70).map(|i| i % 3 == 0).collect();
        let presence = Presence::new(bits.iter().copied());
        assert!((0..80).all(|i| presence.contains(i) == bits.get(i).copied().unwrap_or(false)));
        assert_eq!(Presence::from_words(70, presence.words().to_vec()), Some(presence));
        assert_eq!(Presence::from_words(70, vec![0, 1 << 6]), None);
        assert_eq!(Presence::from_words(70, vec![0]), None);
        assert!(Presence::none(70).is_nobody());
    }
}
