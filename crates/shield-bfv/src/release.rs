//! What the server hands to the student for one batch, and how the student reads it.

use std::fmt;

use shield_core::framing::MadeFor;
use shield_core::{Class, Label};

use crate::keys::KeyId;
use crate::layout::{Coding, Layout, Places};
use crate::plan::Plan;
use crate::ring::Context;
use crate::scheme::{Ciphertext, Secret};

/// Encrypted labels of one batch, each ciphertext under one prime.
#[derive(Clone, PartialEq, Eq)]
pub struct Release {
    pub(crate) ciphertexts: Vec<Ciphertext>,
    pub(crate) batch: usize,
    pub(crate) key: KeyId,
}

impl Release {
    pub(crate) fn made_for(&self) -> MadeFor {
        MadeFor { batch: self.batch, key: self.key }
    }
}

impl fmt::Debug for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Release")
            .field("batch", &self.batch)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// The slots of every ciphertext of a release.
pub(crate) fn slots(context: &Context, secret: &Secret, release: &Release) -> Vec<Vec<u64>> {
    release.ciphertexts.iter().map(|c| c.decrypt(context, secret)).collect()
}

/// The labels of the first `samples` samples.
pub(crate) fn labels(
    plan: &Plan,
    places: &Places,
    slots: &[Vec<u64>],
    samples: usize,
) -> Vec<Label> {
    let class = |code: usize| (code < plan.layout().classes()).then_some(Class(code as u16));
    // In whichever order: there is one clean cell at most.
    (0..samples).map(|sample| codes(plan, places, slots, sample).find_map(class)).collect()
}

/// The codes in the clean cells of a sample: one, or none, if all follow the protocol.
pub(crate) fn codes<'a>(
    plan: &'a Plan,
    places: &'a Places,
    slots: &'a [Vec<u64>],
    sample: usize,
) -> impl Iterator<Item = usize> + 'a {
    let layout = plan.layout();
    let value = match layout.coding() {
        Coding::OneHot => plan.order().success(),
        Coding::PackedBits | Coding::BitsAcross => u64::from(plan.order().get()),
    };
    slots.chunks_exact(layout.released_planes()).flat_map(move |cell| {
        (0..layout.groups())
            .filter_map(move |group| clean(layout, cell, places.slots(group, sample), value))
    })
}

/// The code that is `value` times one in these places of a cell, if there is one and all else is 0.
fn clean(layout: &Layout, cell: &[Vec<u64>], places: &[u32], value: u64) -> Option<usize> {
    let is_one = |plane: usize, slot: usize| match cell[plane][places[slot] as usize] {
        0 => Some(false),
        x if x == value => Some(true),
        _ => None,
    };
    let class = match layout.coding() {
        Coding::OneHot => {
            let filled = (0..layout.classes()).find(|&slot| cell[0][places[slot] as usize] != 0);
            filled?
        }
        Coding::PackedBits => bits((0..layout.bits()).map(|slot| is_one(0, slot)))?,
        Coding::BitsAcross => bits((0..layout.planes()).map(|plane| is_one(plane, 0)))?,
    };
    let planes = 0..cell.len();
    let mut all = planes.flat_map(|plane| (0..places.len()).map(move |slot| (plane, slot)));
    let coded = |plane, slot| plane < layout.planes() && layout.is_one(class, plane, slot);
    let whole = all.all(|(plane, slot)| is_one(plane, slot) == Some(coded(plane, slot)));
    whole.then_some(class)
}

/// The number with these bits, the lowest first, if all are bits.
fn bits(bits: impl Iterator<Item = Option<bool>>) -> Option<usize> {
    let mut number = 0;
    for (i, bit) in bits.enumerate() {
        number |= usize::from(bit?) << i;
    }
    Some(number)
}
