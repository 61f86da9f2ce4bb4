//! Wrong files, made of good ones: each has one thing wrong with it, and a name for that.

use crate::framing::{DecodeError, HEADER};

/// What is wrong, and how bytes become so. The digest is the binding of another election.
type Wrong = (&'static str, fn(Vec<u8>, &[u8; 32]) -> Vec<u8>);

/// Where a header has its fields, as [`crate::framing`] lists them.
const BINDING: usize = 8;
const KEY: usize = 40;
const BATCH: usize = 72;
const CHECKSUM: usize = 32;

/// Everything that may be wrong with a file.
const WRONG: [Wrong; 13] = [
    ("magic", |bytes, _| edited(bytes, 0, b'Z')),
    ("version", |bytes, _| edited(bytes, 4, 9)),
    ("kind", |bytes, _| edited(bytes, 6, 200)),
    ("holder", |bytes, _| edited(bytes, 7, 3)),
    ("length", |bytes, _| edited(bytes, HEADER - 1, 1)),
    ("flipped_bit", |mut bytes, _| {
        let place = bytes.len() - CHECKSUM - 8;
        bytes[place] ^= 1;
        bytes
    }),
    ("cut_off", |mut bytes, _| {
        bytes.pop();
        bytes
    }),
    ("too_long", |mut bytes, _| {
        bytes.push(0);
        bytes
    }),
    ("other_election", |mut bytes, elsewhere| {
        bytes[BINDING..KEY].copy_from_slice(elsewhere);
        resealed(bytes)
    }),
    ("other_keys", |bytes, _| {
        let other = !bytes[KEY];
        edited(bytes, KEY, other)
    }),
    ("other_batch", |bytes, _| edited(bytes, BATCH, 1)),
    ("values", |mut bytes, _| {
        let end = bytes.len() - CHECKSUM;
        bytes[HEADER..end].fill(0xff);
        resealed(bytes)
    }),
    ("empty", |_, _| Vec::new()),
];

/// The bytes with their checksum made right again.
///
/// # Panics
/// If there are fewer than a checksum has.
pub fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let content = bytes.len() - CHECKSUM;
    let checksum = blake3::hash(&bytes[..content]);
    bytes[content..].copy_from_slice(checksum.as_bytes());
    bytes
}

fn edited(mut bytes: Vec<u8>, place: usize, value: u8) -> Vec<u8> {
    bytes[place] = value;
    resealed(bytes)
}

/// What is wrong with a file that is refused, its bytes, and why it is refused.
pub(super) struct Refused {
    pub(super) what: &'static str,
    pub(super) bytes: Vec<u8>,
    pub(super) error: DecodeError,
}

/// The wrong files that can be made of a good one, as far as `read` can tell: where any payload of
/// the right length is a value, there is none out of range. One at a time, because an evaluation
/// key takes tens of megabytes.
pub(super) fn refused(
    good: &[u8],
    elsewhere: &[u8; 32],
    read: impl Fn(&[u8]) -> Result<(), DecodeError>,
) -> impl Iterator<Item = Refused> {
    WRONG.into_iter().filter_map(move |(what, make)| {
        let bytes = make(good.to_vec(), elsewhere);
        let error = read(&bytes).err()?;
        Some(Refused { what, bytes, error })
    })
}
