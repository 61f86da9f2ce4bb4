//! Characters of many typefaces: 150 classes, for experiments with more classes than digits have.
//!
//! Typefaces come from a folder of TrueType and OpenType files, subfolders included; none of them
//! comes with the project. Every character is drawn once at its natural size with its baseline at a
//! fixed height, so that a comma and an apostrophe stay different; images are distorted copies of
//! these drawings. A character that a typeface lacks, or draws like its sign for "no such
//! character", is left out for that typeface.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use ab_glyph::{Font, FontRef, GlyphId, PxScale, point};
use rand::Rng;
use rayon::prelude::*;

use crate::data::Images;
use crate::error::LearnError;
use crate::transform::jitter;

/// The 150 characters, each a class: those that look different enough to be told apart in a small
/// image (a Greek or Cyrillic capital that looks like a Latin one is not among them).
pub(crate) const ALPHABET: &str = concat!(
    "ABDEFGHIJKLMNPQRSTUVWXYZ",
    "abdefghijkmnpqrtuy",
    "0123456789",
    "ΓΔΘΛΞΠΣΦΨΩαβγδεζηθλμξπσφχψω",
    "БДЖИЙЛЦЧШЩЪЫЬЭЮЯЂЄЉЊб",
    "!#$%&()*+-/<=>?@[]_{|}~§©®¶€£¥±×¿«»°†‡•…√∞≠≤≥ßæøçñ",
);

/// Width and height of an image.
const SIDE: usize = 28;
/// Pixels per em: capitals are then about 15 pixels high, and accents and tails have room.
const EM: f32 = 21.0;
/// The row that letters rest on.
const BASELINE: f32 = 21.0;
/// Drawings with less ink than this, in black pixels, are blanks.
const LEAST_INK: f32 = 1.0;
/// The largest file that is read: typefaces with tens of thousands of characters are larger, and
/// are not what this is about.
const LARGEST_FILE: u64 = 16 << 20;
/// The share of the alphabet that a typeface must have to be of use.
const LEAST_SHARE: f64 = 0.8;

/// One font file's drawings of the alphabet.
#[derive(Clone)]
pub(crate) struct Typeface {
    family: String,
    /// For each class, its pixels from 0 to 255; `None` where the typeface lacks it.
    drawings: Vec<Option<Vec<u8>>>,
}

impl std::fmt::Debug for Typeface {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Typeface of {} with {} characters", self.family, self.characters())
    }
}

impl Typeface {
    /// Draws what the bytes of a font file have of the alphabet; `None` if they are no font.
    pub(crate) fn parse(file_name: &str, bytes: &[u8]) -> Option<Self> {
        let font = FontRef::try_from_slice(bytes).ok()?;
        let scale = EM * font.height_unscaled() / font.units_per_em()?;
        if !(scale.is_finite() && scale > 0.0) {
            return None;
        }
        let missing = draw(&font, GlyphId(0), scale);
        let drawings = ALPHABET.chars().map(|character| {
            let glyph = Some(font.glyph_id(character)).filter(|&glyph| glyph != GlyphId(0))?;
            draw(&font, glyph, scale).filter(|drawing| missing.as_ref() != Some(drawing))
        });
        Some(Self { family: family(file_name), drawings: drawings.collect() })
    }

    /// How many characters it has.
    pub(crate) fn characters(&self) -> usize {
        self.drawings.iter().flatten().count()
    }

    /// Whether it has all.
    pub(crate) fn is_complete(&self) -> bool {
        self.drawings.iter().all(Option::is_some)
    }

    /// What all its styles have in common in their names.
    pub(crate) fn family(&self) -> &str {
        &self.family
    }

    /// One distorted image of a class; `None` where the typeface lacks it.
    pub(crate) fn image(&self, class: usize, rng: &mut impl Rng) -> Option<Vec<f32>> {
        let drawing = self.drawings.get(class)?.as_ref()?;
        let plain: Vec<f32> = drawing.iter().map(|&pixel| f32::from(pixel) / 255.0).collect();
        let strength = rng.random_range(0.7..1.0f32);
        let noise = rng.random_range(0.0..0.08f32);
        let mut image = jitter(&plain, SIDE, rng);
        for pixel in &mut image {
            *pixel = (strength * *pixel + noise * rng.random_range(-1.0..1.0f32)).clamp(0.0, 1.0);
        }
        Some(image)
    }

    /// Distorted images of all classes that it has, so many of each, and their classes.
    pub(crate) fn images(&self, copies: usize, rng: &mut impl Rng) -> (Images, Vec<usize>) {
        let (mut pixels, mut classes) = (Vec::new(), Vec::new());
        for class in 0..self.drawings.len() {
            for _ in 0..copies {
                if let Some(image) = self.image(class, rng) {
                    pixels.extend(image);
                    classes.push(class);
                }
            }
        }
        (Images::new(SIDE, pixels), classes)
    }
}

/// All typefaces of a folder that have enough of the alphabet, in the order of their paths, and how
/// many font files there are. Files with the same drawings count once.
pub(crate) fn typefaces(folder: &Path) -> Result<(Vec<Typeface>, usize), LearnError> {
    let mut files = Vec::new();
    collect(folder, &mut files)
        .map_err(|error| LearnError::Fonts { path: folder.to_owned(), why: error.to_string() })?;
    files.sort();
    let parse = |path: &PathBuf| {
        let name = path.file_stem()?.to_string_lossy().into_owned();
        Typeface::parse(&name, &fs::read(path).ok()?)
    };
    let least = LEAST_SHARE * ALPHABET.chars().count() as f64;
    let useful = |face: &Typeface| face.characters() as f64 >= least;
    let found: Vec<Option<Typeface>> =
        files.par_iter().map(|path| parse(path).filter(useful)).collect();
    let mut seen = HashSet::new();
    let different = |face: &Typeface| {
        let mut hasher = blake3::Hasher::new();
        for drawing in face.drawings.iter().flatten() {
            hasher.update(drawing);
        }
        seen.insert(*hasher.finalize().as_bytes())
    };
    Ok((found.into_iter().flatten().filter(different).collect(), files.len()))
}

/// Font files of a folder and of those below it. Links to folders are not followed: they may lead
/// in a circle.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        if kind.is_dir() {
            collect(&path, files)?;
        } else if (extension == "ttf" || extension == "otf")
            && fs::metadata(&path).is_ok_and(|data| data.len() <= LARGEST_FILE)
        {
            files.push(path);
        }
    }
    Ok(())
}

/// The family in a file's name: all before a style, in lower case.
fn family(file_name: &str) -> String {
    const STYLES: [&str; 14] = [
        "-", "_", "regular", "roman", "bold", "italic", "oblique", "medium", "light", "thin",
        "black", "book", "semi", "extra",
    ];
    let name = file_name.to_lowercase();
    let end = STYLES.iter().filter_map(|style| name.find(style)).filter(|&at| at > 0).min();
    name[..end.unwrap_or(name.len())].to_owned()
}

/// One character at its natural size, in the middle; `None` if it is blank or does not fit.
fn draw(font: &FontRef<'_>, glyph: GlyphId, scale: f32) -> Option<Vec<u8>> {
    let most = 2.0 * SIDE as f32;
    let at = |x: f32| glyph.with_scale_and_position(PxScale::from(scale), point(x, BASELINE));
    let bounds = font.outline_glyph(at(0.0))?.px_bounds();
    // Broken fonts have characters that are larger than any image.
    if !(bounds.width() <= most && bounds.height() <= most && bounds.min.x.abs() <= most) {
        return None;
    }
    let middle = f32::midpoint(bounds.min.x, bounds.max.x);
    let outlined = font.outline_glyph(at((SIDE as f32 / 2.0 - middle).round()))?;
    let corner = outlined.px_bounds().min;
    let (mut pixels, mut ink) = (vec![0u8; SIDE * SIDE], 0.0);
    outlined.draw(|x, y, coverage| {
        let (x, y) = (x as f32 + corner.x, y as f32 + corner.y);
        let inside = 0.0..SIDE as f32;
        if inside.contains(&x) && inside.contains(&y) {
            let coverage = coverage.clamp(0.0, 1.0);
            ink += coverage;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a pixel of the image, and a share of 255"
            )]
            let (place, value) = (y as usize * SIDE + x as usize, (255.0 * coverage) as u8);
            pixels[place] = value;
        }
    });
    (ink >= LEAST_INK).then_some(pixels)
}

/// Typefaces for tests, made of the fonts that figures are drawn with.
#[cfg(test)]
pub(crate) mod testing {
    use super::Typeface;

    /// So many different typefaces, each a family of its own: one font at different sizes of an em.
    pub(crate) fn many_typefaces(count: usize) -> Vec<Typeface> {
        (0..count)
            .map(|place| {
                let mut bytes = epaint_default_fonts::HACK_REGULAR.to_vec();
                let head = table(&bytes, *b"head").expect("a font has a head");
                let em = 2048 + 40 * u16::try_from(place).expect("few typefaces");
                bytes[head + 18..head + 20].copy_from_slice(&em.to_be_bytes());
                Typeface::parse(&format!("Face{place}"), &bytes).expect("still a font")
            })
            .collect()
    }

    /// Where a table of a font begins.
    fn table(bytes: &[u8], name: [u8; 4]) -> Option<usize> {
        let entry = bytes.get(12..)?.chunks_exact(16).find(|entry| entry[..4] == name)?;
        Some(u32::from_be_bytes(entry[8..12].try_into().ok()?) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    const HACK: &[u8] = epaint_default_fonts::HACK_REGULAR;

    fn ink(image: &[f32]) -> f32 {
        image.iter().sum()
    }

    #[test]
    fn there_are_150_different_characters() {
        let all: HashSet<char> = ALPHABET.chars().collect();
        assert_eq!((all.len(), ALPHABET.chars().count()), (150, 150));
    }

    #[test]
    fn a_font_draws_its_characters_and_skips_those_it_lacks() {
        let hack = Typeface::parse("Hack-Regular", HACK).unwrap();
        assert_eq!(hack.family(), "hack");
        assert!(hack.is_complete(), "{hack:?}");
        let emoji = epaint_default_fonts::EMOJI_ICON;
        let emoji = Typeface::parse("emoji", emoji).unwrap();
        assert!(emoji.characters() < 100, "{emoji:?}");
        assert_eq!(emoji.image(9999, &mut ChaCha20Rng::seed_from_u64(1)), None);
        assert!(Typeface::parse("no font", b"true").is_none());
        assert!(
            Typeface::parse("cut off", &HACK[..2000]).is_none_or(|face| face.characters() == 0)
        );
    }

    #[test]
    fn images_of_a_character_differ_but_are_alike() {
        let hack = Typeface::parse("Hack-Regular", HACK).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let class = |character| ALPHABET.chars().position(|other| other == character).unwrap();
        let (one, two) =
            (hack.image(class('W'), &mut rng).unwrap(), hack.image(class('W'), &mut rng).unwrap());
        assert_ne!(one, two);
        let dash = hack.image(class('-'), &mut rng).unwrap();
        let apart = |a: &[f32], b: &[f32]| -> f32 {
            a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f32>()
        };
        assert!(ink(&one) > 2.0 * ink(&dash) || apart(&one, &two) < apart(&one, &dash));
        assert!(one.iter().all(|pixel| (0.0..=1.0).contains(pixel)));
        let (images, classes) = hack.images(2, &mut rng);
        assert_eq!((images.len(), classes.len(), classes[299]), (300, 300, 149));
    }

    #[test]
    fn a_folder_is_searched_and_copies_count_once() {
        let place = tempfile::tempdir().unwrap();
        let below = place.path().join("deeper");
        fs::create_dir(&below).unwrap();
        for path in ["Hack.ttf", "Same.otf", "deeper/Same-Bold.TTF"] {
            fs::write(place.path().join(path), HACK).unwrap();
        }
        fs::write(below.join("text.ttf"), "no font").unwrap();
        fs::write(below.join("notes.txt"), "no font").unwrap();
        let (found, files) = typefaces(place.path()).unwrap();
        assert_eq!((found.len(), files), (1, 4));
        let error = typefaces(Path::new("no/such/folder")).unwrap_err().to_string();
        assert!(error.contains("no/such/folder") && error.contains("TrueType"), "{error}");
    }

    #[test]
    fn styles_of_one_family_are_known_by_name() {
        for (name, wanted) in [
            ("DejaVuSans-BoldOblique", "dejavusans"),
            ("FreeSerifBoldItalic", "freeserif"),
            ("LinLibertine_RB", "linlibertine"),
            ("Hack", "hack"),
            ("-odd", "-odd"),
        ] {
            assert_eq!(family(name), wanted);
        }
    }
}
