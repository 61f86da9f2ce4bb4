//! The layers of the network, forwards and backwards, on 16 images at once.
//!
//! What stands for one number in the text stands for 16 in the code, one an image. So every layer
//! does the same to whole registers of the processor, and no sum depends on how wide those are.

/// How many images go through the layers together.
pub(crate) const LANES: usize = 16;

/// One number of each image.
pub(crate) type Lanes = [f32; LANES];

/// Turns rows, one an image, into lanes; those of absent images are 0.
pub(crate) fn gather(rows: &[f32], width: usize) -> Vec<Lanes> {
    let mut numbers = vec![[0.0; LANES]; width];
    for (image, row) in rows.chunks_exact(width).enumerate() {
        for (lanes, &value) in numbers.iter_mut().zip(row) {
            lanes[image] = value;
        }
    }
    numbers
}

/// The rows of the first `images` lanes, one image after another.
pub(crate) fn scatter(numbers: &[Lanes], images: usize) -> Vec<f32> {
    (0..images).flat_map(|image| numbers.iter().map(move |lanes| lanes[image])).collect()
}

#[inline]
fn add(sum: &mut Lanes, times: f32, value: &Lanes) {
    for (sum, value) in sum.iter_mut().zip(value) {
        *sum += times * value;
    }
}

#[inline]
fn add_products(sum: &mut Lanes, left: &Lanes, right: &Lanes) {
    for ((sum, left), right) in sum.iter_mut().zip(left).zip(right) {
        *sum += left * right;
    }
}

/// A convolution with K x K weights, then the largest of every 2 x 2 outputs, then 0 for what is
/// negative. Planes follow one another, each row by row; so do the weights, output by output and
/// input by input.
#[derive(Clone, Copy)]
pub(crate) struct Convolution<const K: usize> {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    /// Width and height of an input plane.
    pub(crate) side: usize,
}

/// What comes out of a convolution.
pub(crate) struct Pooled {
    pub(crate) values: Vec<Lanes>,
    /// Which of its 2 x 2 outputs each value is, row by row; [`NONE`] where none is above 0.
    places: Vec<[u32; LANES]>,
}

const NONE: u32 = 4;

impl<const K: usize> Convolution<K> {
    /// Width and height of an output plane. An odd row or column at the end has no part in it.
    pub(crate) fn pooled_side(self) -> usize {
        (self.side - K).div_ceil(2)
    }

    pub(crate) fn forward(self, weights: &[f32], bias: &[f32], input: &[Lanes]) -> Pooled {
        let (side, pooled) = (self.side, self.pooled_side());
        let count = self.outputs * pooled * pooled;
        let (mut values, mut places) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (weights, &bias) in weights.chunks_exact(self.inputs * K * K).zip(bias) {
            for corner in (0..pooled * pooled).map(|at| 2 * (at / pooled * side + at % pooled)) {
                let mut sums = [[bias; LANES]; 4];
                for (plane, weights) in
                    input.chunks_exact(side * side).zip(weights.chunks_exact(K * K))
                {
                    for (row, weights) in weights.chunks_exact(K).enumerate() {
                        let upper = &plane[corner + row * side..][..=K];
                        let lower = &plane[corner + (row + 1) * side..][..=K];
                        for column in 0..K {
                            add(&mut sums[0], weights[column], &upper[column]);
                            add(&mut sums[1], weights[column], &upper[column + 1]);
                            add(&mut sums[2], weights[column], &lower[column]);
                            add(&mut sums[3], weights[column], &lower[column + 1]);
                        }
                    }
                }
                let (mut largest, mut place) = ([0.0; LANES], [NONE; LANES]);
                for (sum, own) in sums.iter().zip(0..) {
                    for lane in 0..LANES {
                        let larger = sum[lane] > largest[lane];
                        largest[lane] = if larger { sum[lane] } else { largest[lane] };
                        place[lane] = if larger { own } else { place[lane] };
                    }
                }
                values.push(largest);
                places.push(place);
            }
        }
        Pooled { values, places }
    }

    /// The gradient of the convolution's outputs, from that of the pooled ones: planes of twice
    /// the pooled width and height.
    pub(crate) fn unpool(self, output: &Pooled, gradient: &[Lanes]) -> Vec<Lanes> {
        let pooled = self.pooled_side();
        let mut whole = vec![[0.0; LANES]; 4 * gradient.len()];
        for (at, (gradient, places)) in gradient.iter().zip(&output.places).enumerate() {
            let corner = at / pooled * 4 * pooled + at % pooled * 2;
            for (own, to) in (0..).zip([0, 1, 2 * pooled, 2 * pooled + 1]) {
                for lane in 0..LANES {
                    let kept = places[lane] == own;
                    whole[corner + to][lane] = if kept { gradient[lane] } else { 0.0 };
                }
            }
        }
        whole
    }

    /// The gradients of weights and bias, from that of the convolution's outputs.
    pub(crate) fn weights_gradient(
        self,
        input: &[Lanes],
        gradient: &[Lanes],
    ) -> (Vec<f32>, Vec<f32>) {
        let (side, width) = (self.side, 2 * self.pooled_side());
        let mut weights = Vec::with_capacity(self.inputs * self.outputs * K * K);
        for gradient in gradient.chunks_exact(width * width) {
            for plane in input.chunks_exact(side * side) {
                for row in 0..K {
                    let mut sums = [[0.0; LANES]; K];
                    for (y, gradient) in gradient.chunks_exact(width).enumerate() {
                        let near = &plane[(y + row) * side..][..width + K - 1];
                        for (near, gradient) in near.windows(K).zip(gradient) {
                            for column in 0..K {
                                add_products(&mut sums[column], &near[column], gradient);
                            }
                        }
                    }
                    weights.extend(sums.iter().map(total));
                }
            }
        }
        (weights, gradient.chunks_exact(width * width).map(sum).collect())
    }

    /// The gradient of the input, from that of the convolution's outputs.
    pub(crate) fn input_gradient(self, weights: &[f32], gradient: &[Lanes]) -> Vec<Lanes> {
        let (side, width) = (self.side, 2 * self.pooled_side());
        let mut found = vec![[0.0; LANES]; self.inputs * side * side];
        for (weights, gradient) in
            weights.chunks_exact(self.inputs * K * K).zip(gradient.chunks_exact(width * width))
        {
            for (found, weights) in
                found.chunks_exact_mut(side * side).zip(weights.chunks_exact(K * K))
            {
                for (at, gradient) in gradient.iter().enumerate() {
                    let corner = at / width * side + at % width;
                    for (row, weights) in weights.chunks_exact(K).enumerate() {
                        let found = &mut found[corner + row * side..][..K];
                        for (found, &weight) in found.iter_mut().zip(weights) {
                            add(found, weight, gradient);
                        }
                    }
                }
            }
        }
        found
    }
}

/// A linear layer: a weight from every input to every output, input by input.
pub(crate) fn linear(weights: &[f32], bias: &[f32], input: &[Lanes]) -> Vec<Lanes> {
    let mut output: Vec<Lanes> = bias.iter().map(|&bias| [bias; LANES]).collect();
    for (value, weights) in input.iter().zip(weights.chunks_exact(bias.len())) {
        for (output, &weight) in output.iter_mut().zip(weights) {
            add(output, weight, value);
        }
    }
    output
}

/// The gradients of weights, bias and input of a linear layer, from that of its output.
pub(crate) fn linear_gradients(
    weights: &[f32],
    input: &[Lanes],
    gradient: &[Lanes],
) -> (Vec<f32>, Vec<f32>, Vec<Lanes>) {
    let of_weights = input.iter().flat_map(|value| {
        gradient.iter().map(|gradient| {
            let mut products = [0.0; LANES];
            add_products(&mut products, value, gradient);
            total(&products)
        })
    });
    let of_input = weights.chunks_exact(gradient.len()).map(|weights| {
        let mut sum = [0.0; LANES];
        for (&weight, gradient) in weights.iter().zip(gradient) {
            add(&mut sum, weight, gradient);
        }
        sum
    });
    (of_weights.collect(), gradient.iter().map(total).collect(), of_input.collect())
}

/// The sum over several numbers and all images.
fn sum(numbers: &[Lanes]) -> f32 {
    let mut sum = [0.0; LANES];
    for lanes in numbers {
        add(&mut sum, 1.0, lanes);
    }
    total(&sum)
}

/// The sum over all images, by halves.
fn total(lanes: &Lanes) -> f32 {
    let mut sums = *lanes;
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
    }
    sums[0]
}
