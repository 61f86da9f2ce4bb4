//! The learning around SHIELD: teachers who vote, and a student who learns from private labels.
//!
//! | module | subject |
//! |---|---|
//! | [`data`] | images: MNIST from its four files, and digits drawn by ourselves for tests |
//! | [`transform`] | deskewing, blurring, cropping, affine augmentation |
//! | [`shards`] | disjoint parts of the training set, one a teacher |
//! | [`network`], [`training`] | one small convolutional network for everybody, and how it is trained |
//! | [`teachers`] | n models on n shards, and their votes |
//! | [`student`] | from few labels and many images to a model |
//! | [`experiment`] | the paper's experiment, from teachers to students |
//! | [`model_file`] | a trained model in a file |

pub mod data;
pub mod experiment;
pub mod model_file;
pub mod network;
pub mod shards;
pub mod student;
pub mod teachers;
pub mod training;
pub mod transform;
