//! NumPy's archives of several arrays: `np.savez` and `np.savez_compressed`.

use std::borrow::Cow;
use std::fs::File;

use zip::ZipArchive;

use super::columns::Columns;
use super::intake::Intake;
use super::npy;
use super::problem::{FileProblem, quoted};

pub(super) fn read(
    file: File,
    intake: &mut Intake,
    columns: Columns,
    wanted: &str,
) -> Result<(), FileProblem> {
    let damaged = |error: zip::result::ZipError| {
        FileProblem::Table(format!("not a whole .npz archive: {error}; save it again"))
    };
    let mut archive = ZipArchive::new(file).map_err(damaged)?;
    let names: Vec<String> = archive
        .file_names()
        .map(|name| name.map(Cow::into_owned))
        .collect::<Result<_, _>>()
        .map_err(damaged)?;
    if names.iter().any(|name| name == "[Content_Types].xml") {
        return Err(FileProblem::Foreign {
            what: "an Excel workbook",
            remedy: "save the sheet as .csv (in Excel: \"CSV UTF-8\")",
        });
    }
    let is_array = |name: &&String| name.strip_suffix(".npy").is_some();
    let arrays: Vec<&String> = names.iter().filter(is_array).collect();
    let named = arrays.iter().find(|name| name.strip_suffix(".npy") == Some(wanted));
    let chosen = match (named, arrays.as_slice()) {
        (Some(name), _) => (*name).clone(),
        (None, [only]) => (*only).clone(),
        (None, []) => {
            return Err(FileProblem::Table(format!(
                "there is no array in the archive; save it with np.savez(path, {wanted}=array)"
            )));
        }
        (None, several) => {
            let found: Vec<String> =
                several.iter().take(8).map(|name| quoted(name.trim_end_matches(".npy"))).collect();
            return Err(FileProblem::Table(format!(
                "the archive holds the arrays {}, none of which is called `{wanted}`; save it \
                 with np.savez(path, {wanted}=array)",
                found.join(", ")
            )));
        }
    };
    let entry = archive.by_name(&chosen).map_err(damaged)?;
    let length = entry.size();
    npy::read(entry, Some(length), intake, columns)
}
