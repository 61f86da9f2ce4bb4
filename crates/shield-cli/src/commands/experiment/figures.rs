//! The figures.

use super::Findings;
use super::folder::Folder;
use super::report::Results;
use super::study::Study;
use crate::failure::Failure;

pub(super) fn draw(
    _folder: &Folder,
    _study: &Study,
    _findings: &Findings,
    _results: &Results,
) -> Result<(), Failure> {
    Ok(())
}
