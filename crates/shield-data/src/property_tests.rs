//! Whatever is in a file: what was written comes back, and nothing ends the program.

use std::fs;

use proptest::prelude::*;

use super::*;

/// A table of votes among `classes`, -1 for abstentions.
fn tables(classes: i32) -> impl Strategy<Value = Vec<Vec<i32>>> {
    (1..7usize, 2..6usize).prop_flat_map(move |(rows, columns)| {
        prop::collection::vec(prop::collection::vec(-1..classes, columns), rows)
    })
}

fn votes_of(rows: &[Vec<i32>], classes: usize) -> Votes {
    let vote = |&cell: &i32| u16::try_from(cell).ok().map(Class);
    let rows = rows.iter().map(|row| row.iter().map(vote).collect::<Vec<_>>());
    Votes::from_rows(Classes::new(classes).unwrap(), rows).unwrap()
}

/// Reads bytes in every way there is.
fn read_all(name: &str, bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    for names in [None, "cat,dog".parse().ok()] {
        let options = ReadOptions { names, ..ReadOptions::default() };
        let votes = understand_votes(&path, &options);
        let histograms = understand_histograms(&path, &options);
        if let (Ok(votes), Ok(histograms)) = (votes, histograms) {
            assert_eq!(Histograms::from(&votes.value), histograms.value);
        }
        let _ = understand_labels(&path, &options);
        let _ = understand_counts(&path, &options);
        let _ = understand_ballot(&path, &options, Some(1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 256,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Any separator, with header and ids or without, quoted or not, as 4 or 4.0.
    #[test]
    fn tables_come_back_in_every_dialect(
        rows in tables(9),
        separator in prop::sample::select(vec![",", ";", "\t", "|"]),
        header in any::<bool>(),
        ids in any::<bool>(),
        quotes in any::<bool>(),
        decimals in any::<bool>(),
    ) {
        let mut text = String::new();
        let mut line = |cells: Vec<String>| {
            let quoted = |cell: &String| if quotes { format!("\"{cell}\"") } else { cell.clone() };
            text += &cells.iter().map(quoted).collect::<Vec<_>>().join(separator);
            text += "\n";
        };
        let columns = rows[0].len();
        if header {
            let id = ids.then(|| "id".to_owned());
            line(id.into_iter().chain((0..columns).map(|t| format!("teacher {t}"))).collect());
        }
        for (number, row) in rows.iter().enumerate() {
            let id = ids.then(|| format!("img{number}.png"));
            let cell = |&cell: &i32| match (cell, decimals) {
                (-1, _) => String::new(),
                (cell, true) => format!("{cell}.0"),
                (cell, false) => cell.to_string(),
            };
            line(id.into_iter().chain(row.iter().map(cell)).collect());
        }
        // An empty cell before 0, 1, ... is how a data frame heads its columns.
        let counts = |row: &[i32]| row.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        prop_assume!(header || ids || rows[0][0] >= 0 || !counts(&rows[0][1..]));
        // A single row of abstentions tells nothing about the others.
        prop_assume!(rows.iter().flatten().any(|&cell| cell >= 0));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("votes.csv");
        fs::write(&path, &text).unwrap();
        let found = read_votes(&path, Classes::new(9).ok());
        prop_assert_eq!(found.unwrap(), votes_of(&rows, 9), "{}", text);
    }

    #[test]
    fn named_classes_come_back(rows in tables(4)) {
        let names = ["=ant", "-bee", "cat, wild", "\"dog\""];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("votes.csv");
        let names = ClassNames::new(names.map(str::to_owned)).unwrap();
        let votes = votes_of(&rows, 4).named(names.clone()).unwrap();
        write_votes(&path, &votes).unwrap();
        // A spreadsheet would take them for formulas.
        let text = fs::read_to_string(&path).unwrap();
        prop_assert!(!text.split([',', '\n']).any(|cell| cell.starts_with(['=', '-'])), "{text}");
        let options = ReadOptions { names: Some(names), ..ReadOptions::default() };
        prop_assert_eq!(understand_votes(&path, &options).unwrap().value, votes);
    }

    #[test]
    fn bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for name in ["v.csv", "v.npy", "v.npz"] {
            read_all(name, &bytes);
        }
    }

    #[test]
    fn text_never_panics(text in "[0-9,;|\t\"\r\n .#eNa-cx?+-]{0,80}") {
        read_all("v.csv", text.as_bytes());
    }

    #[test]
    fn damaged_arrays_never_panic(place in 0..200usize, byte in any::<u8>(), cut in 0..300usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("votes.npy");
        write_votes(&path, &votes_of(&[vec![0, 1, 2], vec![2, -1, 0]], 3)).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let place = place % bytes.len();
        bytes[place] = byte;
        bytes.truncate(cut.max(1));
        read_all("v.npy", &bytes);
    }
}
