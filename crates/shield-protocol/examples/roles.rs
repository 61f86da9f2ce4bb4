//! An election between a student, a server and five teachers, each with its own folder of files.
//!
//! ```console
//! $ cargo run --release -p shield-protocol --example roles
//! ```

use std::error::Error;
use std::fs;
use std::ops::ControlFlow;

use rand::SeedableRng;
use rand::rngs::StdRng;
use shield_core::Class;
use shield_core::Watch;
use shield_protocol::{ElectionFile, Inputs, aggregate, cast, make_keys, reveal};

const ELECTION: &str = r#"
name = "birds"
group = "zoos"
samples = 3
classes = 4
polynomial = "2X^2+X"
quorum = 3
teachers = ["anna", "bela", "cora", "dina", "ella"]
"#;

/// What each teacher thinks of the three samples; Cora does not know the second.
const VOTES: [(&str, [Option<u16>; 3]); 5] = [
    ("anna", [Some(0), Some(3), Some(1)]),
    ("bela", [Some(0), Some(3), Some(2)]),
    ("cora", [Some(0), None, Some(1)]),
    ("dina", [Some(0), Some(3), Some(1)]),
    ("ella", [Some(1), Some(2), Some(1)]),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut rng = StdRng::from_os_rng();
    let election = ElectionFile::parse(ELECTION)?.plan();
    let folder = tempfile::tempdir()?;
    let (student, server) = (folder.path().join("student"), folder.path().join("server"));
    fs::create_dir_all(server.join("ballots"))?;

    let keys = make_keys(&election, &student, &mut rng)?.files;
    for (teacher, votes) in VOTES {
        let votes = votes.map(|vote| vote.map(Class));
        let ballot = server.join("ballots").join(format!("{teacher}.ballot"));
        cast(&election, &keys.public, teacher, &votes, &ballot, &mut rng)?;
    }
    let (ballots, results) = (server.join("ballots"), server.join("results.bin"));
    let watch = Watch::new(|now| {
        eprintln!("server: {}, {} of {}", now.stage, now.done, now.of);
        ControlFlow::Continue(())
    });
    let inputs = Inputs::new(&election, &keys.evaluation, &ballots);
    aggregate(&inputs, &results, None, &mut rng, &watch)?;

    let labels = reveal(&election, &keys.secret, &results)?;
    for (sample, label) in labels.as_slice().iter().enumerate() {
        let label = label.map_or("none".to_owned(), |class| class.to_string());
        println!("sample {}: class {label}", sample + 1);
    }
    Ok(())
}
