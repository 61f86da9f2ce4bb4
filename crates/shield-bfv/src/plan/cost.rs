//! What a plan costs: the work of a batch, counted, and the seconds that it takes on a machine.
//!
//! The planner compares designs by this count, with fixed weights, so that all parties of an
//! election come to the same plan. How long it takes where it runs, a short calibration says.

use std::hint::black_box;
use std::time::Instant;

use crate::layout::Coding;
use crate::proof;
use crate::ring::{Context, limb, packing};
use crate::validity::{REPETITIONS, chunk};

use super::Plan;

/// The work of one batch, in the three kinds that make up nearly all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Butterflies of transforms.
    pub butterflies: f64,
    /// Products of residues that are added up.
    pub products: f64,
    /// Residues that are read from ballots, or drawn at random.
    pub residues: f64,
}

/// Weights of a product and of a residue, in butterflies.
const PRODUCT: f64 = 0.4;
const RESIDUE: f64 = 6.0;

impl Work {
    /// In butterflies, with fixed weights.
    pub(crate) fn weighed(self) -> f64 {
        self.butterflies + PRODUCT * self.products + RESIDUE * self.residues
    }

    fn transforms(&mut self, count: f64, points: usize) {
        let points = points as f64;
        self.butterflies += count * points / 2.0 * points.log2().max(1.0);
    }
}

/// Seconds that a unit of each kind of work takes, on one thread of this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// A butterfly.
    pub butterfly: f64,
    /// A product.
    pub product: f64,
    /// A residue.
    pub residue: f64,
}

impl Calibration {
    /// Measures this machine, in some hundredths of a second.
    pub fn measure() -> Self {
        const DEGREE: usize = 8_192;
        const TIMES: usize = 100;
        let context = Context::new(DEGREE, 51, 1);
        let ntt = &context.q()[0];
        let p = ntt.modulus().value();
        let mut values: Vec<u64> = (0..DEGREE as u64).map(|i| i * i * 977_777 % p).collect();
        let other = values.clone();
        let mut best = |work: &mut dyn FnMut(&mut [u64])| {
            let mut seconds = |work: &mut dyn FnMut(&mut [u64])| {
                let start = Instant::now();
                for _ in 0..TIMES / 10 {
                    work(black_box(&mut values));
                }
                start.elapsed().as_secs_f64() / (TIMES / 10) as f64
            };
            (0..10).map(|_| seconds(work)).fold(f64::INFINITY, f64::min)
        };
        let transform = best(&mut |values| ntt.forward(values));
        let terms: Vec<(&[u64], &[u64])> = vec![(&other, &other); 8];
        let sums = best(&mut |values| limb::add_products(ntt.modulus(), values, &terms));
        let bytes: Vec<u8> = (0..DEGREE * 8).map(|i| (i * 31 % 251) as u8).collect();
        let hashed = best(&mut |values| {
            black_box(blake3::hash(&bytes));
            packing::unpack(&bytes, 51, values);
        });
        let n = DEGREE as f64;
        Self {
            butterfly: transform / (n / 2.0 * n.log2()),
            product: sums / (8.0 * n),
            residue: hashed / n,
        }
    }

    /// Seconds for some work.
    pub fn seconds(&self, work: Work) -> f64 {
        self.butterfly * work.butterflies
            + self.product * work.products
            + self.residue * work.residues
    }
}

impl Plan {
    /// The server's work on one full batch.
    pub fn work(&self) -> Work {
        let mut work = Work::default();
        self.tally_work(&mut work);
        self.check_work(&mut work);
        if self.proofs() {
            self.proof_work(&mut work);
        }
        self.success_work(&mut work);
        self.reveal_work(&mut work);
        let limbs = self.stages.released.limbs() as f64;
        let released = self.released_ciphertexts() as f64;
        work.transforms(released * 7.0 * limbs, self.ring.degree);
        work.residues += released * 8.0 * self.ring.degree as f64;
        work
    }

    /// The server's work on the whole election, in units of a butterfly.
    pub(super) fn cost(&self) -> f64 {
        self.batches() as f64 * self.work().weighed()
    }

    fn tally_work(&self, work: &mut Work) {
        let layout = &self.layout;
        let (n, limbs) = (self.ring.degree as f64, self.ring.limbs as f64);
        let teachers = f64::from(self.teachers);
        let planes = layout.planes() as f64;
        let samples = layout.samples().min(self.samples) as f64;
        let pairs = teachers * layout.ciphertexts() as f64;
        // A mask is made for each teacher and ciphertext that some sample drew.
        let drawn = samples * self.draws as f64;
        let masks = pairs * (1.0 - (-drawn / pairs).exp());
        let (points, whole) = match layout.coding() {
            Coding::OneHot | Coding::PackedBits => (layout.positions(), 1.0),
            Coding::BitsAcross => (self.ring.degree, planes),
        };
        work.transforms(masks * (1.0 + limbs), points);
        work.products += masks * limbs * 2.0 * n * whole;
        work.residues += teachers * planes * 2.0 * limbs * n;
    }

    /// The check of the ballots.
    fn check_work(&self, work: &mut Work) {
        let layout = &self.layout;
        let (n, limbs) = (self.ring.degree as f64, self.ring.limbs as f64);
        let planes = layout.planes() as f64;
        let ballots = f64::from(self.teachers) * REPETITIONS as f64;
        work.transforms(ballots * (1.0 + limbs), self.ring.degree / chunk(layout));
        // Two products with the weight, and three of the tensor.
        work.products += ballots * planes * limbs * 5.0 * n;
        let repetitions = REPETITIONS as f64;
        for rotations in layout.check_stages() {
            let rotations = repetitions * rotations as f64;
            self.rotation_work(work, repetitions, rotations, self.ring.limbs);
        }
        // One switch of keys, and two plaintexts, for each plane; then a mask for each ciphertext.
        self.rotation_work(work, repetitions * planes, repetitions * planes, self.ring.limbs);
        work.transforms(repetitions * planes * 2.0 * (1.0 + limbs), self.ring.degree);
        let (masks, level) = (repetitions * self.released_ciphertexts() as f64, self.reveal_limbs);
        work.transforms(masks * (1.0 + level as f64), self.ring.degree);
        work.products += masks * 2.0 * level as f64 * n;
        // The masks, and what asks for the ballots' shape.
        work.residues += (masks + repetitions * planes) * n;
    }

    /// The proofs of the ballots.
    fn proof_work(&self, work: &mut Work) {
        let (n, limbs) = (self.ring.degree as f64, self.ring.limbs as f64);
        let planes = self.layout.planes() as f64 * f64::from(self.teachers);
        let answers = planes * proof::REPETITIONS as f64;
        work.transforms(planes * 2.0 * limbs + answers * 3.0 * limbs, self.ring.degree);
        // Turned, rounded, hashed.
        work.products += answers * 6.0 * limbs * n;
        work.residues += answers * 2.0 * limbs * n;
    }

    fn success_work(&self, work: &mut Work) {
        let layout = &self.layout;
        let cells = layout.ciphertexts() as f64;
        let tallies = cells * layout.planes() as f64;
        for (i, &limbs) in self.unanimity_levels.iter().enumerate() {
            // Two squares, then as many products as halve the factors each time.
            let products = if i < 2 { 1 } else { (self.order.get() as usize / 4) >> (i - 1) };
            let factors = if i < 2 { 1.0 } else { 2.0 };
            self.product_work(work, tallies * products.max(1) as f64, factors, limbs);
        }
        match layout.coding() {
            Coding::OneHot => {
                let limbs = self.stages.unanimity.limbs();
                for stage in layout.run_stages() {
                    self.rotation_work(work, cells, cells * stage.len() as f64, limbs);
                }
            }
            Coding::PackedBits => {
                for &limbs in &self.success_levels {
                    self.rotation_work(work, cells, cells, limbs);
                    self.product_work(work, cells, 2.0, limbs);
                }
            }
            Coding::BitsAcross => {
                let mut width = layout.planes();
                for &limbs in &self.success_levels {
                    self.product_work(work, cells * (width / 2) as f64, 2.0, limbs);
                    width = width.div_ceil(2);
                }
            }
        }
    }

    fn reveal_work(&self, work: &mut Work) {
        let layout = &self.layout;
        let (cells, groups) = (layout.ciphertexts() as f64, layout.groups() as f64);
        let siblings: usize = layout.cells().radices().iter().map(|radix| radix - 1).sum();
        let terms = siblings as f64 + groups;
        let limbs = self.stages.successes.limbs();
        let cuts = (groups / 2.0).ceil().min(groups - 1.0);
        self.rotation_work(work, cuts, groups - 1.0, limbs);
        let (n, limbs) = (self.ring.degree, self.reveal_limbs as f64);
        let released = cells * layout.released_planes() as f64;
        work.transforms(released * (terms + 1.0) * (1.0 + limbs), n);
        work.products += released * terms * 2.0 * limbs * n as f64;
        work.residues += released * n as f64;
    }

    /// Products of ciphertexts, each of one or two factors.
    fn product_work(&self, work: &mut Work, count: f64, factors: f64, limbs: usize) {
        let (l, n) = (limbs as f64, self.ring.degree as f64);
        let transforms = factors * 2.0 * (2.0 * l + 1.0) + 3.0 * (2.0 * l + 1.0) + l * l + 2.0 * l;
        work.transforms(count * transforms, self.ring.degree);
        let conversions = factors * 2.0 * l * (l + 1.0) + 3.0 * (l + 1.0) * (2.0 * l + 1.0);
        work.products += count * n * (conversions + 4.0 * (2.0 * l + 1.0) + 2.0 * l * l);
    }

    /// Rotations, of which `cuts` cut a ciphertext into digits.
    fn rotation_work(&self, work: &mut Work, cuts: f64, rotations: f64, limbs: usize) {
        let (l, n) = (limbs as f64, self.ring.degree as f64);
        work.transforms(cuts * l * l, self.ring.degree);
        work.products += rotations * n * (2.0 * l * l + 4.0 * l);
    }
}
