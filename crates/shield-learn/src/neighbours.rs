//! Which images are alike: for each, its nearest others, with self-tuned weights.
//!
//! The weight of an edge is exp(-d^2 / (s_i s_j)), where s_i is the distance from i to its farthest
//! neighbour (Zelnik-Manor and Perona, "Self-tuning spectral clustering", 2004), so that no width
//! has to be chosen.

use ndarray::{ArrayView1, ArrayView2, Axis};
use rayon::prelude::*;

use crate::data::Images;

/// How many neighbours each image has.
const NEIGHBOURS: usize = 6;

/// What is compared: points of one width, one after another.
#[derive(Clone, Debug)]
pub(crate) struct Points {
    width: usize,
    values: Vec<f32>,
}

impl Points {
    /// Points of `width` numbers each.
    ///
    /// # Panics
    /// If the numbers are not a whole number of points.
    pub(crate) fn new(width: usize, values: Vec<f32>) -> Self {
        assert!(width > 0 && values.len().is_multiple_of(width), "whole points");
        Self { width, values }
    }

    /// How many numbers each has.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.values.len() / self.width
    }

    /// One of them.
    pub(crate) fn point(&self, index: usize) -> &[f32] {
        &self.values[index * self.width..(index + 1) * self.width]
    }

    /// All of them, a row each.
    pub(crate) fn matrix(&self) -> ArrayView2<'_, f32> {
        ArrayView2::from_shape((self.len(), self.width), &self.values).expect("whole points")
    }
}

/// Images compared pixel by pixel.
impl From<&Images> for Points {
    fn from(images: &Images) -> Self {
        Self::new(images.side() * images.side(), images.pixels().to_vec())
    }
}

/// A symmetric, normalised graph: for each image, the others it is joined to and the weights.
#[derive(Clone, Debug)]
pub(crate) struct Neighbours {
    /// Row i: (j, w_ij / sqrt(d_i d_j)).
    rows: Vec<Vec<(usize, f32)>>,
}

impl Neighbours {
    /// The graph of some images, each given as a point.
    pub(crate) fn of(points: &Points) -> Self {
        let nearest = nearest(points);
        let scale: Vec<f32> = nearest
            .iter()
            .map(|near| near.last().map_or(1.0, |&(_, d)| d.max(1e-12).sqrt()))
            .collect();
        let mut edges: Vec<Vec<(usize, f32)>> = vec![Vec::new(); points.len()];
        for (from, near) in nearest.iter().enumerate() {
            for &(to, squared) in near {
                let weight = (-squared / (scale[from] * scale[to])).exp();
                edges[from].push((to, weight));
                edges[to].push((from, weight));
            }
        }
        for row in &mut edges {
            row.sort_unstable_by_key(|&(to, _)| to);
            row.dedup_by_key(|&mut (to, _)| to);
        }
        let degrees: Vec<f32> = edges
            .iter()
            .map(|row| row.iter().map(|&(_, weight)| weight).sum::<f32>().max(1e-12))
            .collect();
        for (from, row) in edges.iter_mut().enumerate() {
            for (to, weight) in row {
                *weight /= (degrees[from] * degrees[*to]).sqrt();
            }
        }
        Self { rows: edges }
    }

    /// How many images.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// What one image is joined to.
    pub(crate) fn row(&self, image: usize) -> &[(usize, f32)] {
        &self.rows[image]
    }
}

/// For each image, its nearest others and the squared distances, nearest first.
fn nearest(points: &Points) -> Vec<Vec<(usize, f32)>> {
    const AT_ONCE: usize = 128;
    let (count, all) = (points.len(), points.matrix());
    let norms: Vec<f32> =
        (0..count).map(|i| points.point(i).iter().map(|value| value * value).sum()).collect();
    let blocks: Vec<ArrayView2<f32>> = all.axis_chunks_iter(Axis(0), AT_ONCE).collect();
    let found: Vec<Vec<Vec<(usize, f32)>>> = blocks
        .into_par_iter()
        .zip((0..count).into_par_iter().step_by(AT_ONCE))
        .map(|(block, start)| {
            let products = block.dot(&all.t());
            let rows = products.outer_iter().zip(start..);
            rows.map(|(products, from)| closest(from, &products, &norms)).collect()
        })
        .collect();
    found.concat()
}

fn closest(from: usize, products: &ArrayView1<f32>, norms: &[f32]) -> Vec<(usize, f32)> {
    let squared = |to: usize| (norms[from] + norms[to] - 2.0 * products[to]).max(0.0);
    let mut others: Vec<(usize, f32)> =
        (0..products.len()).filter(|&to| to != from).map(|to| (to, squared(to))).collect();
    let keep = NEIGHBOURS.min(others.len());
    // Ties by index, so that the graph does not depend on the order of comparison.
    let order = |a: &(usize, f32), b: &(usize, f32)| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0));
    if keep > 0 && keep < others.len() {
        others.select_nth_unstable_by(keep - 1, order);
    }
    others.truncate(keep);
    others.sort_unstable_by(order);
    others
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::drawn_digits;

    #[test]
    fn the_nearest_are_those_of_brute_force() {
        let images = drawn_digits(40, 3).images;
        let distance = |a: usize, b: usize| -> f32 {
            images.image(a).iter().zip(images.image(b)).map(|(x, y)| (x - y).powi(2)).sum()
        };
        for (from, found) in nearest(&Points::from(&images)).iter().enumerate() {
            let mut expected: Vec<f32> =
                (0..40).filter(|&to| to != from).map(|to| distance(from, to)).collect();
            expected.sort_by(f32::total_cmp);
            for (&(to, squared), expected) in found.iter().zip(&expected) {
                assert!(
                    (squared - expected).abs() < 1e-3
                        && (distance(from, to) - expected).abs() < 1e-3
                );
            }
        }
    }

    #[test]
    fn the_graph_is_symmetric() {
        let graph = Neighbours::of(&Points::from(&drawn_digits(50, 4).images));
        for from in 0..graph.len() {
            for &(to, weight) in graph.row(from) {
                let back =
                    graph.row(to).iter().find(|&&(end, _)| end == from).expect("an edge back");
                assert!((back.1 - weight).abs() < 1e-6);
            }
        }
    }
}
