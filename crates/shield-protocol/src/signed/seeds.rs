//! The operator's part of the seed, sealed to every auditor: a box each, in the order of the
//! auditors' names.

use std::path::Path;

use rand::CryptoRng;
use shield_board::sealed::{OVERHEAD, open, seal};
use shield_board::{Identity, Parties, Role};

use crate::error::Refused;
use crate::files::read_bounded;
use crate::seed::SeedPart;

/// Bytes of one auditor's box.
const BOX: usize = 32 + OVERHEAD;

/// What the boxes are for, so that they open in no other election.
fn purpose(parties: &Parties) -> Vec<u8> {
    [b"seed ", &parties.election().0[..]].concat()
}

/// Seals the part to all auditors.
pub(super) fn seal_part<R: CryptoRng>(parties: &Parties, part: &SeedPart, rng: &mut R) -> Vec<u8> {
    let auditors = parties.in_role(Role::Auditor);
    auditors
        .flat_map(|party| seal(&party.line.keys, &purpose(parties), part.as_bytes(), rng))
        .collect()
}

/// Opens the box of one auditor; `None` if there is none that opens.
pub(super) fn open_part(
    parties: &Parties,
    auditor: &Identity,
    boxes: &Path,
) -> Result<Option<SeedPart>, Refused> {
    let limit = BOX * parties.in_role(Role::Auditor).count();
    let bytes = read_bounded(boxes, limit).map_err(|problem| Refused::new(boxes, problem))?;
    let is_own = |party: &shield_board::Party| party.line.keys == *auditor.public();
    let part = (bytes.len() == limit)
        .then(|| parties.in_role(Role::Auditor).position(is_own))
        .flatten()
        .and_then(|place| bytes.chunks(BOX).nth(place))
        .and_then(|own| open(auditor, &purpose(parties), own))
        .and_then(|part| Some(SeedPart::from_bytes(part.as_slice().try_into().ok()?)));
    Ok(part)
}
