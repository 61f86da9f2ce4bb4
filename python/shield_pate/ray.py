"""Aggregation on a Ray cluster: batches as tasks, or shards of teachers that are added up.

    python -m shield_pate.ray JOB [--address auto] [--shards-of-teachers N] [--out RESULTS]

JOB is what `shield job freeze` or `shield_pate.Job.freeze` wrote. Stopped at any point, the same
command goes on where it was: batches are pure, and those that are there are not computed again.

The seed never travels: workers read it from the file `seed` of the job's folder or, on nodes that
do not see that folder, from the file that SHIELD_SEED_FILE names there. Everything else of the job
goes to each node once, through Ray's object store.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import importlib
import os
import resource
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._job import Job, Packed, Task, shards as cut

if TYPE_CHECKING:
    from collections.abc import Sequence

SEED_VARIABLE = "SHIELD_SEED_FILE"
_FILES = ("job.toml", "election.toml", "evaluation.key", "ballots.index")
_RETRIES = 10


def _ray() -> Any:
    """Ray itself, which is imported only when it is needed."""
    return importlib.import_module("ray")


def _content(path: Path) -> dict[str, bytes]:
    """A job without its seed."""
    return {name: (path / name).read_bytes() for name in _FILES if (path / name).exists()}


@functools.lru_cache(maxsize=4)
def _place(path: str, digest: str, content: Any) -> str:
    """Where a worker finds the job: its own folder, or a copy that the node's workers share."""
    here = Path(path)
    try:
        if hashlib.sha256((here / "job.toml").read_bytes()).hexdigest() == digest:
            return path
    except OSError:
        pass
    seed = os.environ.get(SEED_VARIABLE)
    if seed is None:
        raise RuntimeError(
            f"this node does not see {path}, and {SEED_VARIABLE} names no seed; share the folder,"
            " or put the job's `seed` on each node as a file of mode 0600 and name it there"
        )
    copy = Path(tempfile.gettempdir()) / f"shield-job-{os.getuid()}-{digest[:16]}"
    copy.mkdir(mode=0o700, exist_ok=True)
    # Its name can be guessed: a folder that somebody else put there is not to be used.
    found = os.lstat(copy)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise RuntimeError(
            f"{copy} is not a folder that only you can read; remove it, or set TMPDIR to another"
        )
    for name, bytes_ in _ray().get(content).items():
        if not (copy / name).exists():
            unnamed = copy / f".{name}.{os.getpid()}"
            unnamed.write_bytes(bytes_)
            unnamed.rename(copy / name)
    # Two workers of a node may get here at once: both would put the same there.
    with contextlib.suppress(FileExistsError):
        (copy / "seed").symlink_to(seed)
    return str(copy)


def _here(task: Task, digest: str, content: list[Any]) -> Task:
    place = _place(task.job, digest, content[0])
    return Task(place, task.batch, task.teachers, task.options)


Made = tuple[Packed, dict[int, int]]
"""What a task made, and the most memory, in bytes, of each worker that had a part in it."""


def _made(content: Packed, *parts: Made) -> Made:
    used = {os.getpid(): 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}
    for _, theirs in parts:
        _note(used, theirs)
    return content, used


def _note(used: dict[int, int], more: dict[int, int]) -> None:
    for worker, memory in more.items():
        used[worker] = max(memory, used.get(worker, 0))


def _compute(task: Task, digest: str, content: list[Any], threads: int) -> Made:
    return _made(_here(task, digest, content)._compute(threads))


def _merge(task: Task, digest: str, content: list[Any], threads: int, *parts: Made) -> Made:
    here = _here(task, digest, content)
    return _made(here._merge(*(part[0] for part in parts), threads=threads), *parts)


def _release(task: Task, digest: str, content: list[Any], threads: int, whole: Made) -> Made:
    return _made(_here(task, digest, content).release(whole[0], threads=threads), whole)


def results(
    job: Job,
    todo: Sequence[int],
    *,
    address: str | None = None,
    shards: int = 1,
    threads: int = 1,
    workers: dict[int, int] | None = None,
) -> Iterator[tuple[int, bytes]]:
    """Batches as they are finished. `workers`, where given, learns the peak memory of each."""
    ray = _ray()
    if not ray.is_initialized():
        ray.init(address=address, include_dashboard=False, log_to_driver=False)
    path = job.path.absolute()
    digest = hashlib.sha256((path / "job.toml").read_bytes()).hexdigest()
    # In a list, so that Ray hands the reference over and a node fetches it only if it needs it.
    content = [ray.put(_content(path))]
    remote = functools.partial(ray.remote, num_cpus=threads, max_retries=_RETRIES)
    compute, merge, release = remote()(_compute), remote()(_merge), remote()(_release)
    parts = cut(len(job.election.teachers), shards)

    def start(batch: int) -> Any:
        task = job.task(batch)
        if len(parts) == 1:
            return compute.remote(task, digest, content, threads)
        level = [
            compute.remote(job.task(batch, range(*part)), digest, content, threads)
            for part in parts
        ]
        while len(level) > 1:
            pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
            level = [
                merge.remote(task, digest, content, threads, *pair) if len(pair) > 1 else pair[0]
                for pair in pairs
            ]
        return release.remote(task, digest, content, threads, level[0])

    cores = max(1, int(ray.cluster_resources().get("CPU", 1)) // threads)
    # Enough to keep every core busy, and no more results in the store than that.
    ahead = max(2, 2 * cores // len(parts))
    waiting: dict[Any, int] = {}
    left = iter(todo)
    while True:
        while len(waiting) < ahead and (batch := next(left, None)) is not None:
            waiting[start(batch)] = batch
        if not waiting:
            return
        [finished], _ = ray.wait(list(waiting), num_returns=1)
        batch = waiting.pop(finished)
        made, used = ray.get(finished)
        if workers is not None:
            _note(workers, used)
        yield batch, made


def main(arguments: list[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m shield_pate.ray",
        description="Aggregates a frozen job on a Ray cluster. Run again, it goes on where it was.",
    )
    parser.add_argument("job", metavar="JOB", help="folder of the job")
    parser.add_argument("--address", help="the cluster; `auto` finds it [default: start one here]")
    parser.add_argument(
        "--shards-of-teachers", metavar="N", type=int, default=1,
        help="cut the teachers of each batch into N shards [default: 1]",
    )
    parser.add_argument(
        "--threads", metavar="T", type=int, default=1, help="threads of a task [default: 1]"
    )
    parser.add_argument("--out", metavar="FILE", help="write the results once all is computed")
    args = parser.parse_args(arguments)
    try:
        job = Job.resume(args.job)
        todo = job.missing
        start = time.monotonic()
        workers: dict[int, int] = {}
        print(f"{len(todo)} of {job.batches} batches to compute", file=sys.stderr)
        found = results(
            job, todo, address=args.address, shards=args.shards_of_teachers,
            threads=args.threads, workers=workers,
        )
        for done, (batch, release) in enumerate(found, start=1):
            job.put(batch, release)
            left = (time.monotonic() - start) / done * (len(todo) - done)
            print(f"batch {batch}: {done} of {len(todo)}, {left:.0f} s left", file=sys.stderr)
        if workers:
            peak = max(workers.values()) / 2**20
            print(f"{len(workers)} workers, at most {peak:.0f} MiB each", file=sys.stderr)
        if args.out:
            epsilon = job.finish(args.out)
            print(f"{args.out}: epsilon {epsilon:.4f}, proven for all votes", file=sys.stderr)
    except (ValueError, OSError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    # By its own name: workers could not find what belongs to `__main__`.
    from shield_pate.ray import main as run

    run()
