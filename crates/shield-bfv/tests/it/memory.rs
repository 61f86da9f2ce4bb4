//! Memory does not grow with the number of teachers: a few ballots plus the accumulators.

#![expect(unsafe_code, reason = "an allocator that counts has to be one")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield_bfv::{BfvBallot, BfvEngine};
use shield_core::engine::{Ballot, BallotBox, BallotBoxError, Engine, Presence};
use shield_core::{Class, Classes, Election, Seed, Setting};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A box on a slow disk: every ballot is read anew when it is opened.
struct Streamed(BfvBallot);

impl BallotBox<BfvBallot> for Streamed {
    fn presence(&self, _: u32) -> Result<Presence, BallotBoxError> {
        Ok(self.0.presence().clone())
    }

    fn open(&self, _: u32) -> Result<Cow<'_, BfvBallot>, BallotBoxError> {
        Ok(Cow::Owned(self.0.clone()))
    }
}

/// The most memory in use during one aggregation, keys and one ballot included, and the size of a
/// ballot.
fn peak(teachers: usize) -> (usize, usize) {
    let classes = Classes::new(10).expect("classes");
    let setting = Setting { polynomial: "2X^4+X".parse().expect("rounds"), ..Setting::default() };
    let election = Election::new(teachers, classes, 500, setting).expect("an election");
    let engine = BfvEngine::new(election).expect("a plan");
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let votes = vec![Some(Class(1)); 500];
    let ballot = engine.encrypt(&keys.public, 0, &votes, &mut rng).expect("a ballot");
    PEAK.store(LIVE.load(Ordering::Relaxed), Ordering::Relaxed);
    let seed = Seed::from_number(1);
    let release = engine.aggregate(&keys.evaluation, 0, &Streamed(ballot), &seed);
    assert!(release.is_ok());
    let size = engine.plan().ring_degree() * engine.plan().moduli_bits().len() * 2 * 8;
    (PEAK.load(Ordering::Relaxed), size)
}

/// What the two threads may keep for later, whichever of them happened to give the memory back.
const KEPT: usize = 2 * (96 << 20);

#[test]
fn twenty_times_the_teachers_take_no_more_memory() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
    let (few, ballot) = pool.install(|| peak(60));
    let (many, _) = pool.install(|| peak(1_200));
    println!("60 teachers: {few} bytes, 1,200 teachers: {many}, a ballot: {ballot}");
    // All ballots together would be 1,140 more, nearly three times this room; draws are 12 bytes
    // each.
    let room = KEPT + 24 * ballot;
    assert!(many < few + room, "{few} bytes, then {many}");
}
