//! Images, and where they come from.

mod digits;
mod mnist;

pub use digits::drawn_digits;
pub use mnist::Mnist;

/// Square grey images of one size, values from 0 to 1, one after another.
#[derive(Clone, PartialEq)]
pub struct Images {
    side: usize,
    pixels: Vec<f32>,
}

impl Images {
    /// Images of `side` times `side` pixels each.
    ///
    /// # Panics
    /// If the pixels are not a whole number of images.
    pub fn new(side: usize, pixels: Vec<f32>) -> Self {
        assert!(side > 0 && pixels.len().is_multiple_of(side * side), "whole images");
        Self { side, pixels }
    }

    /// Width and height of each.
    pub fn side(&self) -> usize {
        self.side
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.pixels.len() / (self.side * self.side)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.pixels.is_empty()
    }

    /// The pixels of one image, row by row.
    pub fn image(&self, index: usize) -> &[f32] {
        let size = self.side * self.side;
        &self.pixels[index * size..(index + 1) * size]
    }

    /// All pixels.
    pub fn pixels(&self) -> &[f32] {
        &self.pixels
    }

    /// Some of the images, in the order asked for.
    #[must_use]
    pub fn select(&self, indices: impl IntoIterator<Item = usize>) -> Self {
        let pixels = indices.into_iter().flat_map(|index| self.image(index).iter().copied());
        Self { side: self.side, pixels: pixels.collect() }
    }
}

impl std::fmt::Debug for Images {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Images")
            .field("side", &self.side)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// Images with the class of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelled {
    /// The images.
    pub images: Images,
    /// Their classes.
    pub classes: Vec<u8>,
}
