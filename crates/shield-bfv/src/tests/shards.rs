//! Shards of teachers: the bytes that one machine would compute.

use rand::SeedableRng;
use rand::rngs::StdRng;
use shield_core::engine::{Encoding, Engine, MemoryBallotBox, ShardError, Shards};
use shield_core::{Classes, Election, Polynomial, Seed, Setting, synthetic};

use crate::BfvEngine;

/// Three shards of neighbours, merged in either order, give the release of all ballots; with a
/// teacher without a ballot, and for every coding that a small election can have.
#[test]
fn shards_add_up_to_the_same_bytes() {
    for classes in [3, 40] {
        let (teachers, samples) = (11, 6);
        let polynomial: Polynomial = "2X^2+X".parse().unwrap();
        let setting = Setting { polynomial, ..Setting::default() };
        let classes = Classes::new(classes).unwrap();
        let (votes, _) = synthetic::votes(teachers, classes, samples, 5).unwrap();
        let election = Election::new(teachers, classes, samples, setting).unwrap();
        let engine = BfvEngine::new(election).unwrap();
        let mut rng = StdRng::seed_from_u64(3);
        let keys = engine.generate_keys(&mut rng).unwrap();
        let ballots = (0..teachers).map(|teacher| {
            let own = votes.teacher(teacher, 0..samples);
            (teacher != 4).then(|| engine.encrypt(&keys.public, 0, &own, &mut rng).unwrap())
        });
        let ballots = MemoryBallotBox::new(samples, ballots.collect());
        let (key, seed) = (&keys.evaluation, Seed::from_number(9));
        let whole = engine.aggregate(key, 0, &ballots, &seed).unwrap();
        let shards: Vec<Vec<u8>> = [0..5, 5..6, 6..11]
            .map(|range| engine.shard(key, 0, &ballots, &seed, range).unwrap())
            .into();
        let merge = |parts: &[&[u8]]| engine.merge(key, 0, parts).unwrap();
        let left = merge(&[&merge(&[&shards[0], &shards[1]]), &shards[2]]);
        let right = merge(&[&shards[0], &merge(&[&shards[1], &shards[2]])]);
        assert_eq!(left, right);
        let release = engine.release(key, 0, &ballots, &seed, &left).unwrap();
        assert_eq!(engine.encode_release(&release), engine.encode_release(&whole));

        let refused = engine.merge(key, 0, &[&shards[0], &shards[2]]);
        assert!(matches!(refused, Err(ShardError::Gap { end: 5, start: 6 })), "{refused:?}");
        let refused = engine.release(key, 0, &ballots, &seed, &shards[0]);
        assert!(matches!(refused, Err(ShardError::Incomplete { .. })));
        let refused = engine.shard(key, 0, &ballots, &seed, 4..12);
        assert!(matches!(refused, Err(ShardError::Teachers { teachers: 11, .. })));
        for bad in [&left[..left.len() - 1], &[], &shards[0][1..]] {
            let refused = engine.merge(key, 0, &[bad]);
            assert!(matches!(refused, Err(ShardError::Damaged)));
        }
        let mut flipped = left.clone();
        flipped[200] ^= 1;
        let refused = engine.release(key, 0, &ballots, &seed, &flipped);
        assert!(matches!(refused, Err(ShardError::Damaged)));
    }
}
