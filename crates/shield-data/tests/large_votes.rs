//! Votes of many teachers on many samples are read in little more than a byte each, and their
//! histograms in next to nothing. One test per process: the peak of memory is the process's.

#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use shield_core::Classes;
use shield_data::{ReadOptions, understand_histograms, understand_votes};

const MEBIBYTE: usize = 1 << 20;

/// The most memory that this process ever had, in bytes.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<usize>().unwrap() * 1024
}

/// Some class for each cell, without keeping any.
fn class(sample: usize, teacher: usize) -> u8 {
    u8::try_from((sample * 7 + (teacher % 13) / 9) % 10).unwrap()
}

fn write_npy(path: &Path, samples: usize, teachers: usize) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let header =
        format!("{{'descr': '|i1', 'fortran_order': False, 'shape': ({samples}, {teachers}), }}\n");
    file.write_all(b"\x93NUMPY\x01\x00").unwrap();
    file.write_all(&u16::try_from(header.len()).unwrap().to_le_bytes()).unwrap();
    file.write_all(header.as_bytes()).unwrap();
    for sample in 0..samples {
        let row: Vec<u8> = (0..teachers).map(|teacher| class(sample, teacher)).collect();
        file.write_all(&row).unwrap();
    }
    file.flush().unwrap();
}

fn write_csv(path: &Path, samples: usize, teachers: usize) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    for sample in 0..samples {
        let row: Vec<u8> =
            (0..teachers).flat_map(|teacher| [class(sample, teacher) + b'0', b',']).collect();
        file.write_all(&row[..row.len() - 1]).unwrap();
        file.write_all(b"\n").unwrap();
    }
    file.flush().unwrap();
}

fn check(samples: usize, teachers: usize) {
    let folder = tempfile::tempdir().unwrap();
    let options = ReadOptions { classes: Classes::new(10).ok(), ..ReadOptions::default() };
    let (npy, csv) = (folder.path().join("votes.npy"), folder.path().join("votes.csv"));
    write_npy(&npy, samples, teachers);
    write_csv(&csv, samples, teachers);
    let small = 96 * MEBIBYTE + samples * 200;

    let before = peak();
    for path in [&npy, &csv] {
        let found = understand_histograms(path, &options).unwrap().value;
        assert_eq!(found.as_slice().len(), samples);
        assert_eq!(found.teachers(), teachers);
    }
    let histograms = peak() - before;
    println!("histograms: {} MiB more", histograms / MEBIBYTE);
    assert!(histograms < small, "{histograms}");

    for path in [&npy, &csv] {
        let before = peak();
        let votes = understand_votes(path, &options).unwrap().value;
        let more = peak() - before;
        println!("{}: {} MiB more", path.display(), more / MEBIBYTE);
        let (sample, teacher) = (samples - 1, teachers - 1);
        let vote = votes.vote(sample, teacher).unwrap().0;
        assert_eq!(vote, u16::from(class(sample, teacher)));
        // A byte per vote, and while the table grows the system may hold some of it twice.
        assert!(more < samples * teachers * 5 / 4 + small, "{more}");
    }
}

#[test]
fn little_more_than_a_byte_per_vote() {
    check(5_000, 8_000);
}

#[test]
#[ignore = "writes 3 GB and takes a minute or more"]
fn ten_thousand_teachers_on_a_hundred_thousand_samples() {
    check(100_000, 10_000);
}
