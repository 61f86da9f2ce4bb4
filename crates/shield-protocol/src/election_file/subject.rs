//! The keys of an election file that say what is voted on: classes and samples.

use std::path::Path;

use shield_core::{ClassNames, Classes};

use super::reader::Reader;
use super::usize_of;
use crate::samples::{SampleList, SamplesDigest};

/// The classes, with their names if they have any.
pub(super) fn classes(reader: &mut Reader) -> Option<(Classes, Option<ClassNames>)> {
    if !reader.is_list("classes") {
        let counted = reader.whole("classes", |count| Classes::new(usize_of(count)))?;
        return Some((counted, None));
    }
    let texts = reader.texts("classes")?;
    match ClassNames::new(texts) {
        Ok(names) => Some((names.classes(), Some(names))),
        Err(error) => {
            reader.mistake_at("classes", format!("`classes`: {error}"));
            None
        }
    }
}

/// How many samples there are, and the digest of their list if there is one.
///
/// A list is named by a file beside the election file; what the program itself writes has its
/// length and digest instead, so that it means the same everywhere.
pub(super) fn samples(
    reader: &mut Reader,
    folder: Option<&Path>,
) -> Option<(usize, Option<SamplesDigest>)> {
    if !reader.has("samples_file") {
        let count = reader.whole("samples", |count| Ok(usize_of(count)));
        let digest = reader.optional("samples_digest", Reader::text::<SamplesDigest>);
        return Some((count?, digest));
    }
    let named = reader.text::<String>("samples_file");
    for key in ["samples", "samples_digest"] {
        if reader.has(key) {
            let _ = reader.take(key);
            let problem = format!("`{key}` is told by `samples_file`; remove one of them");
            reader.mistake_at(key, problem);
        }
    }
    let Some(folder) = folder else {
        let problem = "`samples_file` names a file that is not here; give the election file that \
            `shield election fetch election` or the operator's program wrote";
        reader.mistake_at("samples_file", problem.to_owned());
        return None;
    };
    match SampleList::read(&folder.join(named?)) {
        Ok(list) => Some((list.ids().len(), Some(list.digest()))),
        Err(error) => {
            reader.mistake_at("samples_file", format!("`samples_file`: {error}"));
            None
        }
    }
}
