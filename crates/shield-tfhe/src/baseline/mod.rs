//! What the engines are compared with in benchmarks. Nothing here protects the student's view.

pub mod gates;
pub mod noisy_argmax;
