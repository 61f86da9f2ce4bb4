"""Aggregation on a Dask cluster: batches as tasks, or shards of teachers that are added up.

Workers read the job from its folder, which all of them must see.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

from ._job import Job, Packed, compute, shards as cut


def _merge(task: Any, threads: int, *parts: Packed) -> Any:
    return task._merge(*parts, threads=threads)


def _release(task: Any, threads: int, whole: Packed) -> bytes:
    return bytes(task.release(whole, threads=threads))


def results(
    job: Job,
    todo: Sequence[int],
    *,
    address: str | None = None,
    shards: int = 1,
    threads: int = 1,
) -> Iterator[tuple[int, bytes]]:
    """Batches as they are finished."""
    distributed: Any = importlib.import_module("distributed")
    parts = cut(len(job.election.teachers), shards)
    # Whole processes, one task each: a task has threads of its own.
    here: dict[str, Any] = {"processes": True, "threads_per_worker": 1, "dashboard_address": None}
    where: dict[str, Any] = {"address": address} if address else here
    with distributed.Client(**where) as client:

        def start(batch: int) -> Any:
            task = job.task(batch)
            # Tasks are pure, but a second run of one must not find the first one's bytes cached.
            if len(parts) == 1:
                return client.submit(compute, task, threads, pure=False)
            tasks = [job.task(batch, range(*part)) for part in parts]
            level = [client.submit(compute, shard, threads, pure=False) for shard in tasks]
            while len(level) > 1:
                pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
                level = [
                    client.submit(_merge, task, threads, *pair, pure=False)
                    if len(pair) > 1
                    else pair[0]
                    for pair in pairs
                ]
            return client.submit(_release, task, threads, level[0], pure=False)

        cores = max(1, sum(client.nthreads().values()) // threads)
        left = iter(todo)
        waiting = {start(batch): batch for batch, _ in zip(left, range(2 * cores))}
        done = distributed.as_completed(list(waiting))
        for future in done:
            yield waiting.pop(future), future.result()
            batch = next(left, None)
            if batch is not None:
                following = start(batch)
                waiting[following] = batch
                done.add(following)
