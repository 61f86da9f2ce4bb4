//! Long work: without the GIL, on threads of this process, told to Python and ended by Ctrl-C.

use std::any::Any;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use shield_core::Watch;

use crate::errors::refuse;

/// How often Python is asked for signals and told of progress.
const TICK: Duration = Duration::from_millis(50);

/// What work tells its caller, and hears from it.
#[derive(Debug, Default)]
struct Told {
    /// How much is done, and how much there is.
    now: Mutex<(u64, u64)>,
    cancelled: AtomicBool,
}

impl Told {
    fn now(&self) -> MutexGuard<'_, (u64, u64)> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A watch that notes what it hears, and stops the work once nobody waits for it.
    fn watch(self: Arc<Self>) -> Watch {
        Watch::new(move |now| {
            *self.now() = (now.done, now.of);
            if self.cancelled.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
    }
}

/// The pools of one process, by their number of threads.
struct Pools {
    process: u32,
    pools: HashMap<usize, Arc<ThreadPool>>,
}

/// Locked only while the GIL is held, and a fork happens under the GIL: a child never finds it
/// locked.
static POOLS: Mutex<Option<Pools>> = Mutex::new(None);

/// The pool of this process with so many threads. Threads do not survive a fork, so a child makes
/// its own; the parent's is left alone there, not dropped, for that would wait for its threads.
fn pool(_py: Python<'_>, threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or(available);
    if !(1..=4096).contains(&threads) {
        return Err(refuse(format!("threads is {threads}; it must be from 1 to 4096")));
    }
    let mut known = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some(stale) = known.take_if(|pools| pools.process != process) {
        std::mem::forget(stale);
    }
    let pools = known.get_or_insert_with(|| Pools { process, pools: HashMap::new() });
    if let Some(pool) = pools.pools.get(&threads) {
        return Ok(Arc::clone(pool));
    }
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    let made = builder.thread_name(|i| format!("shield-{i}")).build().map_err(refuse)?;
    let made = Arc::new(made);
    pools.pools.insert(threads, Arc::clone(&made));
    Ok(made)
}

/// Leaves a pool to the work that nobody waits for any more: the next call gets threads of its own
/// instead of waiting for that work to end. The old ones end with it.
fn leave(_py: Python<'_>, pool: &Arc<ThreadPool>) {
    let mut known = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pools) = &mut *known {
        pools.pools.retain(|_, other| !Arc::ptr_eq(pool, other));
    }
}

/// Does some work on that many threads, and waits for it without the GIL. `progress` is called
/// with what is done and how much there is, by this thread.
///
/// Ctrl-C returns to Python at once. Work that watches ends soon after; other work goes on in its
/// threads until it is done, and its result is dropped.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> T + Send + 'static,
) -> PyResult<T> {
    let pool = pool(py, threads)?;
    let heard = Arc::new(Told::default());
    let (sender, mut receiver) = sync_channel(1);
    let theirs = Arc::clone(&heard).watch();
    pool.spawn(move || {
        let found = catch_unwind(AssertUnwindSafe(|| work(&theirs)));
        // Nobody waits after Ctrl-C.
        let _ = sender.send(found);
    });
    let mut told = (0, 0);
    let tell = |told: &mut (u64, u64)| -> PyResult<()> {
        let now = *heard.now();
        if now != *told
            && let Some(progress) = progress
        {
            progress.call1(now)?;
        }
        *told = now;
        Ok(())
    };
    let cancelling = |error: PyErr| {
        heard.cancelled.store(true, Ordering::Relaxed);
        leave(py, &pool);
        error
    };
    loop {
        let waiting = &mut receiver;
        match py.detach(move || waiting.recv_timeout(TICK)) {
            Ok(Ok(found)) => {
                tell(&mut told)?;
                return Ok(found);
            }
            Ok(Err(panic)) => return Err(panicked(&*panic)),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("a thread of the package has ended"));
            }
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().and_then(|()| tell(&mut told)).map_err(cancelling)?;
            }
        }
    }
}

fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
    PyRuntimeError::new_err(format!("a mistake in shield_pate, please report it: {text}"))
}
