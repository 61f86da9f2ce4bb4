//! What the server hands to the student for one batch, and how the student reads it.

use std::fmt;

use shield::framing::MadeFor;
use shield::{Class, Label};

use crate::keys::KeyId;
use crate::layout::{Layout, Places};
use crate::plan::{Plan, ReleaseMode};
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
    let layout = plan.layout();
    let label = |sample| match plan.release() {
        ReleaseMode::Reveal => (0..layout.rounds()).find_map(|cell| {
            let cell = layout.cell(cell);
            let value = plan.order().success();
            clean(layout, places, &slots[cell.ciphertext], cell.group, sample, value)
        }),
        ReleaseMode::Composable => clean(layout, places, &slots[0], 0, sample, 1),
    };
    (0..samples).map(label).collect()
}

/// The class at which a run is `value`, if it is 0 everywhere else.
fn clean(
    layout: &Layout,
    places: &Places,
    slots: &[u64],
    group: usize,
    sample: usize,
    value: u64,
) -> Label {
    let places = places.classes(group, sample);
    let mut filled = places.iter().enumerate().filter(|(_, place)| slots[**place as usize] != 0);
    let (class, &place) = filled.next()?;
    let only = filled.next().is_none() && class < layout.classes();
    (only && slots[place as usize] == value).then_some(Class(class as u16))
}
