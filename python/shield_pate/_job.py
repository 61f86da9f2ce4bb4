"""One aggregation that any engine room can compute: threads, Ray, Dask, or any executor."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Union

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._native import Election, ShieldError
from ._progress import Progress, reporting
from ._store import FsspecStore, store_of

__all__ = ["Job", "Task"]

PathLike = Union[str, "os.PathLike[str]"]
Packed = Union[bytes, "NDArray[np.uint8]"]
"""A shard."""


@functools.lru_cache(maxsize=4)
def _opened(
    path: str, options: tuple[tuple[str, Any], ...], process: int
) -> tuple[_native.Job, FsspecStore | None]:
    """A job in this process: its key is read and decoded once. A fork opens it again."""
    store = store_of(_native.Job.ballots_of(path), dict(options))
    return _native.Job.open(path, store), store


@dataclass(frozen=True)
class Task:
    """A piece of a job: a batch, or what some teachers add to one. A pure function.

    It pickles as the place of its job and what to compute: neither the seed nor the key travels
    with it. A worker reads both from the job's folder.
    """

    job: str
    batch: int
    teachers: tuple[int, int] | None = None
    """The teachers of a shard: the first, and the first after the last."""
    options: tuple[tuple[str, Any], ...] = ()

    def _opened(self) -> tuple[_native.Job, FsspecStore | None]:
        return _opened(self.job, self.options, os.getpid())

    def __call__(self, *, threads: int = 1) -> bytes:
        """Computes it: the same bytes, whoever does it."""
        made = self._compute(threads)
        return made if isinstance(made, bytes) else made.tobytes()

    def merge(self, *shards: Packed, threads: int = 1) -> bytes:
        """Shards of neighbours, in order, as one."""
        return self._merge(*shards, threads=threads).tobytes()

    def release(self, whole: Packed, *, threads: int = 1) -> bytes:
        """The batch, from the shard of all teachers."""
        return self._opened()[0].release_shards(self.batch, whole, threads)

    def _compute(self, threads: int) -> Packed:
        """A batch, or a shard as an array: clusters move those without copies."""
        job, _ = self._opened()
        if self.teachers is None:
            return job.run_batch(self.batch, threads)
        return job.run_shard(self.batch, *self.teachers, threads)

    def _merge(self, *shards: Packed, threads: int) -> NDArray[np.uint8]:
        return self._opened()[0].merge_shards(self.batch, list(shards), threads)


def shards(teachers: int, count: int) -> list[tuple[int, int]]:
    """So many shards of neighbours, as even as can be."""
    count = max(1, min(count, teachers))
    edges = [teachers * i // count for i in range(count + 1)]
    return list(zip(edges, edges[1:]))


@dataclass(frozen=True, repr=False)
class Job:
    """A frozen aggregation: made once, written down before any work, resumable.

    Its folder holds the seed of all draws (`seed`, for its owner alone): keep it on the server.
    """

    path: Path
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What fsspec needs to reach the ballots."""

    @classmethod
    def freeze(
        cls,
        election: Election,
        evaluation_key: PathLike,
        ballots: PathLike,
        out: PathLike,
        *,
        options: Mapping[str, Any] | None = None,
        progress: Progress = False,
    ) -> Job:
        """Checks the key and every ballot, draws the seed, and writes down what is to be computed.

        `ballots` is a folder, or an address that fsspec knows. The same again gives the same job; a
        second job for the same ballots is refused.
        """
        store = store_of(str(ballots), options)
        with reporting(progress, "check", " ballots") as tell:
            _native.Job.freeze(election, evaluation_key, ballots, out, store, tell)
        return cls(Path(out), MappingProxyType(dict(options or {})))

    @classmethod
    def resume(cls, path: PathLike, *, options: Mapping[str, Any] | None = None) -> Job:
        """Opens a job that was frozen, by this package or by `shield job freeze`."""
        job = cls(Path(path), MappingProxyType(dict(options or {})))
        job._native()
        return job

    def _task(self, batch: int, teachers: tuple[int, int] | None) -> Task:
        return Task(str(self.path.absolute()), batch, teachers, tuple(self.options.items()))

    def _opened(self) -> tuple[_native.Job, FsspecStore | None]:
        return self._task(0, None)._opened()

    def _native(self) -> _native.Job:
        return self._opened()[0]

    @property
    def election(self) -> Election:
        return self._native().election

    @property
    def batches(self) -> int:
        return self._native().batches

    @property
    def missing(self) -> tuple[int, ...]:
        """The batches that nobody has computed yet."""
        return self._native().missing

    @property
    def voted(self) -> int:
        """How many teachers have a ballot."""
        return self._native().voted

    @property
    def absent(self) -> tuple[str, ...]:
        """Teachers without a ballot."""
        return self._native().absent

    @property
    def store(self) -> FsspecStore | None:
        """Where the ballots are, if not in a folder; says what this process read."""
        return self._opened()[1]

    def task(self, batch: int, teachers: range | None = None) -> Task:
        """A batch, or what a shard of the teachers adds to it."""
        if teachers is not None and teachers.step != 1:
            raise ShieldError("a shard is a range of neighbours: give a range with step 1")
        return self._task(batch, None if teachers is None else (teachers.start, teachers.stop))

    def put(self, batch: int, release: bytes) -> None:
        """Adds a batch that somebody computed: checked; the same again is fine."""
        self._native().put(batch, release)

    def run(
        self,
        engine: Literal["threads", "ray", "dask"] | Executor = "threads",
        *,
        address: str | None = None,
        shards_of_teachers: int = 1,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        """Computes what is missing.

        "threads" uses this process; "ray" and "dask" a cluster at `address`, or one that they start
        here; an executor takes tasks like any other function. Tasks use one thread each there,
        unless `threads` says otherwise, and `shards_of_teachers` cuts each batch into several.
        Interrupted at any point, a second call goes on.
        """
        with reporting(progress, "aggregate", " batches") as tell:
            todo = self.missing
            results = self._results(engine, todo, address, shards_of_teachers, threads)
            if tell is not None:
                tell(0, len(todo))
            for done, (batch, release) in enumerate(results, start=1):
                self.put(batch, release)
                if tell is not None:
                    tell(done, len(todo))

    def _results(
        self,
        engine: str | Executor,
        todo: tuple[int, ...],
        address: str | None,
        count: int,
        threads: int | None,
    ) -> Iterable[tuple[int, bytes]]:
        if isinstance(engine, Executor):
            return on_executor(self, engine, todo, count, threads or 1)
        if engine == "threads":
            if count != 1:
                raise ShieldError("shards_of_teachers are for ray, dask and executors")
            return ((batch, self._native().run_batch(batch, threads)) for batch in todo)
        if engine == "ray":
            from . import ray

            return ray.results(self, todo, address=address, shards=count, threads=threads or 1)
        if engine == "dask":
            from . import dask

            return dask.results(self, todo, address=address, shards=count, threads=threads or 1)
        raise ShieldError(f"`{engine}` is not an engine; take threads, ray, dask or an executor")

    def finish(self, out: PathLike) -> float:
        """Writes the results, whole or not at all, once all batches are there; gives their
        epsilon, proven for all votes, at delta 1e-5."""
        job = self._native()
        job.finish(out)
        return job.election._cost(job.voters, 1e-5)

    def __repr__(self) -> str:
        done = self.batches - len(self.missing)
        return f"<Job {self.election.name}: {done} of {self.batches} batches, in {self.path}>"


def on_executor(
    job: Job, executor: Executor, todo: tuple[int, ...], count: int, threads: int
) -> Iterator[tuple[int, bytes]]:
    """Batches as they are finished, by any executor whose workers see the job's folder."""
    ahead = 2 * (os.cpu_count() or 1)
    waiting: dict[Future[Any], int] = {}
    left = iter(todo)
    parts = shards(len(job.election.teachers), count)
    while True:
        while len(waiting) < ahead and (batch := next(left, None)) is not None:
            if len(parts) == 1:
                waiting[executor.submit(compute, job.task(batch), threads)] = batch
                continue
            # Shards of one batch run side by side; who adds them up opens no ballot.
            tasks = [job.task(batch, range(*part)) for part in parts]
            made = [executor.submit(compute, task, threads) for task in tasks]
            whole = job.task(batch)._merge(*(future.result() for future in made), threads=threads)
            waiting[executor.submit(release, job.task(batch), whole, threads)] = batch
        if not waiting:
            return
        finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in finished:
            yield waiting.pop(future), future.result()


def compute(task: Task, threads: int) -> Packed:
    """A task, as a function that every executor can send."""
    return task._compute(threads)


def release(task: Task, whole: Packed, threads: int) -> bytes:
    """The last step of a batch in shards."""
    return task.release(whole, threads=threads)
