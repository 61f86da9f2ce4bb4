//! How an audit is packed.

use crate::flooding;
use crate::layout::Layout;
use crate::noise::Ring;
use crate::validity;

/// Most teachers in a ciphertext: their noise adds up.
const MOST: usize = 64;

/// How the checks of single teachers are packed: part of the plan, with a proven noise bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packing {
    /// Teachers in a ciphertext: one slot of a sample's runs each.
    pub(crate) teachers: usize,
    /// Ciphertexts of an audit.
    pub(crate) ciphertexts: usize,
    pub(crate) limbs: usize,
    pub(crate) flooding: u32,
}

impl Packing {
    /// As many teachers in a ciphertext as the noise leaves room for; `None` if not even one.
    pub(crate) fn new(ring: Ring, layout: &Layout, teachers: usize) -> Option<Self> {
        let slots = layout.run() * layout.groups();
        let v = validity::noise(ring, layout, 1);
        let limbs = ring.lowest_level(v);
        let one = ring.selected(ring.drop_to(v, limbs));
        let fitting = |packed: usize| {
            let sum = ring.combine(one, one, packed as f64 - 1.0);
            let released = ring.combine(sum, ring.fresh(), 1.0);
            let ciphertexts = teachers.div_ceil(packed);
            let flooding = flooding::bits(released.bound(), ciphertexts);
            let total = (2_f64.powf(flooding::magnitude(flooding)) + released.bound()).log2();
            let packing = Self { teachers: packed, ciphertexts, limbs, flooding };
            (total <= ring.limit(limbs)).then_some(packing)
        };
        (0..=slots.min(MOST).ilog2()).rev().map(|bits| 1 << bits).find_map(fitting)
    }
}
