//! The learning around SHIELD: teachers who vote, and a student who learns from private labels.
//!
//! ```no_run
//! use shield_core::Watch;
//! use shield_learn::data::drawn_digits;
//! use shield_learn::teachers::{Profile, teach};
//!
//! let (private, public) = (drawn_digits(600, 1), drawn_digits(100, 2));
//! // Forty teachers, each trained on its own 15 images, vote on images that anyone may see.
//! let votes = teach(Profile::Pate, &private, &public.images, 40, 1, &Watch::default())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | subject |
//! |---|---|
//! | [`data`] | images: MNIST, Fashion-MNIST, and digits drawn by ourselves for tests |
//! | `glyphs` | characters of many typefaces |
//! | `transform` | deskewing, blurring, cropping, affine augmentation |
//! | `network`, `training` | one small convolutional network for everybody, and how it is trained |
//! | [`teachers`] | n models on n disjoint shards, and their votes |
//! | `linear` | a classifier that is fitted in a moment |
//! | `typeface_teachers` | teachers that own typefaces, and their votes |
//! | `neighbours` | which images are alike |
//! | [`student`] | from few labels and many images to a model |
//! | [`experiment`] | the paper's experiment, from teachers to students |
//! | `model_file` | a trained student in a file |
//! | `error` | what can go wrong |

pub mod data;
mod error;
pub mod experiment;
mod glyphs;
mod layers;
mod linear;
mod model_file;
mod neighbours;
mod network;
pub mod student;
pub mod teachers;
mod training;
mod transform;
mod typeface_teachers;

pub use error::LearnError;
pub use model_file::Student;
