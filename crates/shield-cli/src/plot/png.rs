//! Figures as PNG files.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

/// Draws into memory, then writes what was drawn.
pub(crate) fn write<E: Display>(
    path: &Path,
    size: (u32, u32),
    draw: impl FnOnce(&DrawingArea<BitMapBackend<'_>, Shift>) -> Result<(), E>,
) -> io::Result<()> {
    let (width, height) = size;
    let mut pixels = vec![0; width as usize * height as usize * 3];
    draw(&BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area())
        .map_err(|error| io::Error::other(error.to_string()))?;
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    Ok(writer.finish()?)
}
