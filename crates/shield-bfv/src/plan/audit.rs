//! The level and the noise of an audit.

use crate::flooding;
use crate::layout::Layout;
use crate::noise::{Noise, Ring};
use crate::validity;

/// How the checks of single teachers are released: part of the plan, with a proven noise bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AuditPlan {
    pub(crate) limbs: usize,
    pub(crate) flooding: u32,
    /// Width of the uniform polynomial that raises the masks: how much smaller an error is accused
    /// than one that spoils a release.
    ///
    /// A release adds the errors of all teachers under independent weights. With four times the
    /// square root of their number, however many of them share an error that spoils it, some of
    /// them are accused. In elections of thousands the noise leaves room for less.
    pub(crate) raise: u64,
}

impl AuditPlan {
    /// With the largest width that the noise leaves room for, at the lowest level; `None` if there
    /// is no room at all.
    pub(crate) fn new(ring: Ring, layout: &Layout, teachers: usize) -> Option<Self> {
        let check = validity::noise(ring, layout, 1);
        let most = (4.0 * (teachers as f64).sqrt()) as u64;
        let fitting = |raise: u64, limbs| {
            let (zero, check) = (Noise::new(0.0, limbs), ring.drop_to(check, limbs));
            let masked = ring.masked(zero, check, 1 + raise as usize);
            let released = ring.combine(masked, ring.fresh(), 1.0);
            let flooding = flooding::bits(released.bound(), teachers);
            let total = (2_f64.powf(flooding::magnitude(flooding)) + released.bound()).log2();
            (total <= ring.limit(limbs)).then_some(Self { limbs, flooding, raise })
        };
        let levels = ring.lowest_level(check)..=ring.limbs;
        let at_some_level = |raise| levels.clone().find_map(|limbs| fitting(raise, limbs));
        (0..=most.ilog2()).rev().find_map(|bits| at_some_level(1 << bits))
    }
}
