//! Opens a file or standard input, unpacks it, and tells by its first bytes what it is.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, Write};
use std::path::Path;

use super::problem::FileProblem;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Text,
    Npy,
    Npz,
    Parquet,
    /// Arrow's file format, which is Feather's second version.
    ArrowFile,
    ArrowStream,
}

/// What is read, from its first byte.
pub(super) struct Source {
    pub(super) content: Content,
    pub(super) reader: Box<dyn Read>,
    /// How many bytes there are, where that is known.
    pub(super) length: Option<u64>,
    /// The file itself, where it is neither packed nor standard input.
    file: Option<File>,
}

/// As many bytes as it takes to tell.
const MAGIC: u64 = 8;

impl Source {
    /// `-` is standard input.
    pub(super) fn open(path: &Path) -> Result<Self, FileProblem> {
        if path == Path::new("-") {
            return Self::of(Box::new(io::stdin().lock()), None, None, path);
        }
        refuse_by_name(path)?;
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(FileProblem::Table("this is a folder; give a file".to_owned()));
        }
        // A pipe has no length.
        let length = metadata.is_file().then_some(metadata.len());
        let again = if metadata.is_file() { Some(file.try_clone()?) } else { None };
        Self::of(Box::new(file), length, again, path)
    }

    fn of(
        reader: Box<dyn Read>,
        length: Option<u64>,
        file: Option<File>,
        path: &Path,
    ) -> Result<Self, FileProblem> {
        let (magic, reader) = peek(reader)?;
        if magic.is_empty() {
            return Err(FileProblem::Empty);
        }
        if !magic.starts_with(b"\x1f\x8b") {
            let content = content_of(&magic, path)?;
            return Ok(Self { content, reader, length, file });
        }
        let unpacked = Unpacked(flate2::read::MultiGzDecoder::new(reader));
        let (magic, reader) = peek(Box::new(unpacked))?;
        if magic.is_empty() {
            return Err(FileProblem::Empty);
        }
        Ok(Self { content: content_of(&magic, path)?, reader, length: None, file: None })
    }

    /// The bytes as a file, for formats that are read from their end. What came packed or through a
    /// pipe goes to a temporary file, which has no name and goes away by itself.
    pub(super) fn into_file(mut self) -> Result<File, FileProblem> {
        let mut file = if let Some(file) = self.file {
            file
        } else {
            let mut file = tempfile::tempfile()?;
            io::copy(&mut self.reader, &mut file)?;
            file.flush()?;
            file
        };
        file.rewind()?;
        Ok(file)
    }
}

/// The first bytes, and a reader that has them still.
fn peek(mut reader: Box<dyn Read>) -> Result<(Vec<u8>, Box<dyn Read>), FileProblem> {
    let mut magic = Vec::new();
    reader.by_ref().take(MAGIC).read_to_end(&mut magic)?;
    Ok((magic.clone(), Box::new(Cursor::new(magic).chain(reader))))
}

/// Names the kind of file in the errors of unpacking.
struct Unpacked<R>(R);

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| {
            let text = format!("not a whole gzip file: {error}; copy or pack it again");
            io::Error::new(error.kind(), text)
        })
    }
}

fn content_of(magic: &[u8], path: &Path) -> Result<Content, FileProblem> {
    let foreign = |what, remedy| Err(FileProblem::Foreign { what, remedy });
    match magic {
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Ok(Content::Npy),
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Ok(Content::Npz),
        [b'P', b'A', b'R', b'1', ..] => Ok(Content::Parquet),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Ok(Content::ArrowFile),
        [0xff, 0xff, 0xff, 0xff, ..] => Ok(Content::ArrowStream),
        [b'F', b'E', b'A', b'1', ..] => foreign(
            "Feather of version 1",
            "save it again with a current pandas or pyarrow, which write version 2",
        ),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => foreign(
            "text in UTF-16",
            "save it in UTF-8 (in Excel: \"CSV UTF-8\", not \"Unicode text\")",
        ),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            foreign("a file packed by zstd", "unpack it first: unzstd FILE")
        }
        [b'B', b'Z', b'h', ..] => {
            foreign("a file packed by bzip2", "unpack it first: bunzip2 FILE")
        }
        [0xfd, b'7', b'z', b'X', b'Z', ..] => {
            foreign("a file packed by xz", "unpack it first: unxz FILE")
        }
        [0x89, b'H', b'D', b'F', ..] => foreign(
            "HDF5",
            "save the array alone: np.save(\"votes.npy\", np.asarray(file[\"votes\"]))",
        ),
        [0x80, 2..=5, ..] => foreign(
            "a Python pickle",
            "it could run any program; save the array with np.save(\"votes.npy\", array)",
        ),
        [0xd0, 0xcf, 0x11, 0xe0, ..] => foreign("an Excel workbook", EXCEL),
        [b'{' | b'[', ..] => foreign(
            "JSON",
            "write a row per sample as .csv, or np.save(\"votes.npy\", np.array(rows))",
        ),
        _ => match ending(path).as_str() {
            "npy" => Ok(Content::Npy),
            "npz" | "zip" => {
                Err(not_what_it_says("an .npz archive", "np.savez(path, votes=array)"))
            }
            "parquet" | "pq" => Err(not_what_it_says("Parquet", "frame.to_parquet(path)")),
            "feather" | "arrow" | "ipc" => {
                Err(not_what_it_says("Feather or Arrow", "frame.to_feather(path)"))
            }
            _ => Ok(Content::Text),
        },
    }
}

const EXCEL: &str = "save the sheet as .csv (in Excel: \"CSV UTF-8\"); the name must end in .npy \
    or .csv, .npz, .parquet or .feather, also with .gz";

fn not_what_it_says(kind: &str, remedy: &str) -> FileProblem {
    FileProblem::Table(format!("it does not begin like {kind}; save it again with {remedy}"))
}

/// The end of a name, in small letters, without `.gz`.
fn ending(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map_or(String::new(), |(_, ending)| ending.to_owned())
}

/// Files of other programs, whether they are there or not.
fn refuse_by_name(path: &Path) -> Result<(), FileProblem> {
    let (what, remedy) = match ending(path).as_str() {
        "xlsx" | "xls" | "xlsm" | "ods" => ("a spreadsheet", EXCEL),
        "rds" | "rda" | "rdata" => {
            ("a file of R", "write.csv(votes, \"votes.csv\") writes one that can")
        }
        "pt" | "pth" => (
            "a file of PyTorch",
            "np.save(\"votes.npy\", tensor.cpu().numpy()) writes one that can",
        ),
        "mat" => ("a file of MATLAB", "writematrix(votes, 'votes.csv') writes one that can"),
        _ => return Ok(()),
    };
    Err(FileProblem::Foreign { what, remedy })
}
