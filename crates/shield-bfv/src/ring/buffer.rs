//! Memory for polynomials, used again and again.
//!
//! One aggregation takes and gives back thousands of buffers of the same few sizes. Handing them
//! back to the system each time made the kernel clear pages for a third of the run time, so each
//! thread keeps some.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// Words that a thread keeps at most: 96 MiB.
const KEPT: usize = 12 << 20;

#[derive(Default)]
struct Shelf {
    buffers: Vec<Vec<u64>>,
    words: usize,
}

thread_local! {
    static SHELF: RefCell<Shelf> = RefCell::default();
}

/// A vector of residues whose memory goes back to the thread's shelf. Secrets are wiped by their
/// owners first.
pub(crate) struct Buffer(Vec<u64>);

impl Buffer {
    /// A buffer of `len` words that hold anything.
    pub(crate) fn stale(len: usize) -> Self {
        let found = SHELF.try_with(|shelf| {
            let mut shelf = shelf.try_borrow_mut().ok()?;
            let place = shelf.buffers.iter().rposition(|buffer| buffer.len() == len)?;
            let buffer = shelf.buffers.swap_remove(place);
            shelf.words -= buffer.capacity();
            Some(buffer)
        });
        Self(found.ok().flatten().unwrap_or_else(|| vec![0; len]))
    }

    /// A buffer of `len` zeros.
    pub(crate) fn zeroed(len: usize) -> Self {
        let mut buffer = Self::stale(len);
        buffer.0.fill(0);
        buffer
    }

    /// A buffer with the same words.
    pub(crate) fn copy_of(words: &[u64]) -> Self {
        let mut buffer = Self::stale(words.len());
        buffer.0.copy_from_slice(words);
        buffer
    }

    /// Only the first `len` words.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let words = std::mem::take(&mut self.0);
        // A thread that is ending has no shelf any more: the memory then goes where it came from.
        let _ = SHELF.try_with(|shelf| {
            if let Ok(mut shelf) = shelf.try_borrow_mut()
                && shelf.words + words.capacity() <= KEPT
                && !words.is_empty()
            {
                // A truncated buffer is as large as it ever was.
                shelf.words += words.capacity();
                shelf.buffers.push(words);
            }
        });
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        Self::copy_of(&self.0)
    }
}

impl Deref for Buffer {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        &self.0
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Buffer {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zeroed_buffer_is_zero_whatever_was_there() {
        let mut used = Buffer::zeroed(64);
        used.fill(7);
        drop(used);
        assert!(Buffer::zeroed(64).iter().all(|&word| word == 0));
        assert_eq!(Buffer::copy_of(&[1, 2, 3])[..], [1, 2, 3]);
    }

    #[test]
    fn a_truncated_buffer_counts_with_all_its_memory() {
        let kept = || SHELF.with_borrow(|shelf| shelf.words);
        let on_a_new_thread = std::thread::spawn(move || {
            let mut long = Buffer::zeroed(4_096);
            long.truncate(64);
            drop(long);
            assert_eq!(kept(), 4_096);
            let again = Buffer::stale(64);
            assert_eq!(kept(), 0);
            drop(again);
        });
        on_a_new_thread.join().expect("no assertion failed");
    }
}
